/* test_equal.c - two queries or randomizers are equal only if every field is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "queries.h"

#define DIFFERS(type, from, equal, change)            \
	do {                                          \
		type other = (from);                  \
		change;                               \
		assert_false(equal(&(from), &other)); \
	} while (0)

static void places_are_their_axes(void **state)
{
	struct qy_query g = query_of_kind(QY_PLACES);
	struct qy_column columns[QY_PLACE_AXES];

	(void)state;
	for (uint32_t i = 0; i < QY_PLACE_AXES; i++) {
		memcpy(columns, g.column, QY_PLACE_AXES * sizeof columns[0]);
		columns[i].low -= 1;
		DIFFERS(struct qy_query, g, qy_query_equal, other.column = columns);
		columns[i] = g.column[i];
		columns[i].high += 1;
		DIFFERS(struct qy_query, g, qy_query_equal, other.column = columns);
		columns[i] = g.column[i];
		columns[i].cells++;
		DIFFERS(struct qy_query, g, qy_query_equal, other.column = columns);
	}
}

static void a_query_is_its_fields(void **state)
{
	struct qy_query m = query_of_kind(QY_MARGINALS), h = query_of_kind(QY_HISTOGRAM);
	struct qy_query r = query_of_kind(QY_RANGES), q = query_of_kind(QY_QUANTILES);
	struct qy_query p = query_of_kind(QY_PREFIXES), v = query_of_kind(QY_VECTOR);
	double half[] = { 0.5 }, third[] = { 0.3 };
	uint32_t sets[] = { 3, 5 };
	char stranger[] = "stranger", *words[5] = { 0 };
	struct qy_column columns[QUERIES_COLUMNS];

	(void)state;
	for (unsigned kind = 1; kind <= QY_PLACES; kind <<= 1) {
		struct qy_query one = query_of_kind((enum qy_kind)kind);

		for (unsigned other = 1; other <= QY_PLACES; other <<= 1) {
			struct qy_query two = query_of_kind((enum qy_kind)other);

			assert_int_equal(qy_query_equal(&one, &two), kind == other);
		}
	}
	DIFFERS(struct qy_query, h, qy_query_equal, other.name[0] = 'x');
	DIFFERS(struct qy_query, h, qy_query_equal, other.field[0] = 'x');
	DIFFERS(struct qy_query, h, qy_query_equal, other.categories--);
	memcpy(words, h.category, sizeof words);
	words[4] = stranger;
	DIFFERS(struct qy_query, h, qy_query_equal, other.category = words);
	DIFFERS(struct qy_query, r, qy_query_equal, other.low--);
	DIFFERS(struct qy_query, r, qy_query_equal, other.high++);
	DIFFERS(struct qy_query, r, qy_query_equal, other.leaves++);
	DIFFERS(struct qy_query, r, qy_query_equal, other.fanout++);
	DIFFERS(struct qy_query, p, qy_query_equal, other.bits = 8);
	DIFFERS(struct qy_query, v, qy_query_equal, other.dimension++);
	DIFFERS(struct qy_query, q, qy_query_equal, (other.probability = half, other.probabilities = 1));
	q.probability = third;
	q.probabilities = 1;
	DIFFERS(struct qy_query, q, qy_query_equal, other.probability = half);
	DIFFERS(struct qy_query, m, qy_query_equal, other.columns--);
	DIFFERS(struct qy_query, m, qy_query_equal, other.marginals--);
	DIFFERS(struct qy_query, m, qy_query_equal, other.marginal = sets);
	for (uint32_t i = 0; i < QUERIES_COLUMNS; i++) {
		memcpy(columns, m.column, sizeof columns);
		columns[i].name[0] = 'x';
		DIFFERS(struct qy_query, m, qy_query_equal, other.column = columns);
		memcpy(columns, m.column, sizeof columns);
		columns[i].categories--;
		DIFFERS(struct qy_query, m, qy_query_equal, other.column = columns);
		memcpy(columns, m.column, sizeof columns);
		columns[i].category = words + 2;
		DIFFERS(struct qy_query, m, qy_query_equal, other.column = columns);
	}
}

static void a_randomizer_is_its_fields(void **state)
{
	struct pt_randomizer p = { .row = pt_device_find("bins"), .mixbins = { .bins = 3, .dummies = 1 } };
	struct pt_randomizer of_slots = { .row = pt_device_find("digits"), .slots = { .kinds = 2 } },
			     same = p;

	(void)state;
	assert_true(pt_randomizer_equal(&p, &same) && pt_randomizer_alike(&p, &same));
	same.row = pt_device_find("mixbins");
	assert_true(!pt_randomizer_equal(&p, &same) && pt_randomizer_alike(&p, &same));
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.mixbins.bins++);
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.mixbins.dummies++);
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.mixbins.dummy_chance++);
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.mixbins.keep_always = true);
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.mixbins.keep++);
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.shuffler.dummies++);
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.shuffler.tags++);
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.shuffler.tag_messages++);
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.shuffler.noise_decay++);
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.shuffler.noise_mean++);
	DIFFERS(struct pt_randomizer, p, pt_randomizer_alike, other.shuffler.tag_least[PT_SLOTS_MAX - 1]++);
	for (uint32_t i = 0; i < of_slots.slots.kinds; i++) {
		DIFFERS(struct pt_randomizer, of_slots, pt_randomizer_equal, other.slots.slot[i].count++);
		DIFFERS(struct pt_randomizer, of_slots, pt_randomizer_equal, other.slots.slot[i].groups++);
		DIFFERS(struct pt_randomizer, of_slots, pt_randomizer_equal, other.slots.slot[i].each.bins++);
		DIFFERS(struct pt_randomizer, of_slots, pt_randomizer_equal,
			other.slots.slot[i].each.dummies++);
		DIFFERS(struct pt_randomizer, of_slots, pt_randomizer_equal,
			other.slots.slot[i].each.dummy_chance++);
		DIFFERS(struct pt_randomizer, of_slots, pt_randomizer_equal,
			other.slots.slot[i].each.keep_always = true);
		DIFFERS(struct pt_randomizer, of_slots, pt_randomizer_equal, other.slots.slot[i].each.keep++);
	}
	/* The number of slots differs, whatever is in them. */
	of_slots.slots.slot[1].each.bins = 2;
	DIFFERS(struct pt_randomizer, of_slots, pt_randomizer_equal, other.slots.kinds = 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_their_axes),
		cmocka_unit_test(a_query_is_its_fields),
		cmocka_unit_test(a_randomizer_is_its_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
