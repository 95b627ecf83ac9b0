/* sh_store.h - the interface to the shuffler's storage; no other file depends on how data is stored.
 *
 * Messages and tags arrive here encrypted (sh_vault.h); the store sees bucket numbers, ids and
 * lengths.  Every put and commit is durable (synced) when it returns CM_OK.  Any fault not named below is
 * CM_EIO or CM_EDATA, after which nothing more may be acknowledged.
 *
 * Threads: the state functions (row_*, record*, pin_*, loss_*, head_*, standing_get, data_open, data_drop,
 * data_each, keeps, payload_*) are called by one thread; the functions on one open `data`, and standings_put,
 * by one thread at a time, which may be another one; data_erase by one thread at a time for all rounds, and
 * not beside data_drop or data_each. */
#pragma once

#include <stdbool.h>

#include "cr_hash.h"
#include "pr_limits.h"

enum sh_state {
	SH_COLLECTING = 1, /* announced; accepts reports until target or deadline */
	SH_SEALED,         /* manifest signed; waits for the charge */
	SH_RELEASING,      /* charged; the analyzer pulls messages */
	SH_ERASED, /* key and messages are destroyed, since the analyzer has its result or the ledger ended
		    * the sealed round */
	SH_VOID,   /* too few participants, or voided by the ledger: key and messages destroyed */
};

/* One round.  A span of len 0 is absent.  Borrowed for the call in both directions. */
struct sh_row {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint64_t sequence;
	enum sh_state state;
	struct cr_span descriptor, signature; /* the signed descriptor and its signature, as received */
	struct cr_span manifest, manifest_signature;
	struct cr_span charge;
};

/* The id of a block of a run.  A run is a commit of at least SH_RUN_LEAST devices, so it has a block for
 * most buckets.  Runs are numbered from 0, and stored one after the other.  So a store can write a run in
 * one piece, and still find the blocks of a bucket.  The number tells in which order runs came, but nothing
 * of the order within a run.  A commit of fewer devices has no number. */
#define SH_RUN_LEAST           PR_BUCKETS_MAX /* so many devices */
#define SH_RUN_BLOCK           (UINT64_C(1) << 63)
#define SH_RUN_ID(run, bucket) (SH_RUN_BLOCK | (uint64_t)(run)*PR_BUCKETS_MAX | (bucket))

/* The encrypted messages of one commit and bucket. */
struct sh_block {
	uint32_t bucket;
	uint64_t id; /* SH_RUN_ID for a run, otherwise 63 random bits, which reveal neither time nor order */
	const uint8_t *body;
	size_t len;
	uint32_t devices; /* in a tag row: the number of devices that it adds */
};

/* An epoch of a round whose reports intakes accept: see sh_spread.h. */
struct sh_epoch {
	uint64_t number;  /* its number, larger than that of every earlier epoch of any round */
	uint64_t devices; /* number of devices stored when it began: the sum over the tag rows */
	bool closed;      /* the data were closed already, so no epoch began */
};

/* The decision about a plan, made once: sh_plans.h.  Borrowed for the call in both directions. */
struct sh_pin_row {
	uint64_t record;      /* number of the PLAN record in the ledger */
	int state;            /* what was decided: an enum sh_pin_state */
	double epsilon;       /* epsilon of the accepted entries */
	struct cr_span taken; /* one bit per entry: accepted or not; then the belief (sh_plans.h) */
};
/* The last round in which the shuffler accepted a report of a certificate, or of a gateway. */
struct sh_standing {
	uint8_t name[PR_HASH_LEN]; /* sh_standing_name or sh_standing_gateway_name */
	uint64_t sequence;         /* 0: no report was accepted yet */
	uint8_t descriptor_hash[PR_HASH_LEN];
	uint8_t mac[PR_MAC_LEN]; /* shows the client that it took part; zeros: it sent none */
};

/* Length of the ledger according to the newest descriptor, signed by the analyzer, that a client stated
 * (sh_heads.h). */
