/* rd_manifest.h - the shuffler's manifest of a round's batch, and the analyzer's charge, after which the
 * shuffler releases the batch.  No I/O. */
#pragma once

#include "rd_descriptor.h"
#include "rd_left_out.h"

struct rd_bucket {
	uint32_t messages;
	uint8_t root[PR_HASH_LEN];
};
struct rd_manifest {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t descriptor_hash[PR_HASH_LEN];
	uint64_t participants, messages, dummies;
	bool is_void;
	/* the round is void because analyzer or operator ended it; participants is then 0, whatever came */
	bool given_up;
	uint32_t lacking; /* 1 + the first class with fewer participants than its tag_least, which makes the
			     round void; 0: no class lacks any */
	struct rd_bucket *bucket; /* owned */
	uint32_t buckets;
	uint8_t tree[PR_HASH_LEN]; /* root over all messages' sorted hashes (rd_tree.h); not set for a void
				      round */
	/* no devices, if the round was given up or the shuffler is an older one */
	struct rd_left_out left_out;
	uint8_t hash[PR_HASH_LEN]; /* SHA-256 of the manifest's bytes as they came */
};
CM_CHECK enum cm_rc rd_manifest_encode(const struct rd_manifest *m, struct cm_buf *out, struct cm_err *err);
/* Check the signature, and that the manifest fits this descriptor:
 * - dummies is the descriptor's shuffler_dummies, or a number that its noise can have;
 * - messages is the participants' messages, or tag_messages for each tag, plus the dummies;
 * - the buckets' messages sum to messages;
 * - participants is within min_reports..target.
 * A void manifest has no messages, dummies and buckets.  Its participants are fewer than min_reports, or a
 * class lacks some; they are 0 if the round was given up, and then nobody is left out.
 * What is left out is in its form, whatever its numbers. */
CM_CHECK enum cm_rc rd_manifest_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN],
	const struct cr_verifier *shuffler, const struct rd_descriptor *d, struct rd_manifest *out,
	struct cm_err *err);
void rd_manifest_fini(struct rd_manifest *m);

/* Compute the SHA-256 of each of n messages of len bytes, sorted in ascending order; and from these hashes a
 * bucket's root, the SHA-256 over all of them. */
void rd_bucket_hashes(const uint8_t *sealed, size_t n, size_t len, uint8_t (*hashes)[PR_HASH_LEN]);
void rd_bucket_sum(const uint8_t (*hashes)[PR_HASH_LEN], size_t n, uint8_t root[PR_HASH_LEN]);

struct rd_charge {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t descriptor_hash[PR_HASH_LEN], manifest_hash[PR_HASH_LEN];
	uint64_t ledger_seq;
	uint8_t ledger_head[PR_HASH_LEN];
};
CM_CHECK enum cm_rc rd_charge_encode(const struct rd_charge *c, struct cm_buf *out, struct cm_err *err);
CM_CHECK enum cm_rc rd_charge_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN],
	const struct cr_verifier *analyzer, struct rd_charge *out, struct cm_err *err);
