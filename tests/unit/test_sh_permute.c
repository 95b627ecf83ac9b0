/* test_sh_permute.c - the order of release is uniform, and the tests that say so can fail.
 *
 * Statistics reject at about one in 10^12 under uniformity: chi-square by the Wilson-Hilferty
 * approximation at z = 7.1, correlations at 7.2 standard deviations (1/sqrt(n)). */
#include "sh_play.h"

#include <math.h>
#include <string.h>

#include "sh_permute.h"

#define Z_CHI  7.1
#define Z_CORR 7.2
#define LEN    16u /* bytes of a message here: its number, then zero */

static struct cm_err err;
static struct cr_rng honest;

/* ---- A generator that is biased on purpose ---- */

/* Three words of four are those of a counter. */
struct lazy {
	uint64_t count, period;
};

static void lazy_fill(void *ctx, void *out, size_t n)
{
	struct lazy *l = ctx;
	uint64_t word;

	honest.fill(honest.ctx, out, n);
	if (n != sizeof word || (*(uint8_t *)out & 3) == 0)
		return;
	/* The upper half only: block ids must not repeat. */
	memcpy(&word, out, sizeof word);
	word = (l->count++ % l->period * (UINT64_MAX / l->period) & ~UINT64_C(0xffffffff)) |
	       (word & 0xffffffff);
	memcpy(out, &word, sizeof word);
}

/* ---- Statistics ---- */

static double chi_limit(double df)
{
	double a = 2 / (9 * df);

	return df * pow(1 - a + Z_CHI * sqrt(a), 3);
}

static unsigned factorial(unsigned n)
{
	return n < 2 ? 1 : n * factorial(n - 1);
}

/* Lehmer code: the number 0..n!-1 of a permutation. */
static unsigned rank_of(const unsigned *order, unsigned n)
{
	unsigned rank = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned less = 0;
		for (unsigned j = i + 1; j < n; j++)
			less += order[j] < order[i];
		rank = rank * (n - i) + less;
	}
	return rank;
}

static double chi_square(const unsigned *count, unsigned cells, double trials)
{
	double expect = trials / cells, sum = 0;

	for (unsigned i = 0; i < cells; i++)
		sum += (count[i] - expect) * (count[i] - expect) / expect;
	return sum;
}

static double correlation(const double *x, const double *y, size_t n)
{
	double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < n; i++) {
		mx += x[i] / (double)n;
		my += y[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		yy += (y[i] - my) * (y[i] - my);
		xy += (x[i] - mx) * (y[i] - my);
	}
	return xy / sqrt(xx * yy);
}

/* ---- Fisher-Yates alone ---- */

/* The textbook mistake: swap each with any. */
static void naive(uint8_t *records, size_t n, const struct cr_rng *rng)
{
	for (size_t i = 0; i < n; i++) {
		size_t j = (size_t)cr_rng_below(rng, n);
		uint8_t hold = records[i];
		records[i] = records[j];
		records[j] = hold;
	}
}

/* Draws by a modulo of four bits: 16 is no multiple of 3, 5 or 6. */
static void modulo(uint8_t *records, size_t n, const struct cr_rng *rng)
{
	for (size_t left = n; left > 1; left--) {
		size_t j = (size_t)((cr_rng_u64(rng) & 0xf) % left);
		uint8_t hold = records[left - 1];
		records[left - 1] = records[j];
		records[j] = hold;
	}
}

static void ours(uint8_t *records, size_t n, const struct cr_rng *rng)
{
	sh_permute(records, n, 1, rng);
}

static double chi_of(void (*shuffle)(uint8_t *, size_t, const struct cr_rng *), unsigned n, unsigned trials)
{
	unsigned cells = factorial(n), *count = calloc(cells, sizeof *count), order[6];
	uint8_t record[6];

	assert_non_null(count);
	for (unsigned t = 0; t < trials; t++) {
		for (unsigned i = 0; i < n; i++)
			record[i] = (uint8_t)i;
		shuffle(record, n, &honest);
		for (unsigned i = 0; i < n; i++)
			order[i] = record[i];
		count[rank_of(order, n)]++;
	}
	double chi = chi_square(count, cells, trials);
	free(count);
	return chi;
}

