/* sh_store.h - what the shuffler keeps, as an interface: the only place where storage is named.
 *
 * Bytes of messages and tags reach it encrypted (sh_vault.h); it sees bucket numbers, random ids and lengths.
 * Every put and commit is durable (fsynced) when it returns CM_OK.  Any fault but those named below is CM_EIO
 * or CM_EDATA, after which nothing more may be acknowledged.
 *
 * Threads: the state functions (row_*, record*, data_open, data_drop, data_each) are called by one thread;
 * the functions on one open `data` by one thread at a time, which may be another one. */
#pragma once

#include <stdbool.h>

#include "cm_hash.h"
#include "pr_limits.h"

enum sh_state {
	SH_COLLECTING = 1, /* announced; submissions are taken until target or deadline */
	SH_SEALED,         /* manifest signed; waits for the charge */
	SH_RELEASING,      /* charged; the analyzer pulls */
	SH_ERASED,         /* key and messages destroyed after the result, or because the ledger voided it */
	SH_VOID,           /* fewer than the minimum: key and messages destroyed */
};

/* One round.  Spans with len 0 are absent.  Borrowed for the call, both ways. */
struct sh_row {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint64_t sequence;
	enum sh_state state;
	struct cm_span descriptor, signature; /* as received */
	struct cm_span manifest, manifest_signature;
	struct cm_span charge;
};

/* Messages of one commit and bucket, encrypted.  The id is random and says nothing of time or order. */
struct sh_block {
	uint32_t bucket;
	uint64_t id; /* 63 bits */
	const uint8_t *body;
	size_t len;
};

typedef enum cm_rc sh_row_fn(void *user, const struct sh_row *row, struct cm_err *err);
typedef enum cm_rc sh_record_fn(void *user, const uint8_t *bytes, size_t len, struct cm_err *err);
typedef enum cm_rc sh_place_fn(void *user, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* The next block to store, borrowed until the next call; CM_EMORE past the last. */
typedef enum cm_rc sh_block_source(void *user, struct sh_block *out, struct cm_err *err);
typedef enum cm_rc sh_block_fn(void *user, const struct sh_block *block, struct cm_err *err);

struct sh_store {
	void *ctx;
	void (*close)(void *ctx);

	/* Rounds.  put replaces the row of that id. */
	enum cm_rc (*row_put)(void *ctx, const struct sh_row *row, struct cm_err *err);
	/* CM_ENOINPUT: there is none. */
	enum cm_rc (*row_get)(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], sh_row_fn *fn, void *user,
		struct cm_err *err);
	/* By ascending sequence; a fault of fn ends it and is returned. */
	enum cm_rc (*row_each)(void *ctx, sh_row_fn *fn, void *user, struct cm_err *err);

	/* Witnessed ledger records: n of them from number `first`, all or none; and all, in order. */
	enum cm_rc (*records_put)(
		void *ctx, uint64_t first, const struct cm_span *records, size_t n, struct cm_err *err);
	enum cm_rc (*record_each)(void *ctx, sh_record_fn *fn, void *user, struct cm_err *err);

	/* Messages and tags of one round; `create` makes the (empty) place durable, else CM_ENOINPUT: there
	 * is none. */
	enum cm_rc (*data_open)(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], bool create, void **data,
		struct cm_err *err);
	void (*data_close)(void *data); /* NULL is fine */
	/* Blocks and the tag row of one commit, all or none. */
	enum cm_rc (*data_commit)(void *data, sh_block_source *next, void *user, const struct sh_block *tags,
		struct cm_err *err);
	/* The same, and what `bucket` had until now is gone. */
	enum cm_rc (*data_replace)(void *data, uint32_t bucket, sh_block_source *next, void *user,
		const struct sh_block *tags, struct cm_err *err);
	/* The bucket's blocks by ascending id; the tag rows likewise. */
	enum cm_rc (*data_bucket)(
		void *data, uint32_t bucket, sh_block_fn *fn, void *user, struct cm_err *err);
	enum cm_rc (*data_tags)(void *data, sh_block_fn *fn, void *user, struct cm_err *err);
	/* Remove a round's place whole (closed before); CM_OK if there is none. */
	enum cm_rc (*data_drop)(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
	/* Every round id that has a place. */
	enum cm_rc (*data_each)(void *ctx, sh_place_fn *fn, void *user, struct cm_err *err);
};
