/* test_equal.c - the same query, the same randomizer: any field that differs tells. */
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

static void a_query_is_its_fields(void **state)
{
	struct pt_query m = query_of_kind(PT_MARGINALS), h = query_of_kind(PT_HISTOGRAM);
	struct pt_query r = query_of_kind(PT_RANGES), q = query_of_kind(PT_QUANTILES);
	struct pt_query p = query_of_kind(PT_PREFIXES), v = query_of_kind(PT_VECTOR);
	double half[] = { 0.5 }, third[] = { 0.3 };
	uint32_t sets[] = { 3, 5 };
	char stranger[] = "stranger", *words[5] = { 0 };
	struct pt_column columns[QUERIES_COLUMNS];

	(void)state;
	for (unsigned kind = 1; kind <= PT_PREFIXES; kind <<= 1) {
		struct pt_query one = query_of_kind((enum pt_kind)kind);

		for (unsigned other = 1; other <= PT_PREFIXES; other <<= 1) {
			struct pt_query two = query_of_kind((enum pt_kind)other);

			assert_int_equal(pt_query_equal(&one, &two), kind == other);
		}
	}
	DIFFERS(struct pt_query, h, pt_query_equal, other.name[0] = 'x');
	DIFFERS(struct pt_query, h, pt_query_equal, other.field[0] = 'x');
	DIFFERS(struct pt_query, h, pt_query_equal, other.categories--);
	memcpy(words, h.category, sizeof words);
	words[4] = stranger;
	DIFFERS(struct pt_query, h, pt_query_equal, other.category = words);
	DIFFERS(struct pt_query, r, pt_query_equal, other.low--);
	DIFFERS(struct pt_query, r, pt_query_equal, other.high++);
	DIFFERS(struct pt_query, r, pt_query_equal, other.leaves++);
	DIFFERS(struct pt_query, r, pt_query_equal, other.fanout++);
	DIFFERS(struct pt_query, p, pt_query_equal, other.bits = 8);
	DIFFERS(struct pt_query, v, pt_query_equal, other.dimension++);
	DIFFERS(struct pt_query, q, pt_query_equal, (other.probability = half, other.probabilities = 1));
	q.probability = third;
	q.probabilities = 1;
	DIFFERS(struct pt_query, q, pt_query_equal, other.probability = half);
	DIFFERS(struct pt_query, m, pt_query_equal, other.columns--);
	DIFFERS(struct pt_query, m, pt_query_equal, other.marginals--);
	DIFFERS(struct pt_query, m, pt_query_equal, other.marginal = sets);
	for (uint32_t i = 0; i < QUERIES_COLUMNS; i++) {
		memcpy(columns, m.column, sizeof columns);
		columns[i].name[0] = 'x';
		DIFFERS(struct pt_query, m, pt_query_equal, other.column = columns);
		memcpy(columns, m.column, sizeof columns);
		columns[i].categories--;
		DIFFERS(struct pt_query, m, pt_query_equal, other.column = columns);
		memcpy(columns, m.column, sizeof columns);
		columns[i].category = words + 2;
		DIFFERS(struct pt_query, m, pt_query_equal, other.column = columns);
	}
}

static void a_randomizer_is_its_fields(void **state)
{
	struct pt_params p = { .protocol = "grr", .bins = 3, .slots = 2 };

	(void)state;
	assert_true(pt_params_equal(&p, &(struct pt_params){ .protocol = "grr", .bins = 3, .slots = 2 }));
	DIFFERS(struct pt_params, p, pt_params_equal, other.protocol[0] = 'x');
	DIFFERS(struct pt_params, p, pt_params_equal, other.bins++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.dummies++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.dummy_chance++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.keep_always = true);
	DIFFERS(struct pt_params, p, pt_params_equal, other.keep++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.size++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.other++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.shuffler_dummies++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.slots = 1);
	DIFFERS(struct pt_params, p, pt_params_equal, other.tags++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.tag_messages++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.noise_decay++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.noise_mean++);
	DIFFERS(struct pt_params, p, pt_params_equal, other.tag_least[PT_SLOTS_MAX - 1]++);
	for (uint32_t i = 0; i < p.slots; i++) {
		DIFFERS(struct pt_params, p, pt_params_equal, other.slot[i].count++);
		DIFFERS(struct pt_params, p, pt_params_equal, other.slot[i].groups++);
		DIFFERS(struct pt_params, p, pt_params_equal, other.slot[i].bins++);
		DIFFERS(struct pt_params, p, pt_params_equal, other.slot[i].dummies++);
		DIFFERS(struct pt_params, p, pt_params_equal, other.slot[i].dummy_chance++);
		DIFFERS(struct pt_params, p, pt_params_equal, other.slot[i].keep_always = true);
		DIFFERS(struct pt_params, p, pt_params_equal, other.slot[i].keep++);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_is_its_fields),
		cmocka_unit_test(a_randomizer_is_its_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
