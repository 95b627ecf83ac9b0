/* pt_single.h - the rows that send one wide message and no dummies.
 *
 * A report supports each item with chance P if its sender holds it and Q < P if not. The local guarantee is
 * finite; the cells are the level cells of the output law (doc/protocols/compatibility.md, "One wide
 * message"). */
#pragma once

#include "pt_device.h"
#include "pt_ratio.h"

#define PT_SINGLE_DEVICE .kinds = QY_HISTOGRAM, .none_symbol = QY_HISTOGRAM, .messages = pt_single_messages

uint32_t pt_single_messages(const struct pt_randomizer *p); /* returns 1 */

/* CM_EPROTO unless the query is a histogram, there is one bin per category, and keep is a possible
 * chance. */
CM_CHECK enum cm_rc pt_single_check(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
/* Check that a local guarantee is within PT_EPSILON0_MIN..MAX, whether a plan or a peer states the
 * parameters.  If not, returns `code`. */
CM_CHECK enum cm_rc pt_single_guarantee(
	const struct pt_randomizer *p, struct pt_ratio ratio, enum cm_rc code, struct cm_err *err);
