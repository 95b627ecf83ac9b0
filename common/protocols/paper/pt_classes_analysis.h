/* pt_classes_analysis.h - makes the classes of pt_classes.h from a plan's request. */
#pragma once

#include "pt_classes.h"
#include "pt_slots_analysis.h"

/* Make one class for each of the request's guarantees, in rising order.  CM_ECONFIG names what is out of
 * range. */
CM_CHECK enum cm_rc pt_classes_request(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
