/* an_announced.h - remembers which round the shuffler accepted last, so that a shuffler that lost that
 * round is told so.
 *
 * A shuffler restored from a copy older than the open round would collect that round again, without the
 * reports that it acknowledged before.  STATE_DIR/announced names the round from its announcement on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"
#include "pr_limits.h"

/* Record that the shuffler accepted this round; durable on return. */
CM_CHECK enum cm_rc an_announced_note(
	const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* Whether the shuffler accepted this round before; false if the file is missing or names another round. */
CM_CHECK enum cm_rc an_announced_was(
	const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN], bool *was, struct cm_err *err);
