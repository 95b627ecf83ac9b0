/* cm_crew.h - threads that work together on one task after another.
 *
 * A task is a function of a number, its piece.  Pieces are taken in rising order, by the next thread that
 * is free. */
#pragma once

#include <stddef.h>

#include "cm_rc.h"

#define CM_CREW_MAX 256u

/* Number of processors that this process may use, 1..CM_CREW_MAX. */
unsigned cm_crew_cores(void);

struct cm_crew;
/* Do one piece.  thread is 0 to threads - 1, and different for all calls that run at the same time. */
typedef enum cm_rc cm_crew_fn(void *ctx, unsigned thread, size_t piece, struct cm_err *err);

/* Start a crew of 1 to CM_CREW_MAX threads, counting the caller of cm_crew_run.  If a thread cannot be
 * started, the others do its share.  CM_EINTERNAL. */
CM_CHECK enum cm_rc cm_crew_new(unsigned threads, struct cm_crew **out, struct cm_err *err);
/* End the threads.  Accepts NULL. */
void cm_crew_free(struct cm_crew *c);
/* Do each of the pieces 0 to pieces - 1 once, and return when no thread is at one.  Every piece sees what
 * the caller wrote before the call; after the call, the caller sees what the pieces wrote.  After a failure
 * no other piece begins; of several failures one is returned.  One call at a time, from any thread, but not
 * from within a piece. */
CM_CHECK enum cm_rc cm_crew_run(
	struct cm_crew *c, cm_crew_fn *fn, void *ctx, size_t pieces, struct cm_err *err);
