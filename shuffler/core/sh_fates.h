/* sh_fates.h - records what the ledger says about each round.  No I/O.
 *
 * A balanced tree by round id.  The analyzer chooses the ids, and a balanced tree keeps look-ups cheap
 * whatever it chooses. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pr_limits.h"

struct sh_fate_row {
	uint8_t round_id[PR_ROUND_ID_LEN];
	int fate; /* a value of enum sh_fate */
};
struct sh_fates {
	void *root; /* a tree of <search.h> */
};

/* Find a round's row, or NULL. */
struct sh_fate_row *sh_fates_find(const struct sh_fates *f, const uint8_t round_id[PR_ROUND_ID_LEN]);
/* Find a round's row, or add one with fate 0.  NULL: out of memory. */
struct sh_fate_row *sh_fates_at(struct sh_fates *f, const uint8_t round_id[PR_ROUND_ID_LEN]);
void sh_fates_fini(struct sh_fates *f); /* accepts a zeroed struct */
