/* pt_category.h - what the rows share whose value is a category or a cell, with one bin for each. */
#pragma once

#include "pt_mixbins.h"

/* Initialisers for the members of struct pt_device that every such row of pt_mixbins.h has in common. */
#define PT_CATEGORY_DEVICE                                                                            \
	.kinds = QY_HISTOGRAM | QY_PLACES, .none_symbol = QY_HISTOGRAM, .encode = pt_category_encode, \
	PT_MIXBINS_DEVICE

/* Check that q is a histogram or asks for places.  If not, returns `code`. */
CM_CHECK enum cm_rc pt_category_kind(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err);

/* CM_EPROTO unless q is a histogram, and the parameters of p, whose first is `bins`, have qy_query_bins. */
CM_CHECK enum cm_rc pt_histogram_check(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
/* Fail with CM_EPROTO and the sentence that the bins are not the query's. */
CM_CHECK enum cm_rc pt_histogram_bins_fault(
	const struct pt_device *row, const struct qy_query *q, uint32_t bins, struct cm_err *err);

void pt_category_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room);
/* The check() of rows of pt_mixbins.h: see pt_device.check. */
CM_CHECK enum cm_rc pt_category_check(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