static void fisher_yates_gives_every_order_equally_often(void **state)
{
	(void)state;
	for (unsigned n = 2; n <= 6; n++) {
		double chi = chi_of(ours, n, 400000), limit = chi_limit(factorial(n) - 1);
		if (chi > limit)
			fail_msg("n %u: chi-square %.1f over %.1f", n, chi, limit);
	}
}

static void the_same_test_fails_for_a_naive_shuffle_and_for_a_modulo(void **state)
{
	(void)state;
	for (unsigned n = 3; n <= 6; n++) {
		double limit = chi_limit(factorial(n) - 1);
		assert_true(chi_of(naive, n, 400000) > limit);
		assert_true(chi_of(modulo, n, 400000) > limit);
	}
}

static void records_of_any_length_move_whole(void **state)
{
	static const size_t lens[] = { 1, 7, 64, 113, PR_SEALED_MAX };
	uint8_t *record = calloc(100, PR_SEALED_MAX);

	(void)state;
	assert_non_null(record);
	for (size_t l = 0; l < sizeof lens / sizeof lens[0]; l++) {
		unsigned seen[100] = { 0 };
		for (size_t i = 0; i < 100; i++)
			memset(record + i * lens[l], (int)i, lens[l]);
		sh_permute(record, 100, lens[l], &honest);
		for (size_t i = 0; i < 100; i++) {
			uint8_t who = record[i * lens[l]];
			seen[who]++;
			for (size_t j = 0; j < lens[l]; j++)
				assert_int_equal(record[i * lens[l] + j], who);
		}
		for (size_t i = 0; i < 100; i++)
			assert_int_equal(seen[i], 1);
	}
	sh_permute(record, 0, 5, &honest);
	sh_permute(record, 1, 5, &honest);
	free(record);
}

static void buckets_hold_about_half_a_mebibyte(void **state)
{
	(void)state;
	assert_int_equal(sh_bucket_count(1, 64), 1);
	assert_int_equal(sh_bucket_count(8192, 64), 1);
	assert_int_equal(sh_bucket_count(8193, 64), 2);
	assert_int_equal(sh_bucket_count(1000000, 112), 256);
	assert_int_equal(sh_bucket_count(UINT64_C(100000000) * 1024, PR_SEALED_MAX), PR_BUCKETS_MAX);
}

/* ---- The real way: commits, the store, release ---- */

struct rig {
	char dir[64], keys[80];
	struct sh_store store;
};

static int rig_up(void **state)
{
	static struct rig rig;

	sh_play_folder(rig.dir);
	(void)snprintf(rig.keys, sizeof rig.keys, "%s/keys", rig.dir);
	assert_int_equal(cr_rng_system(&honest, &err), CM_OK);
	if (sh_sqlite_open(rig.dir, &rig.store, &err) != CM_OK)
		fail_msg("%s", err.msg);
	*state = &rig;
	return 0;
}

static int rig_down(void **state)
{
	struct rig *rig = *state;

	rig->store.close(rig->store.ctx);
	sh_play_remove(rig->dir);
	return 0;
}

/* Put messages 0..n-1 through `commits` commits and read them back in the order of release. */
static void through_the_vault(struct rig *rig, uint32_t buckets, size_t n, unsigned commits,
	const struct cr_rng *rng, struct cm_buf *out)
{
	uint8_t round_id[PR_ROUND_ID_LEN];
	struct sh_vault v;
	size_t at = 0;

	honest.fill(honest.ctx, round_id, sizeof round_id);
	if (sh_vault_create(&v, &rig->store, rig->keys, round_id, buckets, LEN, rng, &err) != CM_OK)
		fail_msg("create: %s", err.msg);
	for (unsigned c = 0; c < commits; c++) {
		size_t end = n * (c + 1) / commits;
		struct sh_batch b;
		sh_batch_init(&b, LEN, 64u << 20);
		assert_int_equal(sh_batch_reserve(&b, end - at, 1, &err), CM_OK);
		for (; at < end; at++) {
			uint8_t message[LEN] = { 0 };
			struct sh_tag tag = { .tag = { 1 } };
			cm_put_le64(message, at);
			cm_put_le64(tag.tag, at + 1);
			sh_batch_add(&b, &tag, message, LEN);
		}
		if (sh_vault_commit(&v, &b, rng, &err) != CM_OK)
			fail_msg("commit: %s", err.msg);
		sh_batch_fini(&b);
	}
	out->len = 0;
	for (uint32_t b = 0; b < buckets; b++)
		if (sh_vault_release(&v, b, out, &err) != CM_OK)
			fail_msg("release: %s", err.msg);
	assert_int_equal(out->len, n * LEN);
	sh_vault_close(&v);
	if (sh_vault_destroy(&rig->store, rig->keys, round_id, &err) != CM_OK)
		fail_msg("destroy: %s", err.msg);
}

