/* test_account_parts.c - rounds that are several of the accountant's: charged whole, judged composed, taken
 * back exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_state.h"
#include "random_rounds.h"
#include "rd_account.h"

#define DELTA 1e-6

static struct cm_err err;

static const uint8_t *id(size_t i)
{
	static uint8_t bytes[PR_ROUND_ID_LEN];

	memset(bytes, 0, sizeof bytes);
	memcpy(bytes, &i, sizeof i);
	return bytes;
}

static struct acct_round among(double epsilon0, uint64_t others, uint64_t count)
{
	struct acct_round r = { .others = others, .count = count };

	assert_int_equal(acct_cells_generic(epsilon0, &r, NULL), ACCT_OK);
	return r;
}

/* Rounds of a handful of kinds, so that losses share parts; 1..most of them. */
static struct pt_loss some(unsigned most)
{
	struct pt_loss loss = { .pure = 0 };

	loss.parts = 1 + below(most);
	for (size_t i = 0; i < loss.parts; i++) {
		struct acct_round r = among(0.5 + 0.5 * below(3), 8000, 1 + below(3));

		r.defect = below(4) ? 0 : 1e-10;
		r.sampling = below(9) ? 0 : 0.5;
		r.level[0] = (struct acct_level){ .share = 0.5, .count = 100 };
		r.levels = below(2);
		loss.part[i] = r;
	}
	return loss;
}

static void add(struct rd_account *a, size_t i, const struct pt_loss *loss)
{
	assert_int_equal(rd_account_add(a, id(i), loss, &err), CM_OK);
}

static double spent(const struct rd_account *a)
{
	double e = -1;

	assert_int_equal(rd_account_spent(a, &e, &err), CM_OK);
	return e;
}

static struct rd_verdict judge(const struct rd_account *a, const struct pt_loss *loss)
{
	struct rd_verdict v;

	assert_int_equal(rd_account_judge(a, loss, &v, &err), CM_OK);
	return v;
}

static struct acct_bound anew(const struct acct_round *r, size_t n)
{
	struct acct_bound b;

	assert_int_equal(acct_epsilon(r, n, DELTA, &b), ACCT_OK);
	return b;
}

static void agree(double have, struct acct_bound want)
{
	assert_true(have >= want.lower && have <= want.upper * (1 + ACCT_STATE_WIDTH));
}

/* ---- */

/* Compare the account with the list of all parts, over a life of adding, judging and taking back. */
static void a_loss_counts_as_the_list_of_its_parts(void **state)
{
	static struct pt_loss held[6];
	static struct acct_round all[7 * PT_PARTS_MAX];
	struct rd_account *a = rd_account_new(1e6, DELTA);
	bool here[6] = { false };

	(void)state;
	seed = 40;
	for (unsigned step = 0; step < 6; step++) {
		size_t i = below(6), n = 0;
		struct pt_loss candidate = some(step % 5 ? 3 : PT_PARTS_MAX);
		struct rd_verdict v;

		if (here[i]) {
			assert_int_equal(rd_account_remove(a, id(i)), CM_OK);
		} else {
			held[i] = candidate;
			add(a, i, &held[i]);
		}
		here[i] = !here[i];
		for (size_t k = 0; k < 6; k++)
			for (size_t p = 0; here[k] && p < held[k].parts; p++)
				all[n++] = held[k].part[p];
		if (n > 0)
			agree(spent(a), anew(all, n));
		else
			assert_true(spent(a) == 0);
		memcpy(&all[n], candidate.part, candidate.parts * sizeof *all);
		v = judge(a, &candidate);
		assert_true(v.epsilon_round == anew(candidate.part, candidate.parts).upper);
		agree(v.total, anew(all, n + candidate.parts));
		assert_true(v.fits);
	}
	rd_account_free(a);
}

/* A budget between the loss of some of the parts and that of all. */
static void no_part_is_left_out_of_a_judgement(void **state)
{
	struct pt_loss loss = { .parts = 3 };
	double all;

	(void)state;
	loss.part[0] = among(1, 5000, 4);
	loss.part[1] = among(0.5, 3000, 2);
	loss.part[2] = among(1.5, 9000, 1);
	all = anew(loss.part, 3).upper;
	for (size_t i = 0; i < 3; i++) {
		struct pt_loss less = loss;
		struct rd_account *a;
		double some_of_it;

		less.part[i] = less.part[--less.parts];
		some_of_it = anew(less.part, 2).upper;
		assert_true(some_of_it < all);
		a = rd_account_new((some_of_it + all) / 2, DELTA);
		assert_true(judge(a, &less).fits);
		assert_false(judge(a, &loss).fits);
		/* Beside a charged round of the same loss the total is that of two. */
		add(a, 1, &loss);
		assert_true(judge(a, &less).total > all);
		rd_account_free(a);
	}
	/* One less of one part fits, though all do not. */
	struct rd_account *a = rd_account_new(all, DELTA);

	assert_false(judge(a, &loss).fits); /* equality refuses */
	loss.part[0].count--;
	assert_true(judge(a, &loss).fits);
	rd_account_free(a);
}

