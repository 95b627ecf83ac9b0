/* test_an_fit.c - a plan against the shuffler's policy: each key that does not fit is named, with its
 * round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "an_fit.h"
#include "pl_load.h"

static const char text[] =
	"name = \"p\"\npopulation = \"devices\"\nbudget = { epsilon = 1.0, delta = 1e-6 }\n"
	"rounds = ({ query = \"state\", type = \"histogram\", protocol = \"grr\", field = \"c\",\n"
	"  epsilon0 = 2.0, min_reports = 50000, target = 70000, values = [\"a\", \"b\"] },\n"
	"{ query = \"v\", type = \"mean\", field = \"v\", epsilon0 = 1.0, min_reports = 40000,\n"
	"  target = 60000, range = [0, 1], levels = 8 })\n";

struct heard {
	unsigned rounds[8];
	char text[8][AN_FIT_TEXT];
	size_t n;
};

static void hear(void *user, const struct pl_round *r, const char *said)
{
	struct heard *h = user;

	assert_true(h->n < 8);
	h->rounds[h->n] = r ? r->number : 0;
	(void)snprintf(h->text[h->n++], AN_FIT_TEXT, "%s", said);
}

static Tombola__V1__Policy generous(void)
{
	Tombola__V1__Policy p = TOMBOLA__V1__POLICY__INIT;

	p.population = "devices";
	p.max_epsilon = 1.0; /* equal is enough */
	p.delta = 1e-6;
	p.min_batch = 40000;
	p.max_epsilon0 = 2.5;
	p.max_plan_entries = 2;
	p.max_target = 70000;
	p.max_window_ms = 30ULL * 86400000;
	return p;
}

static void expect(const Tombola__V1__Policy *says, bool pinned, unsigned round, const char *words)
{
	struct pl_plan p;
	struct rd_entry entries[2] = { { .number = 1 }, { .number = 2 } };
	const struct rd_plan made = { .entry = entries, .entries = 2 };
	struct heard h = { .n = 0 };
	struct cm_err err = { 0 };

	if (pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", NULL, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(an_fit_plan(&p, &made, pinned, says, hear, &h), words ? 1 : 0);
	if (words) {
		assert_int_equal(h.rounds[0], round);
		if (!strstr(h.text[0], words))
			fail_msg("'%s' is not in '%s'", words, h.text[0]);
	}
	pl_plan_fini(&p);
}

static void what_fits_is_not_spoken_of(void **state)
{
	Tombola__V1__Policy p = generous();
	char *allowed[] = { "grr", "levels" };

	(void)state;
	expect(&p, false, 0, NULL);
	p.n_protocols = 2;
	p.protocols = allowed;
	expect(&p, false, 0, NULL);
}

static void each_key_is_named_with_its_round(void **state)
{
	char *allowed[] = { "levels" };
	Tombola__V1__Policy p = generous();

	(void)state;
	p.min_batch = 40001;
	expect(&p, false, 2, "min_reports is 40000, and the shuffler's policy has min_batch = 40001");
	p = generous();
	p.max_epsilon0 = 1.5;
	expect(&p, false, 1, "max_epsilon0 = 1.5");
	p = generous();
	p.max_target = 69999;
	expect(&p, false, 1, "max_target = 69999");
	p = generous();
	p.n_protocols = 1;
	p.protocols = allowed;
	expect(&p, false, 1, "protocol \"grr\" is not among");
}

static void the_plan_as_a_whole_has_to_fit(void **state)
{
	Tombola__V1__Policy p = generous();

	(void)state;
	p.population = "others";
	expect(&p, false, 0, "population is \"devices\"");
	p = generous();
	p.max_plan_entries = 1;
	expect(&p, false, 0, "max_plan_entries = 1");
	p = generous();
	p.max_epsilon = 0.99;
	expect(&p, false, 0, "max_epsilon = 0.99");
	p.max_epsilon = NAN;
	expect(&p, false, 0, "max_epsilon");
}

static void a_slice_that_was_taken_is_not_taken_again(void **state)
{
	Tombola__V1__Policy p = generous();

	(void)state;
	p.epsilon_taken = 1.0;
	p.delta_taken = 1e-6;
	expect(&p, false, 0, "plans took 1");
	expect(&p, true, 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_not_spoken_of),
		cmocka_unit_test(each_key_is_named_with_its_round),
		cmocka_unit_test(the_plan_as_a_whole_has_to_fit),
		cmocka_unit_test(a_slice_that_was_taken_is_not_taken_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
