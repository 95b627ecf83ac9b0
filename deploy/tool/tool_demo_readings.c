/* tool_demo_readings.c (tool_demo_private.h) - generates readings for a plan that comes without readings,
 * the same ones every time. */
#include <stdio.h>

#include "tool_demo_private.h"

/* A number in [0, 1) for device i: evenly spread over the devices, in another order for each field. */
static double place(uint64_t i, uint32_t field)
{
	double x = (double)(i + 1) * (0.61803398874989485 + 0.1 * field);

	return x - (double)(uint64_t)x;
}

/* Choose one of k categories; category j has the weight k - j. */
static uint32_t category(uint32_t k, double at)
{
	double left = at * (double)k * ((double)k + 1) / 2;
	uint32_t j = 0;

	while (j + 1 < k && left >= k - j) {
		left -= k - j;
		j++;
	}
	return j;
}

/* Make a number in the lower part of the range, so that the mean is not the middle of the range. */
static json_t *number(const struct qy_query *q, double at)
{
	return json_real(q->low + (q->high - q->low) * (0.2 + at / 2));
}

/* Make a number of a column; two thirds of them are in the lower half of its range. */
static json_t *part(const struct qy_column *c, double at)
{
	return json_real(c->low + (c->high - c->low) * (at < 2.0 / 3 ? at * 0.75 : 1.5 * at - 0.5));
}

static json_t *array(const struct qy_query *q, uint64_t device)
{
	json_t *all = json_array();

	for (uint32_t c = 0; all && c < q->dimension; c++)
		if (json_array_append_new(all, number(q, place(device, c % 7))) != 0) {
			json_decref(all);
			return NULL;
		}
	return all;
}

/* Make a set: item j is in the set of one device in j + 2. */
static json_t *set(const struct qy_query *q, uint64_t device)
{
	json_t *all = json_array();

	for (uint32_t j = 0; all && j < q->categories; j++)
		if (place(device, j % 7) * (j + 2) < 1 &&
			json_array_append_new(all, json_string(q->category[j])) != 0) {
			json_decref(all);
			return NULL;
		}
	return all;
}

static json_t *value(const struct qy_query *q, uint32_t field, uint64_t device)
{
	double at = place(device, field % 7);

	switch (q->kind) {
	case QY_HISTOGRAM:
		return json_string(q->category[category(q->categories, at)]);
	case QY_MARGINALS:
		return json_string(q->column[field].category[category(q->column[field].categories, at)]);
	case QY_VECTOR:
		return q->columns == 0 ? array(q, device) : number(q, at);
	case QY_SETS:
		return set(q, device);
	case QY_PLACES:
		return part(&q->column[field], at);
	case QY_MEAN:
	case QY_SUM:
	case QY_QUANTILES:
	case QY_RANGES:
		return number(q, at);
	case QY_PREFIXES:
		break;
	}
	return NULL;
}

/* Make a reading with all fields of all rounds; the first round that asks for a field decides its value. */
static json_t *reading(const struct pl_plan *p, uint64_t device)
{
	char name[32];
	json_t *o;

	(void)snprintf(name, sizeof name, "d%llu", (unsigned long long)device);
	o = json_pack("{s:s}", "device", name);
	for (size_t i = 0; o && i < p->rounds; i++) {
		const struct qy_query *q = &p->round[i].query;

		for (uint32_t f = 0; o && f < qy_query_fields(q); f++) {
			const char *field = qy_query_field(q, f);

			if (!json_object_get(o, field) &&
				json_object_set_new(o, field, value(q, f, device)) != 0) {
				json_decref(o);
				o = NULL;
			}
		}
	}
	return o;
}

static enum cm_rc possible(const struct pl_plan *p, struct cm_err *err)
{
	for (size_t i = 0; i < p->rounds; i++)
		if (p->round[i].query.kind == QY_PREFIXES)
			return cm_fail(err, CM_EUSAGE,
				"round %u (%s) counts texts, for which no readings are generated: give "
				"--readings",
				p->round[i].number, p->round[i].query.name);
	return CM_OK;
}

enum cm_rc tool_demo_readings(const struct demo *d, struct cm_err *err)
{
	char path[DEMO_PATH];
	enum cm_rc rc = possible(&d->plan, err);
	bool good = true;
	FILE *f;

	if (rc == CM_OK)
		rc = tool_demo_path(d, "readings.ndjson", path, err);
	if (rc != CM_OK)
		return rc;
	f = fopen(path, "wx");
	if (!f)
		return cm_fail(err, CM_ECREATE, "%s cannot be made", path);
	for (uint64_t i = 0; good && i < d->devices; i++) {
		json_t *o = reading(&d->plan, i);

		good = o && json_dumpf(o, f, JSON_COMPACT) == 0 && fputc('\n', f) != EOF;
		json_decref(o);
	}
	if (fclose(f) != 0 || !good)
		return cm_fail(err, CM_EIO, "%s cannot be written", path);
	return CM_OK;
}
