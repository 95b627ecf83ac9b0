/* test_acct_abi.c - the handle says what the functions behind it say, and a refused call changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_abi.h"
#include "acct_spec.h"
#include "acct_state.h"

static const char question[] = "grr:k=16,eps0=3,n=10000";

/* Allocations that succeed before the next fails; negative: all do. */
static int allocations = -1;

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static int fails(void)
{
	return allocations >= 0 && allocations-- == 0;
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

static struct acct_abi *account(const char *text, uint64_t times)
{
	char why[128] = "";
	struct acct_abi *a = acct_abi_new();

	assert_non_null(a);
	assert_int_equal(acct_abi_add(a, text, times, why, sizeof why), ACCT_OK);
	assert_string_equal(why, "");
	return a;
}

static struct acct_bound epsilon(const struct acct_abi *a)
{
	struct acct_bound eps = { NAN, NAN };

	assert_int_equal(acct_abi_epsilon(a, 1e-6, &eps.lower, &eps.upper, NULL, 0), ACCT_OK);
	return eps;
}

static void the_handle_says_what_the_functions_say(void **state)
{
	struct acct_abi *a = account(question, 3);
	struct acct_spec s;
	struct acct_bound eps, delta, got;
	char why[128];

	(void)state;
	assert_int_equal(acct_spec_parse(question, &s, why, sizeof why), ACCT_OK);
	s.round.count = 3;
	assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &eps), ACCT_OK);
	assert_int_equal(acct_delta(&s.round, 1, 0.2, &delta), ACCT_OK);
	got = epsilon(a);
	assert_true(got.lower == eps.lower && got.upper == eps.upper);
	assert_int_equal(acct_abi_delta(a, 0.2, &got.lower, &got.upper, NULL, 0), ACCT_OK);
	assert_true(got.lower == delta.lower && got.upper == delta.upper);
	acct_abi_free(a);
}

static void repetitions_add_up(void **state)
{
	struct acct_abi *once = account(question, 6), *parts = account(question, 1);
	struct acct_abi *counted = account("grr:k=16,eps0=3,n=10000,count=2", 3);

	(void)state;
	assert_int_equal(acct_abi_add(parts, question, 2, NULL, 0), ACCT_OK);
	assert_int_equal(acct_abi_add(parts, question, 3, NULL, 0), ACCT_OK);
	assert_true(epsilon(parts).upper == epsilon(once).upper);
	assert_true(epsilon(counted).upper == epsilon(once).upper);
	assert_int_equal(acct_abi_rounds(parts), 6);
	assert_int_equal(acct_abi_rounds(counted), 6);
	acct_abi_free(once);
	acct_abi_free(parts);
	acct_abi_free(counted);
}

/* One text of three parts that differ is the same as three texts. */
static void a_round_of_slots_counts_as_all_of_them(void **state)
{
	static const char slots[] = "digits:base=4,digits=3,eps0=1,n=900,dummies=50";
	static const char *const each[] = { "mixbins:k=4,eps0=1,n=900,dummies=50",
		"mixbins:k=4,eps0=1,n=900,dummies=200", "mixbins:k=4,eps0=1,n=900,dummies=800" };
	struct acct_abi *together = account(slots, 2), *apart = account(question, 1);
	struct acct_state *s = acct_state_new(1e-6);
	struct acct_abi_filter *one = NULL, *three = NULL;
	struct acct_bound with, added;
	int admitted = 0;

	(void)state;
	assert_int_equal(acct_abi_add(together, question, 1, NULL, 0), ACCT_OK);
	assert_int_equal(acct_abi_add(together, slots, 5, NULL, 0), ACCT_OK);
	assert_int_equal(acct_abi_rounds(together), 3 * 7 + 1);
	assert_int_equal(acct_abi_filter_new("renyi", 5, 1e-6, &one, NULL, 0), ACCT_OK);
	assert_int_equal(acct_abi_filter_new("renyi", 5, 1e-6, &three, NULL, 0), ACCT_OK);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(acct_abi_add(apart, each[i], 7, NULL, 0), ACCT_OK);
		assert_int_equal(acct_abi_filter_admit(three, each[i], 7, &admitted, NULL, 0), ACCT_OK);
		assert_int_equal(admitted, 1);
	}
	assert_true(fabs(epsilon(together).upper / epsilon(apart).upper - 1) < 1e-9);
	assert_int_equal(acct_abi_filter_admit(one, slots, 7, &admitted, NULL, 0), ACCT_OK);
	assert_true(fabs(acct_abi_filter_share(one) / acct_abi_filter_share(three) - 1) < 1e-12);

	assert_int_equal(acct_abi_state_add(s, question, 1, NULL, 0), ACCT_OK);
	assert_int_equal(acct_abi_state_epsilon(s, slots, 7, &with.lower, &with.upper, NULL, 0), ACCT_OK);
	assert_int_equal(acct_state_rounds(s), 1);
	assert_int_equal(acct_abi_state_add(s, slots, 7, NULL, 0), ACCT_OK);
	assert_int_equal(acct_state_rounds(s), 3 * 7 + 1);
	assert_int_equal(acct_abi_state_epsilon(s, NULL, 0, &added.lower, &added.upper, NULL, 0), ACCT_OK);
	assert_true(with.lower <= added.upper && added.lower <= with.upper);
	assert_true(with.lower <= epsilon(apart).upper && epsilon(apart).lower <= with.upper);
	/* The third part cannot be added so often, so none is added. */
	assert_int_equal(acct_abi_state_add(s, each[2], ACCT_MAX_COUNT - 7, NULL, 0), ACCT_OK);
	assert_int_equal(acct_abi_state_add(s, slots, 1, NULL, 0), ACCT_ELIMIT);
	assert_int_equal(acct_state_rounds(s), 2 * 7 + 1 + ACCT_MAX_COUNT);
	assert_int_equal(acct_abi_add(apart, slots, ACCT_MAX_COUNT + 1, NULL, 0), ACCT_ELIMIT);
	acct_abi_filter_free(one);
	acct_abi_filter_free(three);
	acct_state_free(s);
	acct_abi_free(together);
	acct_abi_free(apart);
}

