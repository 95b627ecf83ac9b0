/* test_number_params.c - the rows of one symbol of a number: what they derive and what they refuse. */
#include <math.h>
#include <string.h>

#include "acct.h"
#include "number_rows.h"

static const char *const rows[] = { "duchi", "laplace-levels", "staircase", "piecewise" };
#define ROWS (sizeof rows / sizeof rows[0])

static uint32_t most_levels(const char *row)
{
	return *row == 'd' ? 2 : *row == 'l' ? 64 : *row == 's' ? 1024 : 4096;
}

static void expect_close(const struct pt_randomizer *p, double asked)
{
	double got = p->row->epsilon0(p);
	struct acct_round round;
	const char *why;

	if (!(got <= asked && got > asked * (1 - 1e-9)))
		fail_msg("%s, %u levels, size %u: epsilon0 %.17g for %.17g", p->row->name, p->number.bins,
			p->number.size, got, asked);
	assert_int_equal(pt_protocol_of(p->row)->cells(p, 100000, &round, &err), CM_OK);
	if (acct_round_check(&round, &why) != ACCT_OK)
		fail_msg("%s, epsilon0 %g, %u levels, size %u: %s", p->row->name, asked, p->number.bins,
			p->number.size, why);
}

/* At every epsilon0, number of levels and size the guarantee is at most what was asked, and close, and the
 * accountant can answer. */
static void the_local_guarantee_is_at_most_what_was_asked(void **state)
{
	(void)state;
	for (double e = 16; e >= 1e-3; e /= 1.37) {
		for (size_t i = 0; i < ROWS; i++) {
			uint32_t most = most_levels(rows[i]);
			struct pt_randomizer p;

			for (uint32_t levels = 2; levels <= most; levels += levels / 2) {
				p = made(rows[i], levels, e, 0);
				expect_close(&p, e);
				for (uint32_t size = 1; i > 1 && size < levels; size *= 3) {
					p = made(rows[i], levels, e, size);
					expect_close(&p, e);
				}
			}
			p = made(rows[i], most, e, 0);
			expect_close(&p, e);
		}
	}
}

/* No other parameters that a plan could have are more accurate at the worst value. */
static void the_levels_chosen_are_the_best_ones(void **state)
{
	(void)state;
	for (double e = 0.1; e <= 16; e *= 2) {
		for (size_t i = 1; i < ROWS; i++) {
			struct pt_randomizer chosen = made(rows[i], 0, e, 0);
			double error = pt_expected_error(&number, &chosen, 1000);

			for (uint32_t levels = 2; levels <= 64; levels++) {
				struct pt_randomizer p = made(rows[i], levels, e, 0);

				assert_true(error <= pt_expected_error(&number, &p, 1000) * (1 + 1e-12));
			}
		}
	}
}

/* Parameters changed by one statement, of a row's own. */
#define REFUSED(statement)                                                          \
	do {                                                                        \
		p = good;                                                           \
		statement;                                                          \
		assert_int_equal(row->device->check(&number, &p, &err), CM_EPROTO); \
	} while (0)

static void parameters_that_no_plan_gives_are_refused(void **state)
{
	static char *labels[] = { "a", "b" };
	static const struct qy_query counts = {
		.kind = QY_HISTOGRAM, .name = "h", .field = "f", .category = labels, .categories = 2
	};

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		const struct pt_protocol *row = pt_find(rows[i]);
		const struct pt_randomizer good = made(rows[i], i == 0 ? 2 : 9, 1, 0);
		struct pt_randomizer p;

		assert_int_equal(row->device->check(&counts, &good, &err), CM_EPROTO);
		REFUSED(p.number.bins = 0);
		REFUSED(p.number.bins = 1);
		REFUSED(p.number.bins = most_levels(rows[i]) + 1);
		REFUSED(p.number.bins = UINT32_MAX);
		REFUSED(p.shuffler.dummies = 1);
		if (good.row == pt_device_find("duchi")) {
			REFUSED(p.mixbins.keep = 0);
			REFUSED(p.mixbins.keep = UINT64_MAX);
			continue;
		}
		REFUSED(p.number.keep = 0);
		REFUSED(p.number.keep = UINT64_MAX);
		REFUSED(p.number.size = p.number.size == 0 ? 1 : 0);
		REFUSED(p.number.size = p.number.size == 0 ? 1 : p.number.bins);
		REFUSED(p.number.size = UINT32_MAX);
	}
	{
		/* A window whose inside is hardly likelier than its outside says nothing. */
		const struct pt_protocol *row = pt_find("piecewise");
		const struct pt_randomizer good = made("piecewise", 9, 1, 8);
		struct pt_randomizer p;

		REFUSED(p.number.keep = UINT64_C(1) << 63);
		REFUSED(p.number.keep = (UINT64_C(1) << 63) + 1);
	}
}

static void participants_beyond_the_accountants_range_are_refused(void **state)
{
	struct acct_round round;

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		struct pt_randomizer p = made(rows[i], 2, 1, 0);

		assert_int_equal(pt_find(rows[i])->cells(&p, 0, &round, &err), CM_EPROTO);
		assert_int_equal(pt_find(rows[i])->cells(&p, UINT64_MAX, &round, &err), CM_EPROTO);
		assert_int_equal(pt_find(rows[i])->cells(&p, 1, &round, &err), CM_OK);
		assert_int_equal(round.others, 0);
	}
}

static void malformed_records_are_refused_and_count_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		const struct pt_protocol *row = pt_find(rows[i]);
		struct pt_randomizer p = made(rows[i], i == 0 ? 2 : 5, 2, 0);
		uint32_t n = row->tallies(&p);
		uint64_t counts[64] = { 0 };
		uint8_t record[16] = { 1 };

		assert_true(n < 64);
		for (uint32_t byte = 0; byte < 16; byte++) {
			for (uint32_t bit = 0; bit < 8; bit++) {
				bool good = byte == 8 && 1u << bit < n;

				record[byte] ^= (uint8_t)(1u << bit);
				assert_int_equal(
					row->tally(&p, record, counts, &err), good ? CM_OK : CM_EDATA);
				if (good)
					counts[1u << bit]--;
				record[byte] ^= (uint8_t)(1u << bit);
			}
		}
		record[8] = (uint8_t)n;
		assert_int_equal(row->tally(&p, record, counts, &err), CM_EDATA);
		for (uint32_t y = 0; y < n; y++)
			assert_int_equal(counts[y], 0);
		record[8] = (uint8_t)(n - 1);
		assert_int_equal(row->tally(&p, record, counts, &err), CM_OK);
		assert_int_equal(counts[n - 1], 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_local_guarantee_is_at_most_what_was_asked),
		cmocka_unit_test(the_levels_chosen_are_the_best_ones),
		cmocka_unit_test(parameters_that_no_plan_gives_are_refused),
		cmocka_unit_test(participants_beyond_the_accountants_range_are_refused),
		cmocka_unit_test(malformed_records_are_refused_and_count_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
