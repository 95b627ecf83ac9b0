/* pt_device.c - finds the device halves of rows by name and by number. */
#include "pt_device.h"

#include <string.h>

#include "pt_rows.h"

#define DEVICE(x) &pt_device_##x,
static const struct pt_device *const table[] = { PT_ROWS(DEVICE) };

const struct pt_device *pt_device_at(size_t i)
{
	return i < sizeof table / sizeof table[0] ? table[i] : NULL;
}

const struct pt_device *pt_device_find(const char *name)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
	}
	return NULL;
}

enum cm_rc pt_none_check(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->none != QY_NONE_SYMBOL || (row->none_symbol & (unsigned)q->kind) != 0)
		return CM_OK;
	return cm_fail(err, code,
		"protocol '%s' has no symbol for devices without a reading: none must be \"even\"%s",
		row->name, q->low < q->high ? " or a number" : "");
}
