/* sh_proofs.h - proves to clients what is in a sealed round, as long as the round's leaves are kept.
 *
 * The leaves are files (sh_leaves.h).  This file knows which leaves exist, and until when. */
#pragma once

#include "sh_live.h"

struct sh_proof {
	uint8_t round_id[PR_ROUND_ID_LEN];
	int64_t until_ms;
};
struct sh_proofs {
	const struct sh_leaves_place *place; /* borrowed; the owner sets it */
	struct sh_proof *row;
	size_t n, room;
};

/* Find the stored leaves at the start.  Leaves of a round that is still collecting will be written anew. */
CM_CHECK enum cm_rc sh_proofs_load(struct sh_proofs *p, const struct sh_live *live, struct cm_err *err);
void sh_proofs_fini(struct sh_proofs *p);
/* Keep the leaves of a round that was sealed. */
CM_CHECK enum cm_rc sh_proofs_keep(
	struct sh_proofs *p, const uint8_t round_id[PR_ROUND_ID_LEN], int64_t sealed_ms, struct cm_err *err);
/* sh_proofs_until: the time at which the oldest leaves must be erased; INT64_MAX if none are kept.
 * sh_proofs_expire erases them. */
int64_t sh_proofs_until(const struct sh_proofs *p);
CM_CHECK enum cm_rc sh_proofs_expire(struct sh_proofs *p, int64_t now_ms, struct cm_err *err);
/* Write a proof entry (rd_tree.h) for each of PR_PROOF_HASHES hashes to *out.  CM_EPROTO with *no: the leaves
 * were never kept, are erased, or cannot be read. */
CM_CHECK enum cm_rc sh_proofs_prove(const struct sh_proofs *p, const uint8_t round_id[PR_ROUND_ID_LEN],
	const uint8_t (*hashes)[PR_HASH_LEN], struct cm_buf *out, struct sh_refusal *no, struct cm_err *err);
