/* pt_single.h - what the rows that send one wide message and no dummies have in common.
 *
 * A report supports each item with chance P if its sender holds it and Q < P if not.  The local guarantee is
 * finite; the cells are the level cells of the output law (doc/protocols/compatibility.md, "One wide
 * message"). */
#pragma once

#include "pt_device.h"

#define PT_SINGLE_DEVICE .kinds = QY_HISTOGRAM, .none_symbol = QY_HISTOGRAM, .messages = pt_single_messages

uint32_t pt_single_messages(const struct pt_randomizer *p); /* 1 */

/* CM_EPROTO unless a histogram's, one bin per category, and with a keep probability. */
CM_CHECK enum cm_rc pt_single_check(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
/* A plan's and a peer's parameters alike: is epsilon0 within PT_EPSILON0_MIN..MAX?  `code` otherwise. */
CM_CHECK enum cm_rc pt_single_guarantee(
	const struct pt_randomizer *p, long double ratio, enum cm_rc code, struct cm_err *err);
