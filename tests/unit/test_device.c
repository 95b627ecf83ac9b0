/* test_device.c - a device needs the device half of the table and nothing else: this program links no
 * estimator, no accountant and no plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "pt_device.h"

#define HALF    (UINT64_C(1) << 63)
#define QUARTER (UINT64_C(1) << 62)
#define KEEP    (HALF + QUARTER)
#define D       4u

static char red[] = "1", green[] = "2", blue[] = "3", *colours[] = { red, green, blue };
static struct qy_column columns[] = { { .name = "a", .category = colours, .categories = 2 },
	{ .name = "b", .category = colours, .categories = 3 } };
static uint32_t sets[] = { 1, 2 };

static const struct qy_query colour = { .kind = QY_HISTOGRAM, .category = colours, .categories = 3 };
static const struct qy_query number = { .kind = QY_MEAN, .high = 1 };
static const struct qy_query vector = { .kind = QY_VECTOR, .low = -1, .high = 1, .dimension = D };
static const struct qy_query ranges = { .kind = QY_RANGES, .high = 1, .leaves = 4, .fanout = 2 };
static const struct qy_query marginals = {
	.kind = QY_MARGINALS, .column = columns, .columns = 2, .marginal = sets, .marginals = 2
};
static const struct qy_query items = { .kind = QY_SETS, .category = colours, .categories = 3 };
static struct qy_column axes[] = { { .name = "a", .high = 1, .cells = 2 },
	{ .name = "b", .high = 1, .cells = 3 } };
static const struct qy_query places = { .kind = QY_PLACES, .column = axes, .columns = 2 };
static const struct qy_query prefixes = {
	.kind = QY_PREFIXES, .category = colours, .categories = 3, .bits = 4, .none = QY_NONE_SYMBOL
};

#define SLOT(n, g, k)                                                             \
	{                                                                         \
		.count = (n), .groups = (g), .each = {.bins = (k), .keep = KEEP } \
	}
#define CLASSES                                                                  \
	.shuffler = { .tags = 2, .tag_least = { 1, 1 } }, .slots = { .kinds = 2, \
		.slot = {                                                        \
			{ .count = 1, .groups = 1, .each = { .bins = 3, .keep = HALF } }, SLOT(1, 1, 3) } }

static const struct {
	const char *row;
	const struct qy_query *q;
	struct pt_randomizer p;
} rounds[] = {
	{ "grr", &colour, { .mixbins = { .bins = 3, .keep = KEEP } } },
	{ "levels", &number, { .mixbins = { .bins = 3, .keep = KEEP } } },
	{ "bins", &colour, { .mixbins = { .bins = 3, .dummies = 2, .keep_always = true } } },
	{ "mixbins", &colour,
		{ .mixbins = { .bins = 3, .dummies = 1, .dummy_chance = HALF, .keep = KEEP } } },
	{ "rappor", &colour, { .unary = { .bins = 3, .keep = KEEP, .other = QUARTER } } },
	{ "oue", &colour, { .unary = { .bins = 3, .keep = HALF, .other = QUARTER } } },
	{ "subset", &colour, { .subset = { .bins = 3, .keep = KEEP, .size = 1 } } },
	{ "olh", &colour, { .olh = { .bins = 3, .keep = KEEP, .size = 2 } } },
	{ "hadamard", &colour, { .single = { .bins = 3, .keep = KEEP } } },
	{ "hashed", &colour, { .multi = { .bins = 3, .dummies = 2, .size = 4 } } },
	{ "cheu", &colour, { .cheu = { .bins = 3, .dummies = 1, .keep = KEEP, .other = QUARTER } } },
	{ "balcer-cheu", &colour, { .multi = { .bins = 3, .dummies = 1, .size = 4 } } },
	{ "duchi", &number, { .mixbins = { .bins = 2, .keep = KEEP } } },
	{ "laplace-levels", &number, { .number = { .bins = 3, .keep = HALF } } },
	{ "staircase", &number, { .number = { .bins = 3, .keep = HALF, .size = 1 } } },
	{ "piecewise", &number, { .number = { .bins = 3, .keep = KEEP, .size = 1 } } },
	{ "digits", &number, { .slots = { .kinds = 2, .slot = { SLOT(1, 1, 2), SLOT(1, 1, 2) } } } },
	{ "ranges", &ranges, { .slots = { .kinds = 2, .slot = { SLOT(1, 1, 2), SLOT(1, 1, 4) } } } },
	{ "marginals", &marginals, { .slots = { .kinds = 2, .slot = { SLOT(1, 1, 2), SLOT(1, 1, 3) } } } },
	{ "hierarchy", &ranges, { .slots = { .kinds = 2, .slot = { SLOT(1, 1, 2), SLOT(1, 1, 4) } } } },
	{ "parallel", &marginals, { .slots = { .kinds = 2, .slot = { SLOT(1, 1, 2), SLOT(1, 1, 3) } } } },
	{ "prefixes", &prefixes, { .mixbins = { .bins = 4, .keep = KEEP } } },
	{ "privset", &items, { .privset = { .mixbins = { .bins = 5, .keep = KEEP }, .size = 2 } } },
	{ "planar", &places,
		{ .planar = { .width = 2, .height = 3, .decay = UINT64_MAX - (UINT64_MAX >> 10) } } },
	{ "words", &vector, { .slots = { .kinds = 1, .slot = { SLOT(2, 2, 2) } } } },
	{ "harmony", &vector, { .slots = { .kinds = 1, .slot = { SLOT(1, D, 2) } } } },
	{ "vrr", &vector, { .vrr = { .dimension = D, .size = 1, .keep = KEEP } } },
	{ "rotated", &vector,
		{ .rotated = { .slots = { .kinds = 1, .slot = { SLOT(2, 4, 2) } }, .scale = 1u << 30 } } },
	{ "ss-simple", &vector, { .slots = { .kinds = 1, .slot = { SLOT(D, 1, 2) } } } },
	{ "ss-double", &vector,
		{ .shuffler = { .tags = D, .tag_messages = 5 },
			.slots = { .kinds = 1, .slot = { SLOT(2, 2, 2) } } } },
	{ "ss-topk", &vector,
		{ .shuffler = { .tags = D, .tag_messages = 5 },
			.topk = { .slots = { .kinds = 1, .slot = { SLOT(1, D, 2) } }, .size = 1 } } },
	{ "gspa-classes", &colour, { CLASSES } },
	{ "gspa-pooled", &colour, { CLASSES } },
};
#define ROUNDS (sizeof rounds / sizeof *rounds)

/* Do what a device does in a round: read the parameters, check them, make the messages, and show them. */
static void take_part(const struct qy_query *q, const struct pt_randomizer *p, const struct cr_rng *rng)
{
	static uint32_t at[D] = { 0, 1u << 30, 0, 1u << 31 };
	struct qy_value value = { .x = 1,
		.at = q->kind == QY_MARGINALS ? (uint32_t[]){ 1, 2 }
		      : q->kind == QY_SETS    ? (uint32_t[]){ 1, 0, 1 }
					      : at };
	uint32_t messages = p->row->messages(p), len = p->row->record_len(p);
	uint8_t *records = calloc(messages, len), *dummy = calloc(1, len);
	uint16_t *tags = calloc(messages, sizeof *tags);
	char text[100];

	assert_true(records && dummy && tags && messages <= 5);
	encode_in_room(p->row, q, p, &value, rng, records);
	for (uint32_t m = 0; m < messages; m++)
		assert_int_equal(records[(size_t)m * len], 1);
	if (p->row->route)
		p->row->route(p, &value, records, tags);
	for (uint32_t m = 0; m < messages; m++)
		assert_true(tags[m] < p->shuffler.tags || p->shuffler.tags == 0);
	if (p->row->describe) {
		p->row->describe(q, p, records, text, sizeof text);
		assert_true(text[0] == '+' || text[0] == '-');
	}
	if (p->row->dummy) {
		p->row->dummy(p, 0, rng, dummy);
		assert_memory_equal(dummy, records, 2);
	}
	free(records);
	free(dummy);
	free(tags);
}

static void every_row_is_whole_without_its_analysis(void **state)
{
	struct cr_rng rng;
	struct cm_err err;
	size_t rows = 0;

	(void)state;
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	for (; pt_device_at(rows); rows++) {
		size_t i = 0;

		while (i < ROUNDS && strcmp(rounds[i].row, pt_device_at(rows)->name) != 0)
			i++;
		if (i == ROUNDS)
			fail_msg("the row %s is not in rounds[]", pt_device_at(rows)->name);
	}
	assert_int_equal(rows, ROUNDS);
	for (size_t i = 0; i < ROUNDS; i++) {
		struct pt_randomizer p = rounds[i].p, back = { .shuffler = p.shuffler };
		uint8_t bytes[PT_PARAMETERS_MAX];

		p.row = back.row = pt_device_find(rounds[i].row);
		assert_non_null(p.row);
		if (pt_parameters_read(bytes, pt_parameters_write(&p, bytes), &back, &err) != CM_OK ||
			p.row->check(rounds[i].q, &back, &err) != CM_OK)
			fail_msg("%s", err.msg);
		assert_true(pt_randomizer_equal(&p, &back));
		take_part(rounds[i].q, &back, &rng);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_row_is_whole_without_its_analysis) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
