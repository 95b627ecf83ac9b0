/* cm_crew.h - threads that do one piece of work after another together.
 *
 * Work is a function of a number, its piece.  Pieces are taken in rising order, by the next thread that is
 * free. */
#pragma once

#include <stddef.h>

#include "cm_rc.h"

#define CM_CREW_MAX 256u

/* Number of processors that this process may use, 1..CM_CREW_MAX. */
unsigned cm_crew_cores(void);

struct cm_crew;
/* thread: 0 to threads - 1; of those that run at one time each has another. */
typedef enum cm_rc cm_crew_fn(void *ctx, unsigned thread, size_t piece, struct cm_err *err);

/* threads: 1 to CM_CREW_MAX, the caller of cm_crew_run among them.  Threads that cannot be started leave
 * their share to the others.  CM_EINTERNAL. */
CM_CHECK enum cm_rc cm_crew_new(unsigned threads, struct cm_crew **out, struct cm_err *err);
/* Ends the threads.  Accepts NULL. */
void cm_crew_free(struct cm_crew *c);
/* Does each of the pieces 0 to pieces - 1 once, and returns when no thread is at one.  What the caller wrote
 * before is seen by all pieces, and what these wrote by the caller.  After a failure no other piece begins;
 * of several failures one is returned.  One call at a time, from any thread, not from a piece. */
CM_CHECK enum cm_rc cm_crew_run(
	struct cm_crew *c, cm_crew_fn *fn, void *ctx, size_t pieces, struct cm_err *err);
