/* pt_multi.h - the rows that send one wide message among wide dummies.
 *
 * A client sends its message and `dummies` blanket messages, and the shuffler may add more.  A message
 * supports an item with chance P if its sender holds the item, Q < P if not, and with a third chance if it
 * is a dummy. */
#pragma once

#include "pt_mixbins.h"

#define PT_MULTI_DEVICE .kinds = QY_HISTOGRAM, .none_symbol = QY_HISTOGRAM, .messages = pt_mixbins_messages

extern const struct pt_layout pt_multi_layout;

/* CM_EPROTO unless the query is a histogram, there is one bin per category, and there are dummies. */
CM_CHECK enum cm_rc pt_multi_check(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
/* The same for rows without a local guarantee, which send the true value: a dummy has `size` faces. */
CM_CHECK enum cm_rc pt_multi_check_true(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
CM_CHECK enum cm_rc pt_multi_size(
	const struct pt_device *row, uint32_t size, enum cm_rc code, struct cm_err *err);
/* the local guarantee of a row that sends the true value: INFINITY */
double pt_multi_no_guarantee(const struct pt_randomizer *p);
