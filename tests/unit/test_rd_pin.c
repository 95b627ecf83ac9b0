/* test_rd_pin.c - what a party takes of a plan, against compositions made one by one, and how slices add
 * up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct.h"
#include "cr_rand.h"
#include "pl_load.h"
#include "pl_make.h"
#include "pl_plan.h"

#define HEAD(epsilon)                                                                          \
	"name = \"t\"\npopulation = \"p\"\nbudget = { epsilon = " epsilon ", delta = 1e-6 }\n" \
	"honest_fraction = 0.9\nrounds = (\n"
#define ASK(name, eps)                                                                                     \
	"{ query = \"" name "\", type = \"histogram\", protocol = \"grr\", field = \"C\", epsilon0 = " eps \
	", min_reports = 20000, values = [\"a\", \"b\", \"c\"] }"

static struct cm_err err;

struct made {
	struct pl_plan file;
	struct rd_plan p;
};

/* The signed plan of a file; delta as a plan may have it, which is more than a file may say. */
static void make(struct made *m, const char *text)
{
	static const uint8_t none[PR_HASH_LEN];
	struct cm_buf b;

	if (pl_plan_parse((const uint8_t *)text, strlen(text), "p", NULL, &m->file, &err) != CM_OK)
		fail_msg("%s", err.msg);
	cm_buf_init(&b, PR_PLAN_MAX);
	if (pl_plan_make(&m->file, 1, none, NULL, &b, &err) != CM_OK ||
		rd_plan_decode(b.data, b.len, &m->p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	cm_buf_fini(&b);
}

static void unmake(struct made *m)
{
	rd_plan_fini(&m->p);
	pl_plan_fini(&m->file);
}

/* A party that trusts so many of 20,000, and wants all entries but those in `unwanted`, a bit each. */
struct party {
	uint64_t honest;
	unsigned unwanted;
	size_t asked;
	atomic_bool *stop; /* set while the second entry is asked for; NULL: never */
};

static enum cm_rc loss_of(void *user, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *e)
{
	struct party *p = user;
	size_t i = p->asked++;

	if (p->stop && i == 1)
		atomic_store(p->stop, true);
	if (p->unwanted >> i & 1)
		return cm_fail(e, CM_EPERM, "not wanted");
	return rd_loss_for(d, p->honest, true, out, e);
}

static void an_entry_that_is_the_analyzers_is_everybodys(void **state)
{
	struct made m;
	struct party party = { .honest = 18000 }; /* as the plan counts */
	struct rd_pin pin;

	(void)state;
	make(&m, HEAD("0.6") ASK("a", "4.0") ", " ASK("b", "5.0") ", " ASK("c", "9.0") ", " ASK(
			 "d", "3.0") ")\n");
	assert_int_equal(m.p.entries + m.p.refusals, 4);
	assert_true(m.p.refusals > 0);
	assert_int_equal(rd_plan_pin(&m.p, loss_of, &party, NULL, &pin, &err), CM_OK);
	assert_int_equal(rd_pin_count(&pin), m.p.entries);
	assert_true(pin.epsilon == m.p.entry[m.p.entries - 1].epsilon_total);
	assert_true(rd_pin_has(&pin, m.p.entries - 1) && !rd_pin_has(&pin, m.p.entries));
	unmake(&m);
}

/* Greedy in order, each question asked of the accountant anew: acct_epsilon composes all at once, and shares
 * with rd_account only the convolution. */
static unsigned by_enumeration(const struct rd_plan *p, uint64_t honest, double limit, double *total)
{
	static struct acct_round round[16];
	unsigned taken = 0;
	size_t n = 0;

	*total = 0;
	for (size_t i = 0; i < p->entries; i++) {
		struct rd_descriptor d;
		struct pt_loss loss;
		struct acct_bound b;

		rd_plan_descriptor(p, i, &d);
		assert_int_equal(rd_loss_for(&d, honest, true, &loss, &err), CM_OK);
		assert_int_equal(loss.parts, 1);
		round[n] = loss.part[0];
		assert_int_equal(acct_epsilon(round, n + 1, p->delta, &b), ACCT_OK);
		/* No case is so close that the width of an interval decides it. */
		assert_true(b.upper < limit * 0.999 || b.lower > limit * 1.001);
		if (b.upper >= limit)
			continue;
		*total = b.upper;
		taken |= 1u << i;
		n++;
	}
	return taken;
}

static void who_counts_fewer_honest_takes_a_subset_once(void **state)
{
	static const uint64_t honest[] = { 18000, 9000, 4000, 2000, 500, 30, 1 };
	struct made m;
	unsigned last = ~0u, distinct = 0;

	(void)state;
	make(&m, HEAD("0.55") ASK("a", "3.5") ", " ASK("b", "2.5") ", " ASK("c", "1.0") ", " ASK(
			 "d", "4.0") ", " ASK("e", "0.3") ")\n");
	assert_int_equal(m.p.entries, 5);
	for (size_t i = 0; i < sizeof honest / sizeof *honest; i++) {
		struct party party = { .honest = honest[i] };
		struct rd_pin pin;
		double total;
		unsigned want = by_enumeration(&m.p, honest[i], m.p.epsilon, &total), got = 0;

		assert_int_equal(rd_plan_pin(&m.p, loss_of, &party, NULL, &pin, &err), CM_OK);
		for (size_t k = 0; k < m.p.entries; k++)
			got |= (unsigned)rd_pin_has(&pin, k) << k;
		assert_int_equal(got, want);
		assert_true(fabs(pin.epsilon - total) <= 1e-3 * total + 1e-12);
		distinct += got != last;
		last = got;
	}
	assert_true(distinct >= 4); /* the cases tell something */
	unmake(&m);
}

/* The greedy choice is not monotone in the limit: so it is made once, and its outcome is stored. */
static void a_smaller_slice_may_take_what_a_larger_one_passes_over(void **state)
{
	struct made m;
	struct party party = { .honest = 18000 };
	struct rd_pin pin;
	double large, small, both;

	(void)state;
	make(&m, HEAD("10.0") ASK("large", "6.0") ", " ASK("small", "4.0") ")\n");
	large = m.p.entry[0].epsilon_round;
	small = m.p.entry[1].epsilon_round;
	both = m.p.entry[1].epsilon_total;
	assert_true(small < large && large < both);
	m.p.epsilon = (large + both) / 2;
	assert_int_equal(rd_plan_pin(&m.p, loss_of, &party, NULL, &pin, &err), CM_OK);
	assert_true(rd_pin_has(&pin, 0) && !rd_pin_has(&pin, 1));
	party.asked = 0;
	m.p.epsilon = (small + large) / 2;
	assert_int_equal(rd_plan_pin(&m.p, loss_of, &party, NULL, &pin, &err), CM_OK);
	assert_true(!rd_pin_has(&pin, 0) && rd_pin_has(&pin, 1));
	unmake(&m);
}

static void what_a_policy_does_not_want_is_passed_over(void **state)
{
	struct made m;
	struct party party = { .honest = 18000, .unwanted = 1u << 0 | 1u << 2 };
	struct rd_pin pin;

	(void)state;
	make(&m, HEAD("2.0") ASK("a", "3.0") ", " ASK("b", "3.0") ", " ASK("c", "3.0") ")\n");
	assert_int_equal(rd_plan_pin(&m.p, loss_of, &party, NULL, &pin, &err), CM_OK);
	assert_int_equal(rd_pin_count(&pin), 1);
	assert_true(rd_pin_has(&pin, 1));
	assert_true(pin.epsilon <= m.p.entry[0].epsilon_round * 1.001);
	unmake(&m);
}

static void another_thread_may_stop_it(void **state)
{
	struct made m;
	atomic_bool stop = false;
	struct party party = { .honest = 18000, .stop = &stop };
	struct rd_pin pin;

	(void)state;
	make(&m, HEAD("2.0") ASK("a", "3.0") ", " ASK("b", "3.0") ", " ASK("c", "3.0") ")\n");
	assert_int_equal(rd_plan_pin(&m.p, loss_of, &party, &stop, &pin, &err), CM_ELATER);
	assert_int_equal(party.asked, 2);
	unmake(&m);
}

static enum cm_rc no_answer(void *user, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *e)
{
	(void)user;
	(void)out;
	return cm_fail(e, CM_EINTERNAL, "no loss of '%s'", d->query.name);
}

static void an_accountant_that_cannot_answer_pins_nothing(void **state)
{
	struct made m;
	struct rd_pin pin;

	(void)state;
	make(&m, HEAD("2.0") ASK("a", "3.0") ")\n");
	assert_int_equal(rd_plan_pin(&m.p, no_answer, NULL, NULL, &pin, &err), CM_EINTERNAL);
	assert_non_null(strstr(err.msg, "entry 1"));
	unmake(&m);
}

static void an_adaptive_plan_is_taken_as_it_is(void **state)
{
	struct made m;
	struct rd_pin pin;

	(void)state;
	make(&m, "mode = \"adaptive\"\n" HEAD("0.75") ASK("a", "3.0") ")\n");
	assert_int_equal(m.p.entries, 0);
	assert_int_equal(rd_plan_pin(&m.p, no_answer, NULL, NULL, &pin, &err), CM_OK);
	assert_int_equal(rd_pin_count(&pin), 0);
	assert_true(pin.epsilon == 0.75);
	unmake(&m);
}

/* ---- slices ---- */

/* In [0, 1), 53 bits of it. */
static double unit(const struct cr_rng *rng)
{
	uint64_t v;

	rng->fill(rng->ctx, (uint8_t *)&v, sizeof v);
	return (double)(v >> 11) * 0x1p-53;
}

static void slices_add_up_and_never_below_their_sum(void **state)
{
	struct rd_slices none = { 0, 0 }, s = { 0.1, 1e-7 };
	struct rd_plan p = { .epsilon = 0.2, .delta = 2e-7 };
	struct cr_rng rng;
	uint8_t seed[CR_SEED_LEN] = { 71 };
	struct cr_rng_seeded *generator;

	(void)state;
	rd_slices_add(&s, &p);
	assert_true(s.epsilon >= 0.3 && s.epsilon <= 0.3 && s.delta >= 3e-7 && s.delta <= 3e-7);
	/* A sum is that of the decimals that were written: five slices of 0.2 are 1, and a sixth is above. */
	s = none;
	p = (struct rd_plan){ .epsilon = 0.2, .delta = 2e-7 };
	for (int i = 0; i < 5; i++) {
		assert_true(rd_slices_fit(&s, &p, 1.0, 1e-6));
		rd_slices_add(&s, &p);
	}
	assert_false(rd_slices_fit(&s, &(struct rd_plan){ .epsilon = 1e-300 }, 1.0, 1e-6));
	assert_true(rd_slices_share(&s, 1.0, 1e-6) >= 1 && rd_slices_share(&s, 1.0, 1e-6) <= 1);
	/* A sum that is the limit fits: a half and a half are one. */
	p = (struct rd_plan){ .epsilon = 0.5, .delta = 5e-7 };
	assert_true(rd_slices_fit(&none, &p, 0.5, 5e-7));
	assert_true(rd_slices_fit(&(struct rd_slices){ 0.5, 5e-7 }, &p, 1.0, 1e-6));
	assert_false(rd_slices_fit(&(struct rd_slices){ 0.5, 5e-7 }, &p, nextafter(1.0, 0), 1e-6));
	assert_false(rd_slices_fit(&(struct rd_slices){ 0.5, 5e-7 }, &p, 1.0, nextafter(1e-6, 0)));
	assert_false(rd_slices_fit(&(struct rd_slices){ nextafter(0.5, 1), 5e-7 }, &p, 1.0, 1e-6));
	/* Numbers of 17 digits: never below their sum, which 64 bits of mantissa hold, less half a place of a
	 * decimal for each. */
	generator = cr_rng_seeded_new(seed, &rng);
	assert_non_null(generator);
	for (int i = 0; i < 20000; i++) {
		struct rd_slices sum = { 1 + unit(&rng), 1e-6 };
		struct rd_plan more = { .epsilon = 1 + unit(&rng), .delta = 1e-6 };
		long double exact = (long double)sum.epsilon + (long double)more.epsilon;

		rd_slices_add(&sum, &more);
		assert_true((long double)sum.epsilon >= exact * (1 - 0x1p-51L));
		assert_true((long double)sum.epsilon <= exact * (1 + 0x1p-51L));
	}
	cr_rng_seeded_free(generator);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_that_is_the_analyzers_is_everybodys),
		cmocka_unit_test(who_counts_fewer_honest_takes_a_subset_once),
		cmocka_unit_test(a_smaller_slice_may_take_what_a_larger_one_passes_over),
		cmocka_unit_test(what_a_policy_does_not_want_is_passed_over),
		cmocka_unit_test(another_thread_may_stop_it),
		cmocka_unit_test(an_accountant_that_cannot_answer_pins_nothing),
		cmocka_unit_test(an_adaptive_plan_is_taken_as_it_is),
		cmocka_unit_test(slices_add_up_and_never_below_their_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
