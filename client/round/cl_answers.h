/* cl_answers.h - puts what programs answer in place of a batch's readings.  Blocking, and by the clock.
 *
 * When the values are there does not depend on readings, nor on anything that programs do: computing begins
 * at one of the moments at which sending could begin (cl_round.h), and takes a time that follows from the
 * number of devices, the round's `seconds` and the configuration (cl_slots.h). */
#pragma once

#include "cl_prepare.h"
#include "cl_programs.h"

struct cl_answers {
	struct cl_programs *programs; /* NULL: none */
	const struct cl_setup *setup;
	int64_t from_ms;         /* wall time just before the readings were read */
	const atomic_bool *stop; /* NULL: never */
	bool shown;              /* only to be shown: the round may be over */
};
/* In a round whose map is "program": from readings to answers, and p->computed_ms.  In any other: nothing.
 * CM_OK; on a fault every device of p is NONE, at the same time: CM_EUNAVAIL: the spawner has ended;
 * CM_ELATER: the round does not last long enough; CM_EINTERNAL. */
CM_CHECK enum cm_rc cl_answers_take(const struct cl_answers *a, struct cl_prepared *p, struct cm_err *err);
