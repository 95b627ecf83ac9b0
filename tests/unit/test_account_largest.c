/* test_account_largest.c - the largest epsilon0 that still fits an account, with a row and an accountant of
 * arithmetic. */
#include "wire_bytes.h"

#include <math.h>

#include "account_rounds.h"
#include "fake_accountant.h"

static struct cm_err err;

static double derive_limit;

/* The row's cost is epsilon0 itself, to a hundred-thousandth: others / 1000 with others = 1000 epsilon0 would
 * round. */
static enum cm_rc fake_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *e)
{
	(void)q;
	if (r->epsilon0 > derive_limit)
		return cm_fail(e, CM_ECONFIG, "epsilon0: too large");
	memset(out, 0, sizeof *out);
	out->row = row->device;
	out->mixbins.keep = (uint64_t)llround(r->epsilon0 * 1e5);
	return CM_OK;
}

static enum cm_rc fake_cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *e)
{
	(void)e;
	assert_int_equal(participants, 500);
	*out = costing(p->mixbins.keep);
	return CM_OK;
}

/* The row knows nothing but its cells. */
static double no_guarantee(const struct pt_randomizer *p)
{
	(void)p;
	return INFINITY;
}

static const struct pt_device fake_device = { .name = "fake", .epsilon0 = no_guarantee };
static const struct pt_protocol fake = { .device = &fake_device, .derive = fake_derive, .cells = fake_cells };

/* This test's rows are not in the table. */
const struct pt_protocol *__real_pt_protocol_of(const struct pt_device *device);
const struct pt_protocol *__wrap_pt_protocol_of(const struct pt_device *device);

const struct pt_protocol *__wrap_pt_protocol_of(const struct pt_device *device)
{
	return device == &fake_device ? &fake : __real_pt_protocol_of(device);
}

static double largest(double limit, uint64_t already)
{
	/* The fake's cost has the unit 1e-5, a hundredth of the arithmetic's, and so has the limit. */
	struct rd_account *a = rd_account_new(limit * 100.0, 1e-6);
	struct pt_request r = { .epsilon0 = 5.0, .min_reports = 500 };
	struct qy_query q = { 0 };
	double e = -1.0;

	if (already > 0) {
		struct acct_round before = costing(already);

		assert_int_equal(add_round(a, id(1), &before, &err), CM_OK);
	}
	assert_int_equal(rd_account_largest_epsilon0(
				 a, &fake, &q, &r, &(struct rd_batch){ 500, 500, 500 }, NULL, &e, &err),
		CM_OK);
	rd_account_free(a);
	return e;
}

static void the_largest_epsilon0_has_three_digits_and_fits(void **state)
{
	(void)state;
	derive_limit = 100.0;
	assert_true(largest(0.6, 0) == 0.599); /* 0.6 would equal the limit */
	assert_true(largest(0.6001, 0) == 0.6);
	assert_true(largest(0.6, 40000) == 0.199);
	assert_true(largest(2.345678, 0) == 2.34);
	assert_true(largest(0.012349, 0) == 0.0123);
	assert_true(largest(1000.0, 0) == 99.9);
	assert_true(largest(0.0009, 0) == 0.0);
	assert_true(largest(0.5, 50000) == 0.0);
	derive_limit = 0.3; /* the protocol has no parameters above */
	assert_true(largest(0.6, 0) == 0.3);
}

static void the_largest_epsilon0_is_unknown_when_the_accountant_cannot_answer(void **state)
{
	struct rd_account *a = rd_account_new(1.0, 1e-6);
	struct pt_request r = { .epsilon0 = 5.0, .min_reports = 500 };
	struct qy_query q = { 0 };
	double e = -1.0;

	(void)state;
	derive_limit = 100.0;
	acct.rc = ACCT_EPRECISION;
	assert_int_equal(rd_account_largest_epsilon0(
				 a, &fake, &q, &r, &(struct rd_batch){ 500, 500, 500 }, NULL, &e, &err),
		CM_EINTERNAL);
	assert_true(e == -1.0);
	rd_account_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_epsilon0_has_three_digits_and_fits),
		cmocka_unit_test(the_largest_epsilon0_is_unknown_when_the_accountant_cannot_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