static void an_empty_account_has_lost_nothing(void **state)
{
	struct acct_abi *a = acct_abi_new();
	struct acct_bound eps = epsilon(a);

	(void)state;
	assert_true(eps.lower == 0 && eps.upper == 0);
	assert_int_equal(acct_abi_rounds(a), 0);
	acct_abi_free(a);
	acct_abi_free(NULL);
}

static void a_refused_round_changes_nothing(void **state)
{
	static const struct {
		const char *text;
		uint64_t times;
		enum acct_rc rc;
		const char *why;
	} faults[] = {
		{ "grr:k=1,eps0=3,n=10", 1, ACCT_EDOMAIN, "k=1" },
		{ "nothing:", 1, ACCT_EDOMAIN, "nothing" },
		{ question, 0, ACCT_EDOMAIN, "at least once" },
		{ question, ACCT_MAX_COUNT, ACCT_ELIMIT, "1000000" }, /* one is there already */
		{ question, UINT64_MAX, ACCT_ELIMIT, "1000000" },
		{ "rr:eps0=1,n=9,count=2", UINT64_MAX / 2 + 2, ACCT_ELIMIT, "1000000" },
	};
	struct acct_abi *a = account(question, 1);
	double before = epsilon(a).upper;
	char why[128];

	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		why[0] = '\0';
		assert_int_equal(
			acct_abi_add(a, faults[i].text, faults[i].times, why, sizeof why), faults[i].rc);
		assert_non_null(strstr(why, faults[i].why));
		assert_int_equal(acct_abi_add(a, faults[i].text, faults[i].times, NULL, 0), faults[i].rc);
		assert_int_equal(acct_abi_rounds(a), 1);
	}
	assert_true(epsilon(a).upper == before);
	acct_abi_free(a);
}

static void questions_out_of_range_have_no_answer(void **state)
{
	static const double deltas[] = { 0, 1, -1, NAN, INFINITY }, epsilons[] = { -1, NAN, INFINITY };
	struct acct_abi *a = account(question, 1);
	double lower = 7, upper = 7;
	char why[16]; /* shorter than any sentence */

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		memset(why, 'x', sizeof why);
		assert_int_equal(
			acct_abi_epsilon(a, deltas[i], &lower, &upper, why, sizeof why), ACCT_EDOMAIN);
		assert_int_equal(strnlen(why, sizeof why), sizeof why - 1);
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(acct_abi_delta(a, epsilons[i], &lower, &upper, NULL, 0), ACCT_EDOMAIN);
	assert_int_equal(acct_abi_epsilon(a, 1e-250, &lower, &upper, NULL, 0), ACCT_EPRECISION);
	assert_true(lower == 7 && upper == 7);
	acct_abi_free(a);
}

static void a_growing_account_takes_rounds_as_text(void **state)
{
	struct acct_state *s = acct_state_new(1e-6);
	struct acct_abi *three = account(question, 3), *two = account(question, 2);
	struct acct_bound got, same;
	char why[128] = "";

	(void)state;
	assert_int_equal(acct_abi_state_add(s, question, 2, why, sizeof why), ACCT_OK);
	assert_int_equal(
		acct_abi_state_epsilon(s, question, 1, &got.lower, &got.upper, why, sizeof why), ACCT_OK);
	same = epsilon(three);
	assert_true(got.lower <= same.upper && same.lower <= got.upper);
	assert_int_equal(acct_abi_state_epsilon(s, NULL, 0, &got.lower, &got.upper, NULL, 0), ACCT_OK);
	same = epsilon(two);
	assert_true(got.lower <= same.upper && same.lower <= got.upper);

	assert_int_equal(acct_abi_state_add(s, "grr:k=1,eps0=3,n=10", 1, why, sizeof why), ACCT_EDOMAIN);
	assert_non_null(strstr(why, "k=1"));
	assert_int_equal(acct_abi_state_add(s, question, 0, why, sizeof why), ACCT_EDOMAIN);
	assert_int_equal(acct_abi_state_add(s, question, ACCT_MAX_COUNT, why, sizeof why), ACCT_ELIMIT);
	got.upper = 7;
	assert_int_equal(acct_abi_state_epsilon(s, question, UINT64_MAX, &got.lower, &got.upper, NULL, 0),
		ACCT_ELIMIT);
	assert_int_equal(acct_abi_state_epsilon(s, "x", 1, &got.lower, &got.upper, NULL, 0), ACCT_EDOMAIN);
	assert_true(got.upper == 7);
	assert_int_equal(acct_state_rounds(s), 2);
	acct_state_free(s);
	acct_abi_free(two);
	acct_abi_free(three);
}