/* At the limit the rounds alone decide, to the bit, in whatever order they were added and whatever was taken
 * back. */
static void order_does_not_matter(void **state)
{
	struct pt_loss loss[5], gone;
	double limit;

	(void)state;
	seed = 8;
	for (size_t i = 0; i < 5; i++)
		loss[i] = some(5);
	gone = some(9);
	struct rd_account *a = rd_account_new(1e6, DELTA);

	for (size_t i = 0; i < 4; i++)
		add(a, i, &loss[i]);
	limit = judge(a, &loss[4]).total;
	rd_account_free(a);
	double total[3];

	for (size_t run = 0; run < 3; run++) {
		a = rd_account_new(limit, DELTA);
		if (run > 0)
			add(a, 9, &gone);
		for (size_t i = 0; i < 4; i++) {
			add(a, i, &loss[run == 1 ? 3 - i : (i + run) % 4]);
			(void)judge(a, &loss[i]);
		}
		if (run > 0)
			assert_int_equal(rd_account_remove(a, id(9)), CM_OK);
		total[run] = judge(a, &loss[4]).total;
		rd_account_free(a);
	}
	assert_true(total[0] == total[1] && total[1] == total[2]);
}

static void a_loss_is_added_whole_or_not_at_all(void **state)
{
	struct rd_account *a = rd_account_new(1e6, DELTA);
	struct pt_loss loss = { .parts = 3 }, full = { .parts = 1 };

	(void)state;
	full.part[0] = among(1e-3, 1000000, ACCT_MAX_COUNT - 1);
	add(a, 0, &full);
	loss.part[0] = among(1, 5000, 3);
	loss.part[1] = among(1e-3, 1000000, 1);
	loss.part[2] = among(1e-3, 1000000, 1); /* one more than the accountant takes */
	assert_int_equal(rd_account_add(a, id(1), &loss, &err), CM_EINTERNAL);
	assert_int_equal(rd_account_rounds(a), 1);
	/* Nothing of the refused round stayed: the room left is the room that there was. */
	loss.parts = 2;
	add(a, 1, &loss);
	assert_int_equal(rd_account_remove(a, id(1)), CM_OK);
	loss.parts = 3;
	assert_int_equal(rd_account_add(a, id(1), &loss, &err), CM_EINTERNAL);
	assert_int_equal(rd_account_remove(a, id(0)), CM_OK);
	assert_true(spent(a) == 0);
	rd_account_free(a);
}

static void what_is_no_loss_is_refused(void **state)
{
	static const char *const modes[] = { "plan", "adaptive.gdp", "adaptive.renyi" };

	(void)state;
	for (size_t m = 0; m < 3; m++) {
		struct rd_account *a = rd_account_new_mode(1, DELTA, modes[m]);
		struct rd_verdict v;

		for (unsigned fault = 0; fault < 4; fault++) {
			struct pt_loss loss = { .parts = 2 };

			loss.part[0] = loss.part[1] = among(1, 5000, 1);
			if (fault == 0)
				loss.parts = 0;
			else if (fault == 1)
				loss.parts = PT_PARTS_MAX + 1;
			else if (fault == 2)
				loss.part[1].count = 0;
			else
				loss.part[1].cell[0].u = NAN;
			assert_int_equal(rd_account_add(a, id(1), &loss, &err), CM_EINTERNAL);
			assert_int_equal(rd_account_judge(a, &loss, &v, &err), CM_EINTERNAL);
			assert_int_equal(rd_account_rounds(a), 0);
		}
		rd_account_free(a);
	}
}

/* ---- adaptive: what parts cost a filter adds up ---- */

static double share_of(const struct rd_account *a, size_t i)
{
	double s = -1;

	assert_int_equal(rd_account_share_of(a, id(i), &s, &err), CM_OK);
	return s;
}

static void near(double have, double want)
{
	assert_true(fabs(have - want) <= 1e-9 * want);
}

static void a_filter_is_paid_for_every_part(void **state)
{
	static const enum acct_filter_kind kinds[] = { ACCT_FILTER_GDP, ACCT_FILTER_RENYI };
	struct pt_loss loss = { .parts = 3 };

	(void)state;
	loss.part[0] = among(1, 5000, 4);
	loss.part[1] = among(0.5, 3000, 2);
	loss.part[2] = among(1.5, 9000, 1);
	for (size_t k = 0; k < 2; k++) {
		struct acct_price sum = { 0, 0 }, one;
		struct acct_filter f;
		char mode[RD_MODE_LEN];
		struct rd_account *a;
		struct rd_verdict v;

		assert_int_equal(acct_filter_init(kinds[k], 1, DELTA, &f), ACCT_OK);
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(acct_filter_price(&f, &loss.part[i], &one), ACCT_OK);
			sum = acct_price_add(sum, one);
		}
		rd_mode_text(kinds[k], mode);
		a = rd_account_new_mode(1, DELTA, mode);
		v = judge(a, &loss);
		near(v.share, acct_price_share(sum));
		assert_true(v.fits && v.epsilon_round == anew(loss.part, 3).upper);
		size_t most = (size_t)floor(1 / v.share);

		assert_in_range(most, 2, 10000);
		for (size_t i = 0; i < most; i++) {
			add(a, i, &loss);
			near(share_of(a, i), v.share);
		}
		assert_false(judge(a, &loss).fits);
		/* One round given back makes room for one. */
		assert_int_equal(rd_account_remove(a, id(1)), CM_OK);
		v = judge(a, &loss);
		assert_true(v.fits);
		near(v.share_spent, (double)(most - 1) * v.share);
		loss.parts = 1;
		assert_true(judge(a, &loss).share < v.share);
		loss.parts = 3;
		rd_account_free(a);
	}
}

