/* co_map.c - the table of maps. */
#include "co_map.h"

#include <string.h>

static enum cm_rc program_fits(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err)
{
	(void)p;
	(void)q;
	(void)err;
	return CM_OK;
}

/* Its answers come from a program (co_value_answer). */
static const struct co_row co_program = {
	.map = { .name = QY_MAP_PROGRAM,
		.summary = "a program of the client's host",
		.kind = QY_VECTOR,
		.keys = CO_KEY_LABEL | CO_KEY_PROGRAM,
		.payload = CO_PAYLOAD_ANY },
	.fits = program_fits,
};

static const struct co_row *const rows[] = {
	&co_linear_gradient,
	&co_moments,
	&co_nearest_centroid,
	&co_tree_path,
	&co_statistics,
	&co_network_gradient,
	&co_program,
};

const struct co_row *co_row_find(const char *name)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(rows[i]->map.name, name) == 0)
			return rows[i];
	return NULL;
}

const struct co_map *co_map_find(const char *name)
{
	const struct co_row *row = co_row_find(name);

	return row ? &row->map : NULL;
}

const struct co_map *co_map_at(size_t i)
{
	return i < sizeof rows / sizeof rows[0] ? &rows[i]->map : NULL;
}