static void a_filter_admits_what_fits_and_charges_nothing_else(void **state)
{
	struct acct_abi_filter *f = NULL;
	int fits = 7, admitted = 7;
	char why[128] = "";

	(void)state;
	assert_int_equal(acct_abi_filter_new("rdp", 1, 1e-6, &f, why, sizeof why), ACCT_EDOMAIN);
	assert_string_equal(why, "there is no such filter: gdp or renyi");
	assert_int_equal(acct_abi_filter_new("gdp", -1, 1e-6, &f, why, sizeof why), ACCT_EDOMAIN);
	assert_int_equal(acct_abi_filter_new("gdp", 1, NAN, &f, NULL, 0), ACCT_EDOMAIN);
	assert_null(f);
	assert_int_equal(acct_abi_filter_new("gdp", 1, 1e-6, &f, why, sizeof why), ACCT_OK);

	assert_int_equal(acct_abi_filter_try(f, question, 1, &fits, why, sizeof why), ACCT_OK);
	assert_int_equal(fits, 1);
	assert_true(acct_abi_filter_share(f) == 0);
	assert_int_equal(acct_abi_filter_admit(f, question, 1, &admitted, why, sizeof why), ACCT_OK);
	assert_int_equal(admitted, 1);
	double spent = acct_abi_filter_share(f);
	assert_true(spent > 0 && spent < 1);

	assert_int_equal(acct_abi_filter_admit(f, question, 1000, &admitted, why, sizeof why), ACCT_OK);
	assert_int_equal(admitted, 0);
	admitted = 7;
	assert_int_equal(acct_abi_filter_admit(f, "grr:k=1", 1, &admitted, why, sizeof why), ACCT_EDOMAIN);
	assert_int_equal(acct_abi_filter_admit(f, question, 0, &admitted, why, sizeof why), ACCT_EDOMAIN);
	assert_int_equal(
		acct_abi_filter_admit(f, question, UINT64_MAX, &admitted, why, sizeof why), ACCT_ELIMIT);
	assert_int_equal(admitted, 7);
	assert_true(acct_abi_filter_share(f) == spent);
	acct_abi_filter_free(f);
	acct_abi_filter_free(NULL);
}

static void memory_that_runs_out_loses_no_round(void **state)
{
	static const char *const texts[] = { "rr:eps0=1,n=5", "rr:eps0=1,n=6", "rr:eps0=1,n=7",
		"rr:eps0=1,n=8" };
	struct acct_abi *a = account(question, 1);
	double lower = 7, upper = 7;
	char why[64];

	(void)state;
	allocations = 0;
	assert_null(acct_abi_new());
	for (size_t i = 0; i < 3; i++) /* four entries fit before the list must grow */
		assert_int_equal(acct_abi_add(a, texts[i], 1, NULL, 0), ACCT_OK);
	allocations = 0;
	assert_int_equal(acct_abi_add(a, texts[3], 1, why, sizeof why), ACCT_ENOMEM);
	assert_string_equal(why, "out of memory");
	assert_int_equal(acct_abi_rounds(a), 4);
	allocations = 1; /* there is memory for the parts, but not for the text */
	assert_int_equal(acct_abi_add(a, texts[3], 1, why, sizeof why), ACCT_ENOMEM);
	assert_int_equal(acct_abi_rounds(a), 4);
	allocations = 0;
	assert_int_equal(acct_abi_epsilon(a, 1e-3, &lower, &upper, NULL, 0), ACCT_ENOMEM);
	assert_true(lower == 7 && upper == 7);
	allocations = -1;
	assert_int_equal(acct_abi_add(a, texts[3], 1, NULL, 0), ACCT_OK);
	assert_int_equal(acct_abi_rounds(a), 5);
	acct_abi_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_handle_says_what_the_functions_say),
		cmocka_unit_test(repetitions_add_up),
		cmocka_unit_test(a_round_of_slots_counts_as_all_of_them),
		cmocka_unit_test(an_empty_account_has_lost_nothing),
		cmocka_unit_test(a_refused_round_changes_nothing),
		cmocka_unit_test(questions_out_of_range_have_no_answer),
		cmocka_unit_test(a_growing_account_takes_rounds_as_text),
		cmocka_unit_test(a_filter_admits_what_fits_and_charges_nothing_else),
		cmocka_unit_test(memory_that_runs_out_loses_no_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
