/* sh_heads.h - heads of the analyzer's ledger that clients have stated, one per certificate.  No I/O.
 *
 * A client states the newest descriptor that it has seen.  The analyzer signed that descriptor, and it names
 * the ledger's head before the record that reserves it.  So it proves that the analyzer's ledger had this
 * record, whichever client brings it, and no client can state more than the analyzer signed. */
#pragma once

#include "sh_store.h"

struct sh_heads {
	struct sh_head_row *row;
	size_t n, cap;
	uint64_t devices; /* sum over all rows */
};

/* Store the head of a certificate, replacing its earlier one.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc sh_heads_put(struct sh_heads *h, const struct sh_head_row *row, struct cm_err *err);
void sh_heads_fini(struct sh_heads *h);
/* The head of a certificate, and the longest head; NULL: none.  Borrowed until the next put. */
const struct sh_head_row *sh_heads_find(const struct sh_heads *h, const uint8_t name[PR_HASH_LEN]);
const struct sh_head_row *sh_heads_longest(const struct sh_heads *h);
