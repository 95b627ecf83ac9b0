/* cl_summary.h - fills in the result of one round for this client, from its preparation and the ledger. */
#pragma once

#include "cl_context.h"

/* counts: the counts of the upload; NULL if nothing was sent.  refused: why this client took no part; NULL
 * if it did. */
void cl_summary_make(const struct cl_context *c, const struct cl_prepared *prepared,
	const struct cl_counts *counts, const struct cm_err *refused, struct cl_summary *out);
