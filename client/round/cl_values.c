/* cl_values.c - makes the value that each device of a round encodes. */
#include "cl_values.h"

#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "cr_secret.h"

struct cl_values {
	const struct rd_descriptor *d;
	struct co_maker *maker; /* NULL if nothing is computed, or if every device is NONE */
	bool computes, program;
	uint32_t features, width;
	float *x;            /* the features; with a program, its answer */
	uint32_t *at, *none; /* the current value; the value of a device without a reading */
};

uint32_t cl_values_width(const struct rd_descriptor *d)
{
	struct co_parameters p;
	struct cm_err unused;
	uint32_t width = qy_value_width(&d->query);

	if (!qy_computes(&d->computing) || co_parameters_read(&d->computing, &p, &unused) != CM_OK)
		return width;
	if (!(p.map->keys & CO_KEY_PROGRAM))
		return p.features + 1;
	return p.features + 1 > width ? p.features + 1 : width;
}

enum cm_rc cl_values_maker(const struct rd_descriptor *d, const struct cl_payload_bytes *payload,
	struct co_maker **out, struct cm_err *err)
{
	enum cm_rc rc;

	*out = NULL;
	if (payload->len != d->payload_size)
		return CM_OK;
	rc = co_maker_new(&d->computing, &d->query, payload->data, payload->len, out, err);
	return rc == CM_EINTERNAL ? rc : CM_OK;
}

bool cl_values_read(struct co_maker *m, const char *const *text, uint32_t *at)
{
	uint32_t features = co_maker_parameters(m)->features;

	/* The batch keeps a float's bits in one of its numbers, so both have the same size. */
	_Static_assert(sizeof(float) == sizeof *at, "one for one");
	return co_reading(m, text, (float *)(void *)at, &at[features]);
}

bool cl_values_numbers(struct co_maker *m, const float *x, size_t n, const char *label, uint32_t *at)
{
	const struct co_parameters *p = co_maker_parameters(m);

	if (n != p->features)
		return false;
	memcpy(at, x, n * sizeof *x);
	at[n] = 0;
	return !p->label || (label && co_label(m, label, &at[n]));
}

static enum cm_rc open_maker(struct cl_values *v, const struct cl_payload_bytes *payload, struct cm_err *err)
{
	enum cm_rc rc = cl_values_maker(v->d, payload, &v->maker, err);

	if (rc != CM_OK || !v->maker)
		return rc;
	v->program = strcmp(v->d->computing.map, QY_MAP_PROGRAM) == 0;
	v->features = co_maker_parameters(v->maker)->features;
	v->x = calloc(cl_values_width(v->d), sizeof *v->x);
	return v->x ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

enum cm_rc cl_values_new(const struct rd_descriptor *d, const struct cl_payload_bytes *payload,
	struct cl_values **out, struct cm_err *err)
{
	struct cl_values *v = calloc(1, sizeof *v);
	enum cm_rc rc = CM_OK;

	if (!v)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	v->d = d;
	v->computes = qy_computes(&d->computing);
	v->width = qy_value_width(&d->query);
	if (v->computes) {
		v->at = calloc((size_t)v->width + 1, sizeof *v->at);
		v->none = calloc((size_t)v->width + 1, sizeof *v->none);
		rc = v->at && v->none ? open_maker(v, payload, err)
				      : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (rc != CM_OK) {
		cl_values_free(v);
		return rc;
	}
	*out = v;
	return CM_OK;
}

void cl_values_free(struct cl_values *v)
{
	if (!v)
		return;
	if (v->x)
		cr_wipe(v->x, cl_values_width(v->d) * sizeof *v->x);
	if (v->at)
		cr_wipe(v->at, v->width * sizeof *v->at);
	co_maker_free(v->maker);
	free(v->x);
	free(v->at);
	free(v->none);
	free(v);
}

/* For a device without a reading the map is computed from zeroes and the result is discarded, so that the
 * time does not show who is NONE. */
static bool computed(struct cl_values *v, const uint32_t *reading)
{
	uint32_t label = 0;
	bool valid;

	if (!v->maker)
		return false;
	memset(v->x, 0, cl_values_width(v->d) * sizeof *v->x);
	if (reading && v->program)
		memcpy(v->x, reading, v->width * sizeof *v->x);
	else if (reading) {
		memcpy(v->x, reading, v->features * sizeof *v->x);
		label = reading[v->features];
	}
	valid = v->program ? co_value_answer(v->maker, v->x, v->at) : co_value(v->maker, v->x, label, v->at);
	return valid && reading;
}

struct qy_value cl_values_of(struct cl_values *v, const struct qy_value *entry, const struct cr_rng *rng)
{
	struct qy_value value = *entry;

	if (!v->computes)
		return value;
	qy_value_none(&v->d->query, rng, v->none, &value);
	if (computed(v, entry->at))
		value = (struct qy_value){ .at = v->at };
	value.level = entry->level;
	return value;
}
