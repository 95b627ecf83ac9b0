/* pt_protocol.c - the table of protocols, and the functions that call a row. */
#include "pt_protocol.h"

#include <assert.h>
#include <string.h>

#include "pt_rows.h"

#define ROW(x) &pt_row_##x,
static const struct pt_protocol *const table[] = { PT_ROWS(ROW) };

const struct pt_protocol *pt_row(size_t i)
{
	return i < sizeof table / sizeof table[0] ? table[i] : NULL;
}

const struct pt_protocol *pt_find(const char *name)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (strcmp(table[i]->device->name, name) == 0)
			return table[i];
	}
	return NULL;
}

const struct pt_protocol *pt_protocol_of(const struct pt_device *device)
{
	const struct pt_protocol *row = NULL;

	for (size_t i = 0; !row && i < sizeof table / sizeof table[0]; i++)
		row = table[i]->device == device ? table[i] : NULL;
	assert(row != NULL);
	return row;
}

enum cm_rc pt_derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	return row->derive(row, q, r, out, err);
}

uint32_t pt_tallies(const struct pt_randomizer *p)
{
	return pt_protocol_of(p->row)->tallies(p);
}

enum cm_rc pt_answer(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint64_t reports, struct es_estimate *out, struct cm_err *err)
{
	const struct pt_protocol *row = pt_protocol_of(p->row);

	return row->estimate(row, q, p, counts, reports, out, err);
}

double pt_expected_error(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants)
{
	const struct pt_protocol *row = pt_protocol_of(p->row);

	return row->expected_error(row, q, p, participants);
}

/* Does the row have the symbol for this question?  If row is NULL: does one of the rows that "auto" chooses
 * from? */
static bool has_symbol(const struct pt_protocol *row, const struct qy_query *q)
{
	if (row)
		return (row->device->none_symbol & (unsigned)q->kind) != 0;
	for (size_t i = 0; (row = pt_row(i)); i++)
		if (row->automatic != 0 && (row->device->none_symbol & (unsigned)q->kind) != 0)
			return true;
	return false;
}

void pt_none_default(const struct pt_protocol *row, struct qy_query *q)
{
	q->none = has_symbol(row, q) ? QY_NONE_SYMBOL : q->low < q->high ? QY_NONE_VALUE : QY_NONE_EVEN;
	q->none_category = 0;
	/* Take halves first: the sum of two finite numbers may not be finite. */
	q->none_value = q->none == QY_NONE_VALUE ? q->low / 2 + q->high / 2 : 0;
}
