/* test_descriptor_use.c - what follows from a descriptor: the context of its messages, the honest
 * participants, the loss. */
#include "golden_descriptor.h"

#include "pt_protocol.h"

#include <math.h>

static struct cm_err err;

static void the_sealing_context_binds_the_hash(void **state)
{
	struct rd_descriptor d = { .record_len = 16 };
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN];

	(void)state;
	for (size_t i = 0; i < PR_HASH_LEN; i++)
		d.hash[i] = (uint8_t)(i + 1);
	rd_hpke_info(&d, info);
	rd_hpke_aad(&d, aad);
	assert_int_equal(sizeof info, 49);
	assert_memory_equal(info, "tombola/1 report\0", 17);
	assert_memory_equal(info + 17, d.hash, 32);
	assert_memory_equal(aad, d.hash, 32);
	assert_int_equal(rd_sealed_len(&d), 16 + 32 + 16);
}

static void honest_participants_are_never_more_than_took_part_nor_less_than_one(void **state)
{
	static const struct {
		uint64_t n;
		double h;
		uint64_t c, honest;
	} row[] = {
		{ 1000, 1.0, 0, 1000 },
		{ 1000, 0.5, 0, 500 },
		{ 1001, 0.5, 0, 500 },
		{ 1000, 0.95, 10, 940 },
		{ 1000, 1.0, 998, 2 },
		{ 1000, 1.0, 999, 1 },
		{ 100, 0.29, 0, 29 }, /* as doubles 28.999999999999996 */
		{ 100, 0.57, 7, 50 },
		{ 1000, 1.0, 1000, 1 },
		{ 1000, 1.0, UINT64_MAX, 1 },
		{ 10, 0.05, 0, 1 },
		{ 1, 1.0, 0, 1 },
		{ 0, 1.0, 0, 1 },
		{ PR_ROUND_REPORTS_MAX, 1.0, 1, PR_ROUND_REPORTS_MAX - 1 },
		{ UINT64_MAX, 1.0, 0, UINT64_MAX },
		{ 1000, (double)NAN, 0, 1 },
		{ 1000, 2.0, 0, 1000 },
		{ 1000, -1.0, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
		assert_true(rd_honest(row[i].n, row[i].h, row[i].c) == row[i].honest);
}

static void the_loss_is_that_of_the_guaranteed_minimum(void **state)
{
	struct rd_descriptor d;
	struct acct_round want = { 0 };
	struct pt_loss loss;
	const struct acct_round *have = &loss.part[0];

	(void)state;
	assert_int_equal(rd_descriptor_decode(golden.data, golden.len, &d, &err), CM_OK);
	assert_int_equal(rd_loss(&d, &loss, &err), CM_OK);
	assert_int_equal(loss.parts, 1);
	/* floor(0.95 * 1000) - 10, whatever the target is */
	assert_int_equal(pt_protocol_of(d.randomizer.row)->cells(&d.randomizer, 940, &want, &err), CM_OK);
	assert_int_equal(have->others, 939);
	assert_int_equal(have->count, 1);
	assert_int_equal(have->cells, want.cells);
	assert_memory_equal(have->cell, want.cell, have->cells * sizeof have->cell[0]);
	d.target = d.min_reports;
	assert_int_equal(rd_loss(&d, &loss, &err), CM_OK);
	assert_int_equal(have->others, 939);
	rd_descriptor_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sealing_context_binds_the_hash),
		cmocka_unit_test(honest_participants_are_never_more_than_took_part_nor_less_than_one),
		cmocka_unit_test(the_loss_is_that_of_the_guaranteed_minimum),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
