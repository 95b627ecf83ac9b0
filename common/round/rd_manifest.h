/* rd_manifest.h - what the shuffler says it holds, and the charge that makes it release.  No I/O. */
#pragma once

#include "rd_descriptor.h"

struct rd_bucket {
	uint32_t messages;
	uint8_t root[PR_HASH_LEN];
};
struct rd_manifest {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t descriptor_hash[PR_HASH_LEN];
	uint64_t participants, messages, dummies;
	bool is_void;
	uint32_t lacking; /* void because of it: 1 + the first class with fewer than its tag_least; 0: none */
	struct rd_bucket *bucket; /* owned */
	uint32_t buckets;
	uint8_t hash[PR_HASH_LEN]; /* of the bytes it was read from */
};
CM_CHECK enum cm_rc rd_manifest_encode(const struct rd_manifest *m, struct cm_buf *out, struct cm_err *err);
/* Signature, then: for this descriptor; dummies = its shuffler_dummies, or as many as noise can be; messages
 * = those of the participants, or tag_messages of each tag, and the dummies = the buckets' sum; participants
 * between min and target.  Void: participants below min, or else a class is lacking; no messages, dummies and
 * buckets (encode writes none). */
CM_CHECK enum cm_rc rd_manifest_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CM_SIGN_LEN],
	const struct cm_verifier *shuffler, const struct rd_descriptor *d, struct rd_manifest *out,
	struct cm_err *err);
void rd_manifest_fini(struct rd_manifest *m);

/* Root of one bucket: SHA-256 over its messages' SHA-256 hashes in ascending order.  sealed: n messages of
 * len bytes; up to 64 n bytes of memory while it runs. */
CM_CHECK enum cm_rc rd_bucket_root(
	const uint8_t *sealed, size_t n, size_t len, uint8_t root[PR_HASH_LEN], struct cm_err *err);

struct rd_charge {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t descriptor_hash[PR_HASH_LEN], manifest_hash[PR_HASH_LEN];
	uint64_t ledger_seq;
	uint8_t ledger_head[PR_HASH_LEN];
};
CM_CHECK enum cm_rc rd_charge_encode(const struct rd_charge *c, struct cm_buf *out, struct cm_err *err);
CM_CHECK enum cm_rc rd_charge_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CM_SIGN_LEN],
	const struct cm_verifier *analyzer, struct rd_charge *out, struct cm_err *err);

/* What a receipt signs: round_id || SHA-256(pseudonyms || sealed) || outcomes. */
CM_CHECK enum cm_rc rd_receipt_bytes(const uint8_t round_id[PR_ROUND_ID_LEN], const uint8_t *pseudonyms,
	size_t pseudonyms_len, const uint8_t *sealed, size_t sealed_len, const uint8_t *outcomes, size_t n,
	struct cm_buf *out);
/* Digest of one submission: SHA-256(pseudonym || its sealed messages). */
void rd_submission_digest(const uint8_t pseudonym[PR_PSEUDONYM_LEN], const uint8_t *sealed, size_t len,
	uint8_t digest[PR_HASH_LEN]);
