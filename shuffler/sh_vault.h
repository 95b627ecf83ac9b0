/* sh_vault.h - a round at rest: messages and tags encrypted under a round key that lies outside the store.
 *
 * Each accepted message goes to a uniformly random bucket; messages of one commit and bucket are permuted and
 * become one encrypted block under a random id.  Destroying the key file is the erasure: whatever copies of
 * rows or of the write-ahead log survive are unreadable.  I/O only through sh_store.h and cm_keyfile. */
#pragma once

#include "cm_secret.h"
#include "sh_batch.h"
#include "sh_store.h"

struct sh_vault {
	const struct sh_store *store;
	void *data;
	uint8_t round_id[PR_ROUND_ID_LEN];
	struct cm_key box, tag, order; /* derived from the round key */
	uint32_t buckets;
	size_t message_len; /* as it is stored: rd_message_len */
};

/* Caller's memory.  store and key_dir are borrowed as long as the vault.  create: a fresh key and an empty
 * place, both durable; CM_ECREATE if there is one.  open: CM_ENOINPUT if the key is gone. */
CM_CHECK enum cm_rc sh_vault_create(struct sh_vault *v, const struct sh_store *store, const char *key_dir,
	const uint8_t round_id[PR_ROUND_ID_LEN], uint32_t buckets, size_t message_len,
	const struct cm_rng *rng, struct cm_err *err);
CM_CHECK enum cm_rc sh_vault_open(struct sh_vault *v, const struct sh_store *store, const char *key_dir,
	const uint8_t round_id[PR_ROUND_ID_LEN], uint32_t buckets, size_t message_len, struct cm_err *err);
/* Wipe the keys in memory, close the place.  A zeroed struct is fine. */
void sh_vault_close(struct sh_vault *v);
/* Destroy the key file, then the place.  The vault is closed before.  CM_OK if there is none. */
CM_CHECK enum cm_rc sh_vault_destroy(const struct sh_store *store, const char *key_dir,
	const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);

/* The tag of a device: 16 bytes of HMAC(tag key, certificate's key hash || pseudonym); and of a certificate.
 */
void sh_vault_tag(const struct sh_vault *v, const uint8_t key_hash[32],
	const uint8_t pseudonym[PR_PSEUDONYM_LEN], uint8_t out[SH_TAG_LEN]);
void sh_vault_certificate(const struct sh_vault *v, const uint8_t key_hash[32], uint8_t out[SH_TAG_LEN]);

/* Under which the shuffler counts what it did itself, and no certificate's: the messages it added; the
 * buckets it has capped. */
void sh_vault_dummies(const struct sh_vault *v, uint8_t out[SH_TAG_LEN]);
void sh_vault_capped(const struct sh_vault *v, uint8_t out[SH_TAG_LEN]);

/* A generator that the round key and `use` determine, for what must come out the same after a restart.  NULL:
 * no memory. */
struct cm_rng_seeded *sh_vault_stream(
	const struct sh_vault *v, const void *use, size_t len, struct cm_rng *out);

/* Make a batch durable: one transaction.  Any thread; rng is that thread's.  Sorts the batch's tags. */
CM_CHECK enum cm_rc sh_vault_commit(
	struct sh_vault *v, struct sh_batch *batch, const struct cm_rng *rng, struct cm_err *err);
/* The same, all of it into one bucket, in place of what it held. */
CM_CHECK enum cm_rc sh_vault_replace(struct sh_vault *v, uint32_t bucket, struct sh_batch *batch,
	const struct cm_rng *rng, struct cm_err *err);
/* Read every tag row back. */
CM_CHECK enum cm_rc sh_vault_tags(
	struct sh_vault *v, struct sh_tags *tags, struct sh_counts *counts, struct cm_err *err);
/* A bucket's messages by block id, appended to out. */
CM_CHECK enum cm_rc sh_vault_read(
	struct sh_vault *v, uint32_t bucket, struct cm_buf *out, struct cm_err *err);
/* The same in the order of release: a permutation that the round key and the bucket determine, so that every
 * reading gives the same bytes. */
CM_CHECK enum cm_rc sh_vault_release(
	struct sh_vault *v, uint32_t bucket, struct cm_buf *out, struct cm_err *err);