static double chi_of_release(struct rig *rig, unsigned n, unsigned trials, const struct cr_rng *rng)
{
	unsigned cells = factorial(n), *count = calloc(cells, sizeof *count), order[6];
	struct cm_buf out;

	assert_non_null(count);
	cm_buf_init(&out, 1u << 20);
	for (unsigned t = 0; t < trials; t++) {
		through_the_vault(rig, 4, n, 2, rng, &out);
		for (unsigned i = 0; i < n; i++)
			order[i] = (unsigned)cm_get_le64(out.data + i * LEN);
		count[rank_of(order, n)]++;
	}
	double chi = chi_square(count, cells, trials);
	free(count);
	cm_buf_fini(&out);
	return chi;
}

/* More than 5 expected a cell, the usual rule for chi-square. */
static unsigned trials_of(unsigned n)
{
	return n < 5 ? 2000 : factorial(n) * (n == 5 ? 20 : 8);
}

static void the_release_gives_every_order_of_up_to_six_equally_often(void **state)
{
	for (unsigned n = 2; n <= 6; n++) {
		double chi = chi_of_release(*state, n, trials_of(n), &honest),
		       limit = chi_limit(factorial(n) - 1);
		if (chi > limit)
			fail_msg("n %u: chi-square %.1f over %.1f", n, chi, limit);
	}
}

static void the_same_test_fails_with_a_biased_generator(void **state)
{
	struct lazy lazy = { .period = 7 };
	const struct cr_rng biased = { lazy_fill, &lazy };

	/* Orders of four and of five tell; six would take as many trials as all others together. */
	for (unsigned n = 4; n <= 5; n++)
		assert_true(chi_of_release(*state, n, trials_of(n), &biased) > chi_limit(factorial(n) - 1));
}

/* Correlation of a million places in with places out, and of neighbours in the output. */
static void correlate(struct rig *rig, const struct cr_rng *rng, double *in_out, double *neighbours)
{
	const size_t n = 1000000;
	double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
	uint8_t *seen = calloc(n, 1);
	struct cm_buf out;

	assert_true(x && y && seen);
	cm_buf_init(&out, 64u << 20);
	through_the_vault(rig, 32, n, 20, rng, &out);
	for (size_t i = 0; i < n; i++) {
		uint64_t in = cm_get_le64(out.data + i * LEN);
		assert_true(in < n && !seen[in]);
		seen[in] = 1;
		x[i] = (double)in;
		y[i] = (double)i;
	}
	*in_out = correlation(x, y, n);
	*neighbours = correlation(x, x + 1, n - 1);
	free(x);
	free(y);
	free(seen);
	cm_buf_fini(&out);
}

static void places_in_and_out_do_not_correlate_at_a_million(void **state)
{
	double in_out, neighbours, limit = Z_CORR / sqrt(1e6);

	correlate(*state, &honest, &in_out, &neighbours);
	if (fabs(in_out) > limit || fabs(neighbours) > limit)
		fail_msg("correlations %.5f, %.5f over %.5f", in_out, neighbours, limit);
}

static void they_do_with_a_biased_generator(void **state)
{
	struct lazy lazy = { .period = 1000000 };
	const struct cr_rng biased = { lazy_fill, &lazy };
	double in_out, neighbours, limit = Z_CORR / sqrt(1e6);

	correlate(*state, &biased, &in_out, &neighbours);
	assert_true(fabs(in_out) > limit && fabs(neighbours) > limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fisher_yates_gives_every_order_equally_often),
		cmocka_unit_test(the_same_test_fails_for_a_naive_shuffle_and_for_a_modulo),
		cmocka_unit_test(records_of_any_length_move_whole),
		cmocka_unit_test(buckets_hold_about_half_a_mebibyte),
		cmocka_unit_test(the_release_gives_every_order_of_up_to_six_equally_often),
		cmocka_unit_test(the_same_test_fails_with_a_biased_generator),
		cmocka_unit_test(places_in_and_out_do_not_correlate_at_a_million),
		cmocka_unit_test(they_do_with_a_biased_generator),
	};

	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
