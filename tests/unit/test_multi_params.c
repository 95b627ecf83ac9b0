/* test_multi_params.c - the rows of one wide message among wide dummies: what they refuse, and reference
 * values of their estimates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "encode_in_room.h"
#include "multi_rows.h"
#include "pt_hash_analysis.h"
#include "scripted_rng.h"

static const struct pt_request hashed_request = { .epsilon0 = (double)INFINITY, .dummies = 2, .size = 5 };
static const struct pt_request cheu_request = { .epsilon0 = 2, .dummies = 2 };

static void what_a_row_cannot_do_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *row;
		struct pt_request request;
		const char *said;
	} bad[] = {
		{ "hashed", { .epsilon0 = 1, .dummies = 1 }, "hashed: has no local guarantee" },
		{ "hashed", { .epsilon0 = (double)NAN, .dummies = 1 }, "hashed: has no local guarantee" },
		{ "hashed", { .epsilon0 = (double)-INFINITY, .dummies = 1 },
			"hashed: has no local guarantee" },
		{ "hashed", { .epsilon0 = (double)INFINITY }, "hashed: needs dummies" },
		{ "hashed", { .epsilon0 = (double)INFINITY, .dummies = 1024 },
			"hashed: dummies must be at most 1023" },
		{ "hashed", { .epsilon0 = (double)INFINITY, .dummies = 1, .size = 1 },
			"hashed: size 1, must be" },
		{ "hashed", { .epsilon0 = (double)INFINITY, .dummies = 1, .size = 4097 },
			"hashed: size 4097, must be 2 to 4096" },
		{ "hashed", { .epsilon0 = (double)INFINITY, .shuffler_dummies = 10000001 },
			"hashed: shuffler_dummies must be at most 10000000" },
		{ "cheu", { .epsilon0 = (double)INFINITY, .dummies = 1 }, "cheu: epsilon0 must be above 0" },
		{ "cheu", { .epsilon0 = (double)NAN, .dummies = 1 }, "cheu: epsilon0 must be above 0" },
		{ "cheu", { .epsilon0 = 0, .dummies = 1 }, "cheu: epsilon0 must be above 0" },
		{ "cheu", { .epsilon0 = 16.001, .dummies = 1 },
			"cheu: epsilon0 must be above 0 and at most 16" },
		{ "cheu", { .epsilon0 = 1e-18, .dummies = 1 }, "too small to say anything" },
		{ "cheu", { .epsilon0 = 1 }, "cheu: needs dummies" },
		{ "cheu", { .epsilon0 = 1, .dummies = 1024 }, "cheu: dummies must be at most 1023" },
	};
	struct qy_query q = histogram(6), m = { .kind = QY_MEAN, .name = "m", .field = "f", .high = 1 };
	struct pt_randomizer p = { .multi.bins = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(pt_derive(pt_find(bad[i].row), &q, &bad[i].request, &p, &err), CM_ECONFIG);
		if (!strstr(err.msg, bad[i].said))
			fail_msg("%s", err.msg);
		assert_int_equal(pt_derive(pt_find(bad[i].row), &m, &bad[i].request, &p, &err), CM_ECONFIG);
		assert_int_equal(p.multi.bins, 77);
	}
}

/* As many cells as get 62 dummies each at the minimum of participants. */
static void the_cells_of_a_hash_follow_the_dummies(void **state)
{
	static const struct {
		uint64_t min_reports, shuffler;
		uint32_t dummies, cells;
	} cases[] = { { 1000, 0, 1, 16 }, { 1000, 240, 1, 20 }, { 1000, 0, 100, 1612 }, { 10, 0, 1, 2 },
		{ 100000000, 0, 1023, 4096 }, { 0, 6200, 0, 100 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct pt_request r = { .epsilon0 = INFINITY,
			.dummies = cases[i].dummies,
			.shuffler_dummies = cases[i].shuffler,
			.min_reports = cases[i].min_reports };
		struct pt_randomizer p = made_of("hashed", 5, &r);

		assert_int_equal(p.multi.size, cases[i].cells);
	}
}

static void parameters_that_no_plan_gives_are_refused(void **state)
{
	struct qy_query q = histogram(6), five = histogram(5);
	struct qy_query m = { .kind = QY_MEAN, .name = "m", .field = "f", .high = 1 };
	const struct pt_randomizer both[] = { made_of("hashed", 6, &hashed_request),
		made_of("cheu", 6, &cheu_request) };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct pt_randomizer good = both[i];
		const struct pt_protocol *row = pt_protocol_of(good.row);
		struct pt_randomizer p = good;

		assert_int_equal(row->device->check(&m, &good, &err), CM_EPROTO);
		assert_int_equal(row->device->check(&five, &good, &err), CM_EPROTO);
		REFUSED(p.multi.bins = 5);
		REFUSED(p.multi.bins = 0);
		REFUSED(p.multi.bins = UINT32_MAX);
		REFUSED(p.multi.dummies = 0);
		REFUSED(p.multi.dummies = 1024);
		REFUSED(p.multi.dummies = UINT32_MAX);
		REFUSED(p.shuffler.dummies = 10000001);
		REFUSED(p.shuffler.dummies = UINT64_MAX);
		if (row == pt_find("cheu")) {
			REFUSED(p.cheu.keep = 0);
			REFUSED(p.cheu.keep = UINT64_MAX);
			REFUSED(p.cheu.other = 0);
			REFUSED(p.cheu.other = UINT64_MAX);
			REFUSED(p.cheu.other++);
			REFUSED((p.cheu.other--, p.cheu.keep--));
			REFUSED((p.cheu.keep = UINT64_C(1) << 63, p.cheu.other = UINT64_C(1) << 63));
			REFUSED((p.cheu.keep = UINT64_MAX, p.cheu.other = 1));
		} else {
			REFUSED(p.multi.size = 0);
			REFUSED(p.multi.size = 1);
			REFUSED(p.multi.size = CATEGORIES_MAX + 1);
		}
		p = good;
		p.multi.dummies = 0;
		p.shuffler.dummies = 1;
		assert_int_equal(row->device->check(&q, &p, &err), CM_OK);
	}
}

