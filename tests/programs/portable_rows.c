/* portable_rows.c - prints what the device half of the rows computes, from fixed numbers: a line for each
 * randomizer, with its guarantee and a hash of its messages.  tests/portable.sh compares the lines of two
 * machines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode_in_room.h"
#include "pt_ratio.h"
#include "pt_rows.h"

#define VALUES 500u

/* A generator of the test's own, alike on all machines. */
static void fill(void *ctx, void *out, size_t n)
{
	uint64_t *s = ctx;
	uint8_t *at = out;

	while (n-- > 0) {
		*s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		*at++ = (uint8_t)(*s >> 56);
	}
}

/* What the device half wants of common/crypto, whose objects need libcrypto: that of this machine only. */
void cr_wipe(void *p, size_t n)
{
	memset(p, 0, n);
}

void cr_rng_u64s(const struct cr_rng *rng, uint64_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = cr_rng_u64(rng);
}

static uint64_t hashed(uint64_t h, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * UINT64_C(1099511628211);
	return h;
}

/* Each of VALUES values of the query, 0..most, and none of them twice in a row. */
static void show(const struct qy_query *q, const struct pt_randomizer *p, uint64_t most)
{
	const struct pt_device *row = p->row;
	size_t len = (size_t)row->messages(p) * row->record_len(p);
	uint8_t *records = calloc(1, len);
	uint64_t seed = 42, h = UINT64_C(14695981039346656037);
	const struct cr_rng rng = { .fill = fill, .ctx = &seed };
	uint32_t at[8];
	struct cm_err err = { 0 };

	if (!records || row->check(q, p, &err) != CM_OK) {
		(void)fprintf(stderr, "%s: %s\n", row->name, err.msg);
		exit(1);
	}
	for (uint64_t i = 0; i < VALUES; i++) {
		struct qy_value v = { .x = i * UINT64_C(0x9e3779b97f4a7c15) % (most + 1), .at = at };

		for (uint32_t k = 0; k < sizeof at / sizeof *at; k++)
			at[k] = (uint32_t)(q->kind == QY_SETS ? i >> k & 1 : (i + k) << 20);
		encode_in_room(row, q, p, &v, &rng, records);
		h = hashed(h, records, len);
	}
	(void)printf("%s %a %016llx\n", row->name, row->epsilon0(p), (unsigned long long)h);
	free(records);
}

/* Guarantees of thresholds all over their range. */
static void show_guarantees(void)
{
	uint64_t seed = 7;
	const struct cr_rng rng = { .fill = fill, .ctx = &seed };

	for (unsigned i = 0; i < 2000; i++) {
		uint64_t keep = cr_rng_u64(&rng) | 1, unlikely = 1 + cr_rng_below(&rng, 4095);

		(void)printf("%a %a\n", pt_ratio_log(pt_ratio_of(keep, unlikely, 1 + i % 7), 1),
			pt_ratio_log((struct pt_ratio){ { 1, 0 }, { 0, keep } }, 1 + i % 63));
	}
}

int main(void)
{
	static char names[7][2] = { "a", "b", "c", "d", "e", "f", "g" };
	static char *words[7] = { names[0], names[1], names[2], names[3], names[4], names[5], names[6] };
	static struct qy_column axes[2] = { { .name = "x", .high = 10, .cells = 9 },
		{ .name = "y", .low = -1, .high = 1, .cells = 5 } };
	const struct qy_query histogram = { .kind = QY_HISTOGRAM, .category = words, .categories = 7 };
	const struct qy_query mean = { .kind = QY_MEAN, .low = 0, .high = 10 };
	const struct qy_query sets = { .kind = QY_SETS, .category = words, .categories = 7 };
	const struct qy_query places = { .kind = QY_PLACES, .column = axes, .columns = 2 };
	const struct qy_query vector = { .kind = QY_VECTOR, .low = -1, .high = 1, .dimension = 8 };
	const uint64_t whole = UINT64_C(1) << 32, keep = UINT64_C(0xb123456789abcdef);
	const struct pt_mixbins seven = { .bins = 7, .keep = keep };

	show(&histogram, &(struct pt_randomizer){ .row = &pt_device_grr, .mixbins = seven }, 6);
	show(&histogram,
		&(struct pt_randomizer){
			.row = &pt_device_mixbins, .mixbins = { .bins = 7, .keep = keep, .dummies = 3 } },
		6);
	show(&mean,
		&(struct pt_randomizer){ .row = &pt_device_levels, .mixbins = { .bins = 9, .keep = keep } },
		whole);
	show(&histogram, &(struct pt_randomizer){ .row = &pt_device_olh, .olh = { 7, keep, 4 } }, 6);
	show(&histogram, &(struct pt_randomizer){ .row = &pt_device_subset, .subset = { 7, keep, 3 } }, 6);
	show(&histogram, &(struct pt_randomizer){ .row = &pt_device_hadamard, .single = { 7, keep } }, 6);
	show(&histogram, &(struct pt_randomizer){ .row = &pt_device_rappor, .unary = { 7, keep, 0 - keep } },
		6);
	show(&histogram,
		&(struct pt_randomizer){ .row = &pt_device_oue, .unary = { 7, UINT64_C(1) << 63, keep / 4 } },
		6);
	show(&mean, &(struct pt_randomizer){ .row = &pt_device_piecewise, .number = { 33, keep, 12 } },
		whole);
	show(&mean, &(struct pt_randomizer){ .row = &pt_device_laplace, .number = { 33, keep / 8, 0 } },
		whole);
	show(&mean, &(struct pt_randomizer){ .row = &pt_device_staircase, .number = { 33, keep, 5 } }, whole);
	show(&vector, &(struct pt_randomizer){ .row = &pt_device_vrr, .vrr = { 8, 3, keep } }, 0);
	show(&sets,
		&(struct pt_randomizer){ .row = &pt_device_privset,
			.privset = { .mixbins = { .bins = 10, .keep = keep }, .size = 3 } },
		0);
	show(&places,
		&(struct pt_randomizer){
			.row = &pt_device_planar, .planar = { 9, 5, UINT64_C(0xffb0000000000000) } },
		44);
	show_guarantees();
	return 0;
}