struct sh_head_row {
	uint8_t name[PR_HASH_LEN];   /* name of the certificate, as for a standing */
	uint32_t devices;            /* devices that the certificate may speak for */
	uint64_t seq;                /* number of the record that reserves the descriptor, 1..INT64_MAX */
	uint8_t before[PR_HASH_LEN]; /* the ledger's head before that record */
	uint8_t descriptor_hash[PR_HASH_LEN];
};
/* The loss of an earlier state that an operator accepted. */
struct sh_loss {
	uint64_t closed_to; /* plans up to this ledger record may have been pinned by the lost state; 0:
			     * none */
	bool waits;         /* announcing waits until enough clients have stated how long the ledger was */
};

/* The payload of a round (public bytes), or the first part of one that is still arriving. */
struct sh_payload {
	uint8_t hash[PR_HASH_LEN];
	uint64_t bytes;
	bool whole;
};

typedef enum cm_rc sh_row_fn(void *user, const struct sh_row *row, struct cm_err *err);
typedef enum cm_rc sh_record_fn(void *user, const uint8_t *bytes, size_t len, struct cm_err *err);
typedef enum cm_rc sh_pin_fn(void *user, const struct sh_pin_row *pin, struct cm_err *err);
typedef enum cm_rc sh_head_fn(void *user, const struct sh_head_row *head, struct cm_err *err);
typedef enum cm_rc sh_payload_fn(void *user, const struct sh_payload *payload, struct cm_err *err);
typedef enum cm_rc sh_place_fn(void *user, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* The next block to store, borrowed until the next call; CM_EMORE past the last. */
typedef enum cm_rc sh_block_source(void *user, struct sh_block *out, struct cm_err *err);
typedef enum cm_rc sh_block_fn(void *user, const struct sh_block *block, struct cm_err *err);

struct sh_store {
	void *ctx;
	void (*close)(void *ctx);

	/* Rounds.  row_put replaces the row with that id. */
	enum cm_rc (*row_put)(void *ctx, const struct sh_row *row, struct cm_err *err);
	/* Read one row.  CM_ENOINPUT: there is no such row. */
	enum cm_rc (*row_get)(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], sh_row_fn *fn, void *user,
		struct cm_err *err);
	/* Visit rows by ascending sequence.  A fault of fn ends the visit and is returned. */
	enum cm_rc (*row_each)(void *ctx, sh_row_fn *fn, void *user, struct cm_err *err);

	/* Witnessed ledger records: store n of them from number `first`, all or none; visit all in order. */
	enum cm_rc (*records_put)(
		void *ctx, uint64_t first, const struct cr_span *records, size_t n, struct cm_err *err);
	enum cm_rc (*record_each)(void *ctx, sh_record_fn *fn, void *user, struct cm_err *err);
	/* Read one record.  CM_ENOINPUT: there is no such record. */
	enum cm_rc (*record_get)(void *ctx, uint64_t seq, sh_record_fn *fn, void *user, struct cm_err *err);

	/* Store a pin once; it never changes (CM_EIO if it exists).  Visit all pins in order of their
	 * records. */
	enum cm_rc (*pin_put)(void *ctx, const struct sh_pin_row *pin, struct cm_err *err);
	enum cm_rc (*pin_each)(void *ctx, sh_pin_fn *fn, void *user, struct cm_err *err);
	/* Read the accepted loss, both fields 0 if none; store it. */
	enum cm_rc (*loss_get)(void *ctx, struct sh_loss *loss, struct cm_err *err);
	enum cm_rc (*loss_put)(void *ctx, const struct sh_loss *loss, struct cm_err *err);
	/* Store the head of a certificate, replacing its earlier one; visit all in any order. */
	enum cm_rc (*head_put)(void *ctx, const struct sh_head_row *head, struct cm_err *err);
	enum cm_rc (*head_each)(void *ctx, sh_head_fn *fn, void *user, struct cm_err *err);

	/* Store n standings of one round, whose names differ: all or none.  A standing of an older round
	 * than the stored one changes nothing.  NULL at an intake, whose head stores them. */
	enum cm_rc (*standings_put)(
		void *ctx, const struct sh_standing *standing, size_t n, struct cm_err *err);
	/* Read one standing; sequence 0: none is stored. */
	enum cm_rc (*standing_get)(
		void *ctx, const uint8_t name[PR_HASH_LEN], struct sh_standing *out, struct cm_err *err);

	/* Open the messages and tags of one round.  `create` creates empty data, durably; otherwise
	 * CM_ENOINPUT: none exists. */
	enum cm_rc (*data_open)(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], bool create, void **data,
		struct cm_err *err);
	void (*data_close)(void *data); /* accepts NULL */
	/* The number of the next run. */
	uint64_t (*data_runs)(void *data);
	/* Store the blocks and the tag row of one commit: all or none. */
	enum cm_rc (*data_commit)(void *data, sh_block_source *next, void *user, const struct sh_block *tags,
		struct cm_err *err);
	/* Store these blocks and delete the earlier contents of `bucket`, in one transaction. */
	enum cm_rc (*data_replace)(void *data, uint32_t bucket, sh_block_source *next, void *user,
		const struct sh_block *tags, struct cm_err *err);
	/* The next two are NULL unless several processes may use the store, and when it was opened for
	 * reading alone.
	 *
	 * Begin the next epoch of a round's data; with `close`, end the last one for good (it may be closed
	 * already).  Waits for commits in progress.  When it returns, no commit of an earlier epoch can be
	 * stored any more, by any process, however long that was stopped. */
	enum cm_rc (*data_epoch)(void *data, bool close, struct sh_epoch *out, struct cm_err *err);
	/* Open existing data for the commits of one epoch.  CM_ENOINPUT: none exists.  Once another epoch
	 * has begun, data_commit stores nothing and returns CM_ELATER. */
	enum cm_rc (*data_join)(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], uint64_t epoch,
		void **data, struct cm_err *err);
	/* Visit the blocks of buckets first..first+n-1, or the tag rows.  Blocks of one bucket come in an
	 * order that never changes: on each server by ascending id, runs last.  Buckets come in any order. */
	enum cm_rc (*data_buckets)(
		void *data, uint32_t first, uint32_t n, sh_block_fn *fn, void *user, struct cm_err *err);
	enum cm_rc (*data_tags)(void *data, sh_block_fn *fn, void *user, struct cm_err *err);
	/* Delete all data of a round, which takes a while for gigabytes, and close `data`, also after a
	 * fault. */
	enum cm_rc (*data_erase)(
		void *ctx, void *data, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
	/* Delete all data of a round, which must be closed.  CM_OK if none exists. */
	enum cm_rc (*data_drop)(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
	/* Visit the id of every round that has data, perhaps more than once. */
	enum cm_rc (*data_each)(void *ctx, sh_place_fn *fn, void *user, struct cm_err *err);

	/* Ask every database server whether it still keeps what is committed, and has our session.  CM_EIO:
	 * one does not.  Do not call it beside data_erase.  NULL: the store consists of files. */
	enum cm_rc (*keeps)(void *ctx, struct cm_err *err);
	/* The i-th database that the store has open: its number, and whether its connection is up as far as
	 * this host knows.  false: there are no more.  On any thread.  NULL: the store consists of files. */
	bool (*database)(void *ctx, size_t i, uint32_t *number, bool *up);
	/* The same for the databases with which open `data` has sessions; not while it is opened or
	 * closed. */
	bool (*data_database)(void *data, size_t i, uint32_t *number, bool *up);

	/* Payloads, by hash.  Append to one that is not whole; offset 0 creates it.  Not durable. */
	enum cm_rc (*payload_add)(void *ctx, const uint8_t hash[PR_HASH_LEN], uint64_t offset,
		const void *bytes, size_t len, struct cm_err *err);
	/* End a payload: it is whole and durable from now on. */
	enum cm_rc (*payload_finish)(void *ctx, const uint8_t hash[PR_HASH_LEN], struct cm_err *err);
	/* Read len bytes from offset.  CM_ENOINPUT: they are not stored. */
	enum cm_rc (*payload_read)(void *ctx, const uint8_t hash[PR_HASH_LEN], uint64_t offset, void *out,
		size_t len, struct cm_err *err);
	/* Delete it, whole or not. CM_OK if there is no such payload. */
	enum cm_rc (*payload_drop)(void *ctx, const uint8_t hash[PR_HASH_LEN], struct cm_err *err);
	/* Visit all in any order; fn may delete the one that it is shown. */
	enum cm_rc (*payload_each)(void *ctx, sh_payload_fn *fn, void *user, struct cm_err *err);
};
