/* pt_table.c - the table of protocols. */
#include <stdlib.h>
#include <string.h>

#include "pt_rows.h"

/* The first row that answers a kind is its default. */
static const struct pt_protocol *const table[] = {
	&pt_row_grr,
	&pt_row_levels,
	&pt_row_bins,
	&pt_row_mixbins,
	&pt_row_rappor,
	&pt_row_oue,
	&pt_row_subset,
	&pt_row_olh,
	&pt_row_hadamard,
	&pt_row_hashed,
	&pt_row_cheu,
	&pt_row_balcer_cheu,
	&pt_row_duchi,
	&pt_row_laplace,
	&pt_row_staircase,
	&pt_row_piecewise,
	&pt_row_digits,
	&pt_row_ranges,
	&pt_row_marginals,
	&pt_row_prefixes,
	&pt_row_words,
	&pt_row_harmony,
	&pt_row_vrr,
	&pt_row_rotated,
	&pt_row_ss_simple,
	&pt_row_ss_double,
	&pt_row_ss_topk,
	&pt_row_gspa_classes,
	&pt_row_gspa_pooled,
};

const struct pt_protocol *pt_row(size_t i)
{
	return i < sizeof table / sizeof table[0] ? table[i] : NULL;
}

const struct pt_protocol *pt_find(const char *name)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
	}
	return NULL;
}

void pt_estimate_fini(struct pt_estimate *e)
{
	free(e->item);
	free(e->names);
	*e = (struct pt_estimate){ 0 };
}
