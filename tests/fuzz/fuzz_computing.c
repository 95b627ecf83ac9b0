/* fuzz_computing.c - parameters of a map from a dishonest analyzer, and texts of readings: no crash; what is
 * accepted has the features and classes that it says, and a reading that is accepted is in the domain. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "co_compute.h"
#include "computed.h"

#define LONGEST 4096u

/* A reading with as many features as the text may have numbers. */
static void read_text(struct qy_computing *c, const char *text, const char *label)
{
	struct co_parameters p;
	struct cm_err err = { 0 };
	const char *const texts[2] = { text, label };
	struct co_maker *m = NULL;
	struct qy_query q;
	float *x;
	uint32_t y;

	if (co_parameters_read(c, &p, &err) != CM_OK || p.features > LONGEST || !p.array ||
		strcmp(c->map, "nearest-centroid") == 0 || p.map->kind != QY_VECTOR)
		return;
	q = computed_vector(p.features, CO_BOUND_MAX);
	if (strcmp(c->map, QY_MAP_PROGRAM) != 0 && p.part != CO_PART_MEAN)
		return;
	if (co_maker_new(c, &q, NULL, 0, &m, &err) != CM_OK)
		return; /* a vector has more than one coordinate */
	x = malloc(p.features * sizeof *x);
	if (x && co_reading(m, texts, x, &y)) {
		for (uint32_t i = 0; i < p.features; i++)
			if (!(isfinite(x[i])))
				abort();
		if (p.label ? y >= p.classes : y != 0)
			abort();
	}
	free(x);
	co_maker_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const fields[] = { "x", "y" };
	struct qy_computing c = { .fields = 0 };
	char text[LONGEST + 1], label[65];
	size_t n;

	if (size < 3 || !co_map_at(data[0]))
		return 0;
	(void)strcpy(c.map, co_map_at(data[0])->name);
	c.fields = data[1] % 3u;
	for (uint32_t i = 0; i < c.fields; i++)
		(void)strcpy(c.field[i], fields[i]);
	n = data[2] < size - 3 ? data[2] : size - 3;
	memcpy(c.parameters, data + 3, n);
	c.parameters_len = (uint32_t)n;
	data += 3 + n;
	size -= 3 + n;
	n = size < 64 ? size : 64;
	memcpy(label, data, n);
	label[n] = '\0';
	n = strlen(label) + 1 < size ? strlen(label) + 1 : size;
	data += n;
	size -= n;
	size = size < LONGEST ? size : LONGEST;
	memcpy(text, data, size);
	text[size] = '\0';
	read_text(&c, text, label);
	return 0;
}