/* ---- the largest epsilon0 of a row whose rounds have parts ---- */

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *e)
{
	(void)q;
	(void)e;
	*out = (struct pt_randomizer){ .row = row->device,
		.mixbins.keep = (uint64_t)llround(r->epsilon0 * 1e5) };
	return CM_OK;
}

static enum cm_rc loss_of_two(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *e)
{
	(void)e;
	out->parts = 2;
	out->part[0] = among((double)p->mixbins.keep * 1e-5, participants - 1, 3);
	out->part[1] = among((double)p->mixbins.keep * 5e-6, participants - 1, 1);
	return CM_OK;
}

/* The row knows nothing but its cells. */
static double no_guarantee(const struct pt_randomizer *p)
{
	(void)p;
	return INFINITY;
}

static const struct pt_device two = { .name = "two", .epsilon0 = no_guarantee };
static const struct pt_protocol row_of_two = { .device = &two, .derive = derive, .loss = loss_of_two };

/* This test's rows are not in the table. */
const struct pt_protocol *__real_pt_protocol_of(const struct pt_device *device);
const struct pt_protocol *__wrap_pt_protocol_of(const struct pt_device *device);

const struct pt_protocol *__wrap_pt_protocol_of(const struct pt_device *device)
{
	return device == &two ? &row_of_two : __real_pt_protocol_of(device);
}

static void the_largest_epsilon0_is_that_of_all_parts(void **state)
{
	static const char *const modes[] = { "plan", "adaptive.gdp" };
	struct pt_request r = { .epsilon0 = 5 };

	(void)state;
	for (size_t m = 0; m < 2; m++) {
		struct rd_account *a = rd_account_new_mode(0.3, DELTA, modes[m]);
		struct pt_loss loss = { .pure = 0 };
		double largest = -1;

		if (m == 0) {
			loss.parts = 1;
			loss.part[0] = among(1, 20000, 1);
			add(a, 1, &loss);
		}
		assert_int_equal(rd_account_largest_epsilon0(a, &row_of_two, &(struct qy_query){ 0 }, &r,
					 &(struct rd_batch){ 5000, 5000, 5000 }, NULL, &largest, &err),
			CM_OK);
		assert_true(largest > 0.05 && largest < 3);
		for (int more = 0; more < 2; more++) {
			struct pt_randomizer p = { .mixbins.keep = (uint64_t)llround(
							   largest * (more ? 1.011e5 : 1e5)) };

			assert_int_equal(loss_of_two(&p, 5000, &loss, &err), CM_OK);
			assert_int_equal(judge(a, &loss).fits, !more);
		}
		rd_account_free(a);
	}
}

/* A hint counts with colluders as a judgement does: if they see what is dropped, nothing fits. */
static void nothing_would_fit_where_colluders_see_what_is_dropped(void **state)
{
	const struct qy_query q = { .kind = QY_VECTOR, .dimension = 2, .high = 1 };
	const struct rd_batch b = { .least = 1000, .honest = 990, .most = 1000 };
	struct pt_request r = { .epsilon0 = 6, .levels = 2, .size = 1, .min_reports = 1000 };
	struct rd_account *a = rd_account_new(0.5, DELTA);
	const struct pt_protocol *topk = pt_find("ss-topk");
	double most;

	(void)state;
	for (r.padded = 500; r.padded <= 1000; r.padded += 500) {
		assert_int_equal(rd_account_largest_epsilon0(a, topk, &q, &r, &b, NULL, &most, &err), CM_OK);
		assert_true(r.padded < 1000 ? !(most > 0) : most > 0);
	}
	rd_account_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loss_counts_as_the_list_of_its_parts),
		cmocka_unit_test(no_part_is_left_out_of_a_judgement),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(a_loss_is_added_whole_or_not_at_all),
		cmocka_unit_test(what_is_no_loss_is_refused),
		cmocka_unit_test(a_filter_is_paid_for_every_part),
		cmocka_unit_test(the_largest_epsilon0_is_that_of_all_parts),
		cmocka_unit_test(nothing_would_fit_where_colluders_see_what_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