/* Refused, and nothing is counted. */
static void expect_bad(const struct pt_randomizer *p, const uint8_t *record)
{
	uint64_t counts[5] = { 0 };

	assert_int_equal(pt_protocol_of(p->row)->tally(p, record, counts, &err), CM_EDATA);
	for (size_t i = 0; i < 5; i++)
		assert_true(counts[i] == 0);
}

static void malformed_records_add_nothing(void **state)
{
	const struct pt_randomizer both[] = { hashed(5, 5, 1), cheu(5, 1, 1) };
	uint8_t records[2 * 32];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct pt_randomizer *p = &both[i];
		const struct pt_protocol *row = pt_protocol_of(p->row);
		struct scripted_rng s = { .fallback = SCRIPT_END };
		struct cr_rng rng = scripted_rng(&s);
		struct qy_query q = histogram(5);
		struct qy_value v = { .x = 3 };

		encode_in_room(row->device, &q, p, &v, &rng, records);
		for (size_t bit = 0; bit < 64; bit++) {
			records[bit / 8] ^= (uint8_t)(1u << bit % 8);
			expect_bad(p, records);
			records[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		/* Cells beyond the last, bits of no item. */
		for (size_t bit = 5; bit < 64; bit++) {
			size_t at = 8 * (row->device->record_len(p) - 8) + bit;

			records[at / 8] ^= (uint8_t)(1u << at % 8);
			expect_bad(p, records);
			records[at / 8] ^= (uint8_t)(1u << at % 8);
		}
	}
	for (size_t word = 0; word < 3; word++) {
		const uint64_t limit = word < 2 ? PT_HASH_POINTS : 5;
		const struct pt_hash h = { word == 0 ? limit : 0, word == 1 ? limit : 0 };

		pt_hash_put(records, &h, word == 2 ? limit : 0);
		expect_bad(&both[0], records);
	}
}

/* ---- estimates ---- */

static void counts_that_cannot_be_are_refused(void **state)
{
	const struct pt_randomizer both[] = { hashed(5, 5, 3), cheu(5, 1, 3) };
	struct qy_query q = histogram(5);
	struct es_estimate e = { .n = 77 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct pt_randomizer p = both[i];
		uint64_t counts[5] = { 401 };

		assert_int_equal(pt_answer(&q, &p, counts, 0, &e, &err), CM_EDATA);
		assert_int_equal(pt_answer(&q, &p, counts, UINT64_MAX, &e, &err), CM_EDATA);
		assert_int_equal(pt_answer(&q, &p, counts, 100, &e, &err), CM_EDATA);
		counts[0] = UINT64_MAX;
		assert_int_equal(pt_answer(&q, &p, counts, 100, &e, &err), CM_EDATA);
		assert_int_equal(e.n, 77);
		p.shuffler.dummies = 1;
		counts[0] = 401;
		assert_int_equal(pt_answer(&q, &p, counts, 100, &e, &err), CM_OK);
		es_estimate_fini(&e);
		e.n = 77;
	}
}

/* Expected counts of so many messages estimate the truth, with the variance of the reference. */
static void expect_estimate(
	const struct pt_randomizer *p, const struct csv *csv, double expected, double scale)
{
	struct qy_query q = histogram(p->multi.bins);
	uint64_t counts[64] = { (uint64_t)(expected * scale + 0.5) };
	uint64_t n = (uint64_t)(csv_param(csv, "n") * scale);
	struct es_estimate e;
	struct acct_round round;

	assert_int_equal(pt_answer(&q, p, counts, n, &e, &err), CM_OK);
	assert_true(fabs(e.item[0].value - csv_param(csv, "nj") * scale) < 3);
	close_to(e.item[0].variance / scale, strtod(csv_get(csv, "est_variance"), NULL), 1e-6);
	assert_int_equal(pt_protocol_of(p->row)->cells(p, n, &round, &err), CM_OK);
	close_to(round.cell[0].omega * round.cell[0].u - round.cell[0].omega * round.cell[0].v,
		strtod(csv_get(csv, "beta"), NULL), 1e-12);
	es_estimate_fini(&e);
}

static void reference_values_are_met(void **state)
{
	static struct csv csv;
	int seen = 0;

	(void)state;
	assert_true(csv_open(&csv, TEST_DATA "/vectors/protocols.csv"));
	while (csv_next(&csv)) {
		const char *row = csv_get(&csv, "randomizer");
		const double scale = 1000;

		if (strcmp(row, "hashed_bins") == 0) {
			double l = csv_param(&csv, "b"), n = csv_param(&csv, "n"), c = csv_param(&csv, "nj");
			struct pt_randomizer p = hashed(40, (uint32_t)l, 1);

			p.multi.dummies = 0;
			p.shuffler.dummies = (uint64_t)(csv_param(&csv, "N") * scale);
			expect_estimate(&p, &csv, c + (n - c) / l + csv_param(&csv, "N") / l, scale);
			seen++;
		} else if (strcmp(row, "cheu_zhilyaev") == 0) {
			double f = csv_param(&csv, "f"), n = csv_param(&csv, "n"), c = csv_param(&csv, "nj");
			uint32_t fakes = (uint32_t)csv_param(&csv, "kfake");
			struct pt_randomizer p = cheu((uint32_t)csv_param(&csv, "d"), 4, fakes);
			struct acct_round round;

			p.cheu.other = (uint64_t)ldexp(f, 64);
			p.cheu.keep = UINT64_C(0) - p.cheu.other;
			expect_estimate(&p, &csv, c * (1 - f) + (n - c + fakes * n) * f, scale);
			assert_int_equal(pt_find("cheu")->cells(&p, 10000, &round, &err), CM_OK);
			close_to(round.cell[0].u, strtod(csv_get(&csv, "p"), NULL), 1e-12);
			close_to(exp(pt_find("cheu")->device->epsilon0(&p)), strtod(csv_get(&csv, "p"), NULL),
				1e-12);
			seen++;
		}
	}
	(void)fclose(csv.file);
	assert_int_equal(seen, 4);
}

/* Two cells, one participant, one dummy: by hand.  Of an item nobody holds, both messages count with chance
 * 1/2 each; the estimate is (M - 1) / (1/2). */
static void the_smallest_estimate_is_right_by_hand(void **state)
{
	struct pt_randomizer p = hashed(2, 2, 1);
	struct qy_query q = histogram(2);
	const uint64_t counts[] = { 2, 0 };
	struct es_estimate e;

	(void)state;
	assert_int_equal(pt_answer(&q, &p, counts, 1, &e, &err), CM_OK);
	assert_true(e.item[0].value == 2 && e.item[1].value == -2);
	/* c = 1: one dummy's 1/4 over 1/4; c = 0: two of them. */
	assert_true(e.item[0].variance == 1 && e.item[1].variance == 2);
	assert_true(e.item[0].lower <= 0 && e.item[0].upper >= 1 && e.item[0].below_noise);
	es_estimate_fini(&e);
}

/* sqrt of the stated variance at the two counts that the column weighs. */
static void the_expected_error_is_that_of_an_average_and_of_a_heavy_item(void **state)
{
	struct pt_randomizer h = hashed(20, 50, 4), c = cheu(20, 3, 4);
	struct qy_query q = histogram(20);
	double f = (double)chance(c.cheu.other), n = 1e5;

	(void)state;
	close_to(pt_expected_error(&q, &h, 100000),
		sqrtl(((n * 0.95L + 4 * n) / 49 + (n * 0.9L + 4 * n) / 49) / 2), 1e-12);
	close_to(pt_expected_error(&q, &c, 100000), sqrtl(5 * n * f * (1 - f)) / (1 - 2 * f), 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_row_cannot_do_is_refused_with_the_reason),
		cmocka_unit_test(the_cells_of_a_hash_follow_the_dummies),
		cmocka_unit_test(parameters_that_no_plan_gives_are_refused),
		cmocka_unit_test(malformed_records_add_nothing),
		cmocka_unit_test(counts_that_cannot_be_are_refused),
		cmocka_unit_test(reference_values_are_met),
		cmocka_unit_test(the_smallest_estimate_is_right_by_hand),
		cmocka_unit_test(the_expected_error_is_that_of_an_average_and_of_a_heavy_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
