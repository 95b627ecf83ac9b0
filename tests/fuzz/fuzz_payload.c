/* fuzz_payload.c - a payload from a dishonest analyzer, of the map that the first byte names: no crash, and
 * what is accepted has a value of the domain for every valid reading, none longer than the clip, and the same
 * again. */
#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "co_compute.h"
#include "computed.h"

#define FEATURES 2u
#define CLASSES  3u
#define ROOM     64u

static const uint32_t tree[] = { 4, 3, 3, CLASSES }, bins[] = { 3, 3, CLASSES };

static void set_up(uint8_t which, struct qy_computing *c, struct qy_query *q)
{
	static const uint32_t made[] = { 9, 6 + 9, 9, 0, 0, 2 * 3 + 3 * 3, 9 };
	const struct co_map *map = co_map_at(which);
	bool vector = map->kind == QY_VECTOR;
	bool label = (map->keys & (CO_KEY_LABEL | CO_KEY_LABELED)) != 0;

	*c = computed_by(map->name, FEATURES, label ? CLASSES : 0, CO_PART_ALL, vector ? 0.5 : 0);
	*q = vector ? computed_vector(made[which], 1)
		    : computed_columns(which == 3 ? tree : bins, which == 3 ? 4 : 3);
}

/* A length of at most 0.5, where 2^30 stands for 1. */
static void check_value(const struct qy_query *q, const uint32_t *at)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < qy_value_width(q); i++) {
		int64_t v = (int64_t)at[i] - (INT64_C(1) << 30);

		if (q->kind == QY_MARGINALS && at[i] >= q->column[i].categories)
			abort();
		if (q->kind == QY_VECTOR && (v > INT64_C(1) << 30 || v < -(INT64_C(1) << 30)))
			abort();
		sum += q->kind == QY_VECTOR ? (uint64_t)(v * v) : 0;
	}
	if (sum > UINT64_C(1) << 58)
		abort();
}

static void compute(struct co_maker *m, const struct qy_query *q, uint32_t classes)
{
	static const float ends[] = { 0, 1, -1.5F, 1e-45F, FLT_MAX, -FLT_MAX };
	enum { N = sizeof ends / sizeof ends[0] };

	for (unsigned i = 0; i < N * N; i++) {
		const float x[FEATURES] = { ends[i / N], ends[i % N] };
		uint32_t label = classes > 0 ? i % classes : 0, at[ROOM], again[ROOM];

		if (!co_value(m, x, label, at) || !co_value(m, x, label, again) ||
			memcmp(at, again, qy_value_width(q) * sizeof *at) != 0 || co_value(m, x, CLASSES, at))
			abort();
		check_value(q, at);
	}
}

/* Whatever floats these bytes are. */
static void answer(struct co_maker *m, const struct qy_query *q, const uint8_t *data, size_t size)
{
	float numbers[ROOM] = { 0 };
	uint32_t at[ROOM];

	memcpy(numbers, data, size < sizeof numbers ? size : sizeof numbers);
	if (co_value_answer(m, numbers, at))
		check_value(q, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qy_computing c;
	struct qy_query q;
	struct cm_err err = { 0 };
	struct co_maker *m = NULL;
	enum cm_rc rc;

	if (size < 1 || !co_map_at(data[0]))
		return 0;
	set_up(data[0], &c, &q);
	if (co_check(&c, &q, &err) != CM_OK)
		abort();
	rc = co_maker_new(&c, &q, data + 1, size - 1, &m, &err);
	if (rc != co_payload_check(&c, &q, data + 1, size - 1, &err))
		abort();
	if (rc == CM_OK && strcmp(c.map, QY_MAP_PROGRAM) == 0)
		answer(m, &q, data + 1, size - 1);
	else if (rc == CM_OK)
		compute(m, &q, co_maker_parameters(m)->label ? CLASSES : 0);
	co_maker_free(m);
	qy_query_fini(&q);
	return 0;
}
