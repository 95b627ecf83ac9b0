/* cl_answers.h - replaces the readings of a batch by what programs answer.  The call blocks and reads the
 * clock.
 *
 * The moment at which the values are there depends neither on readings nor on what programs do: computing
 * begins at one of the moments at which sending could begin (cl_drive.h), and takes a time that follows
 * from the number of devices, the round's `seconds` and the configuration (cl_slots.h). */
#pragma once

#include "cl_prepare.h"
#include "cl_programs.h"

struct cl_answers {
	struct cl_programs *programs; /* NULL if the client runs no programs */
	const struct cl_setup *setup;
	int64_t from_ms;         /* wall time just before the readings were read */
	const atomic_bool *stop; /* set to true to end the computing; NULL if nothing ends it early */
	bool shown;              /* the answers are only shown to the owner, so the round may be over */
};
/* If the map of the round is "program", replace the readings by answers and set p->computed_ms; otherwise
 * do nothing.  On a fault the devices that have no answer become NONE.  CM_EUNAVAIL: the spawner has ended,
 * and the call took as long as it would have otherwise; CM_ELATER: the round does not last long enough;
 * CM_EINTERNAL. */
CM_CHECK enum cm_rc cl_answers_take(const struct cl_answers *a, struct cl_prepared *p, struct cm_err *err);
