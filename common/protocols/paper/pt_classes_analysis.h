/* pt_classes_analysis.h - classes of a plan: pt_classes.h. */
#pragma once

#include "pt_classes.h"
#include "pt_slots_analysis.h"

/* One class of each of the request's guarantees, in rising order.  CM_ECONFIG names what is out of range. */
CM_CHECK enum cm_rc pt_classes_request(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
