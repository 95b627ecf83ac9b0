/* pt_rows.h - the rows of the table, a line each.
 *
 * Row x is pt_device_x, in pt_x.c, and pt_row_x, in pt_x_analysis.c, of rows/, compat/ or paper/ ("mixbins"
 * is in pt_mixbins_row.c).  x is a C identifier, and the row's name may differ (laplace: "laplace-levels").
 * The first row that answers a kind is its default. */
#pragma once

#include "pt_device.h"

struct pt_protocol;

#define PT_ROWS(row)                                                                                         \
	row(grr) row(levels) row(bins) row(mixbins) row(rappor) row(oue) row(subset) row(olh) row(hadamard)  \
		row(hashed) row(cheu) row(balcer_cheu) row(duchi) row(laplace) row(staircase) row(piecewise) \
			row(digits) row(ranges) row(marginals) row(prefixes) row(words) row(harmony)         \
				row(vrr) row(rotated) row(ss_simple) row(ss_double) row(ss_topk)             \
					row(gspa_classes) row(gspa_pooled) row(hierarchy) row(parallel)      \
						row(privset) row(planar)

#define PT_DECLARE(x)                                \
	extern const struct pt_device pt_device_##x; \
	extern const struct pt_protocol pt_row_##x;
PT_ROWS(PT_DECLARE)
#undef PT_DECLARE
