/* sh_vault.h - encrypts the messages and tags of a stored round, under a round key kept outside the store.
 *
 * Each accepted message goes to a uniformly random bucket.  The messages of one commit and bucket are
 * permuted and become one encrypted block.  A round is erased by destroying its key file: copies of rows or
 * of the write-ahead log that survive are unreadable.  I/O only through sh_store.h and cr_keyfile. */
#pragma once

#include "cr_aead.h"
#include "cr_secret.h"
#include "sh_batch.h"
#include "sh_store.h"

/* Buckets next..end-1, which were read and not asked for yet.  Bucket i is bucket[i - first].  The window
 * has up to 8 MiB, and at least one bucket. */
struct sh_window {
	uint32_t first, next, end;
	uint32_t wanted; /* the next reading takes so many buckets; 0 stands for one */
	size_t blocks;   /* number of blocks that the last reading brought */
	struct cm_buf *bucket;
	uint32_t room;
};

struct sh_vault {
	const struct sh_store *store;
	void *data;
	uint8_t round_id[PR_ROUND_ID_LEN];
	/* seals and opens blocks; this key, `tag` and `order` are derived from the round key */
	struct cr_boxes *boxes;
	struct cr_key tag, order;
	uint32_t buckets;
	size_t message_len; /* bytes of a message as it is stored: rd_message_len */
	struct sh_window window;
	/* a row was read that was not stored with the round's keys, or does not fit: either it is damaged,
	 * or somebody who may write to the store added it */
	bool foreign;
	bool joined; /* the vault of an intake, for one epoch: it numbers no runs, since others commit, too */
};

/* The keys, derived from the round's key, that an intake needs to store reports.  It does not get the key
 * that orders the release.  Wipe with sh_vault_keys_fini. */
struct sh_vault_keys {
	struct cr_key box, tag;
};
void sh_vault_keys_fini(struct sh_vault_keys *k);

/* Initialise the caller's struct.  store and key_dir are borrowed for the vault's life.  create: makes a new
 * key and empty data, both durable; CM_ECREATE if they exist.  open: CM_ENOINPUT if the key is gone. */
CM_CHECK enum cm_rc sh_vault_create(struct sh_vault *v, const struct sh_store *store, const char *key_dir,
	const uint8_t round_id[PR_ROUND_ID_LEN], uint32_t buckets, size_t message_len,
	const struct cr_rng *rng, struct cm_err *err);
CM_CHECK enum cm_rc sh_vault_open(struct sh_vault *v, const struct sh_store *store, const char *key_dir,
	const uint8_t round_id[PR_ROUND_ID_LEN], uint32_t buckets, size_t message_len, struct cm_err *err);
/* Read the keys for an intake from a round's key file.  CM_ENOINPUT: it is gone. */
CM_CHECK enum cm_rc sh_vault_lend(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	struct sh_vault_keys *out, struct cm_err *err);
/* Open an intake's vault, with lent keys, for commits of this epoch.  It cannot release. */
CM_CHECK enum cm_rc sh_vault_join(struct sh_vault *v, const struct sh_store *store,
	const struct sh_vault_keys *keys, const uint8_t round_id[PR_ROUND_ID_LEN], uint64_t epoch,
	uint32_t buckets, size_t message_len, struct cm_err *err);
/* Wipe the keys in memory and close the data.  Accepts a zeroed struct. */
void sh_vault_close(struct sh_vault *v);
/* Destroy the key file, then the data, of a closed vault.  CM_OK if none exists. */
CM_CHECK enum cm_rc sh_vault_destroy(const struct sh_store *store, const char *key_dir,
	const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* The same for an open vault, in three steps.  First destroy the key file: from then on only this vault can
 * read what is stored.  Then forget: wipe the keys in memory, and everything that was read.  Then erase the
 * data, which is slow, on the thread that uses the vault; this closes the vault, even after a fault. */
CM_CHECK enum cm_rc sh_vault_destroy_key(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
void sh_vault_forget(struct sh_vault *v);
CM_CHECK enum cm_rc sh_vault_erase(struct sh_vault *v, struct cm_err *err);

/* Tag of a device: 16 bytes of HMAC(tag key, certificate's key hash || pseudonym). */
void sh_vault_tag(const struct sh_vault *v, const uint8_t key_hash[32],
	const uint8_t pseudonym[PR_PSEUDONYM_LEN], uint8_t out[SH_TAG_LEN]);
/* sh_vault_digest: a keyed digest that recognises a repeated report.  If it had no key, a client that found
 * two reports with the same digest would get a receipt for the second, which is not stored.
 * sh_vault_certificate: the tag of a certificate. */
void sh_vault_digest(const struct sh_vault *v, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const uint8_t *sealed, size_t len, uint8_t out[SH_TAG_LEN]);
void sh_vault_certificate(const struct sh_vault *v, const uint8_t key_hash[32], uint8_t out[SH_TAG_LEN]);

/* The name under which a certificate's standing is stored as long as the population exists: a hash of its
 * key's hash. */
void sh_standing_name(const uint8_t key_hash[32], uint8_t out[CR_HASH_LEN]);
/* The same for the gateway that a client names. */
void sh_standing_gateway_name(const uint8_t gateway[32], uint8_t out[CR_HASH_LEN]);

/* Tags that no certificate has, under which the shuffler counts its own dummies, and the buckets that it
 * has capped.  They are derived from the key that intakes do not get; otherwise an attacker who holds an
 * intake could make the shuffler believe that its dummies are stored. */
void sh_vault_dummies(const struct sh_vault *v, uint8_t out[SH_TAG_LEN]);
void sh_vault_capped(const struct sh_vault *v, uint8_t out[SH_TAG_LEN]);

/* A generator determined by the round key and `use`, for draws that a restart must repeat.  NULL: out of
 * memory. */
struct cr_rng_seeded *sh_vault_stream(
	const struct sh_vault *v, const void *use, size_t len, struct cr_rng *out);

/* Store a batch durably, in one transaction.  Any thread; rng is that thread's.  Reorders the batch's
 * tags. */
CM_CHECK enum cm_rc sh_vault_commit(
	struct sh_vault *v, struct sh_batch *batch, const struct cr_rng *rng, struct cm_err *err);
/* Store the whole batch in one bucket, replacing the bucket's contents, in one transaction. */
CM_CHECK enum cm_rc sh_vault_replace(struct sh_vault *v, uint32_t bucket, struct sh_batch *batch,
	const struct cr_rng *rng, struct cm_err *err);
/* Load every tag row. */
CM_CHECK enum cm_rc sh_vault_tags(
	struct sh_vault *v, struct sh_tags *tags, struct sh_counts *counts, struct cm_err *err);
/* Append a bucket's messages to `out`, in the order in which the store shows its blocks.  Read buckets in
 * ascending order, since one reading may bring those that follow. */
CM_CHECK enum cm_rc sh_vault_read(
	struct sh_vault *v, uint32_t bucket, struct cm_buf *out, struct cm_err *err);
/* Is the bucket in memory already, brought by the reading of an earlier one? */
bool sh_vault_has_read(const struct sh_vault *v, uint32_t bucket);
/* Append a bucket's messages in the order of release: a permutation determined by the round key and the
 * bucket, so that every reading gives the same bytes. */
CM_CHECK enum cm_rc sh_vault_release(
	struct sh_vault *v, uint32_t bucket, struct cm_buf *out, struct cm_err *err);
