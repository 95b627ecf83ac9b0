/* qy_computing.c - compares what devices compute. */
#include "qy_computing.h"

#include <string.h>

bool qy_computes(const struct qy_computing *c)
{
	return c->map[0] != '\0';
}

bool qy_computing_equal(const struct qy_computing *a, const struct qy_computing *b)
{
	if (strcmp(a->map, b->map) != 0 || a->parameters_len != b->parameters_len || a->fields != b->fields)
		return false;
	for (uint32_t i = 0; i < a->fields; i++)
		if (strcmp(a->field[i], b->field[i]) != 0)
			return false;
	return memcmp(a->parameters, b->parameters, a->parameters_len) == 0 &&
	       memcmp(a->program, b->program, sizeof a->program) == 0;
}
