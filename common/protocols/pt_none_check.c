/* pt_none_check.c - which rows have room for devices without a valid reading. */
#include "pt_device.h"

enum cm_rc pt_none_check(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->none != QY_NONE_SYMBOL || (row->none_symbol & (unsigned)q->kind) != 0)
		return CM_OK;
	return cm_fail(err, code,
		"protocol '%s' has no symbol for devices without a reading: none must be \"even\"%s",
		row->name, q->low < q->high ? " or a number" : "");
}
