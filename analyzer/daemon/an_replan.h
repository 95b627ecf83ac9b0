/* an_replan.h - decides whether a running analyzer takes up a changed plan file (SIGHUP).
 *
 * A changed file is another plan, with a slice of its own, or has further rounds of an adaptive plan.  It is
 * taken up while no round is under way, and unless rounds of the pinned plan would be given up by it; another
 * plan then waits for its signature as at a start.  A reload signs nothing: with sign = "at-start" another
 * plan waits for a restart. */
#pragma once

#include "an_context.h"

/* Look at the plan file.  True: it has changed and is to be taken up.  False: it has not changed, which is
 * not logged, or it stays out for the reason that was logged.  busy: a round is under way.  The
 * changed file is read with the ledger as at a start, protocol "auto" included. */
bool an_replan(const struct an_context *c, bool busy);
