/* sh_play.h - a shuffler in a scratch folder, driven by a made-up analyzer, for tests of its cores.
 *
 * Every function ends the test on a fault that the test did not ask for. */
#pragma once

#include "round_keys.h"
#include "sh_core_spread.h"
#include "sh_sqlite.h"

#define SH_PLAY_POPULATION "test"
#define SH_PLAY_NOW        INT64_C(1800000000000)
#define SH_PLAY_WINDOW     INT64_C(3600000) /* ms after a seal in which proofs are given */

struct sh_play {
	char dir[64], key_dir[80], leaves_dir[80];
	struct round_keys analyzer, shuffler;
	char database[200]; /* libpq's string of the store; "": SQLite, in dir */
	bool own_keys;
	struct sh_policy policy;     /* may be changed before sh_play_start */
	struct cr_rng rng, work_rng; /* work_rng: of the commits */
	struct sh_store kept; /* a store in place of files in dir, if it has functions; set before a start */
	struct sh_store store;
	bool intakes;              /* intakes take the reports; `kept` is a store with epochs */
	uint8_t root[PR_HASH_LEN]; /* root in the receipt of the last Submit to an intake */
	const uint8_t *gateway;    /* that submissions name; NULL: none */
	struct sh_share *to;       /* of an intake, to which sh_play_submit goes; NULL: to the core */
	struct sh_core *core;
	int64_t now_ms;
	size_t ahead_bytes;               /* of buckets beyond the next one; set before a start */
	uint32_t (*tag)(uint64_t device); /* of its messages, where a round has tags; NULL: by turns */
	/* The analyzer's side. */
	struct rd_chain chain;
	uint8_t before[PR_HASH_LEN]; /* the head before the records shown last */
	struct cm_buf plan;          /* the last one made, its bytes, its hash, how many there were */
	uint8_t plan_signature[CR_SIGN_LEN], plan_hash[PR_HASH_LEN];
	uint64_t plans;
	struct cm_buf record; /* the last one made */
	uint64_t sequence;
	uint8_t previous[PR_HASH_LEN];
	struct rd_descriptor d; /* of the last descriptor made */
	struct cm_buf descriptor;
	uint8_t signature[CR_SIGN_LEN];
	uint8_t manifest_hash[PR_HASH_LEN];
	struct rd_manifest manifest;
	struct cm_buf charge;
	uint8_t charge_signature[CR_SIGN_LEN];
	/* What the last call said. */
	struct sh_refusal no;
	struct cm_err err;
};

/* What a descriptor is to say; zero fields get a default. */
struct sh_wish {
	uint64_t min_reports, target, sequence;
	int64_t window_ms;
	double epsilon0;
	uint32_t dummies;
	uint64_t shuffler_dummies;
	double noise_epsilon;    /* noise of the shuffler, at delta 1e-8 */
	const uint8_t *hpke_key; /* of 32 bytes */
	const char *population;
	const struct pt_device *row; /* else one that has what is wished for */
	uint32_t tags;
	uint64_t tag_messages;
	uint32_t tag_least[PT_SLOTS_MAX];
	uint32_t categories; /* values of the histogram, 2..4; 0: 4 */
	enum qy_none none;
	/* Its plan: a new one of `entries` such rounds (1), with this slice (20; delta 1e-6); or entry
	 * `entry` of the last plan that was made. */
	uint32_t entries, entry, plan_tries;
	double slice, delta;
	const char *mode;
	uint32_t attempt;             /* 1 */
	const uint8_t *void_manifest; /* its hash */
	struct cr_span payload;       /* of up to 1 MiB, which map "statistics" reads; len 0: none */
};

/* An empty "/dev/shm/..." (or /tmp) folder into dir; and its removal with all in it. */
void sh_play_folder(char dir[64]);
void sh_play_remove(const char *dir);

void sh_play_init(struct sh_play *p);
/* With keys that stay the caller's. */
void sh_play_init_with(
	struct sh_play *p, const struct round_keys *analyzer, const struct round_keys *shuffler);
/* Open store and core; the ledger gets its OPEN record the first time. */
void sh_play_start(struct sh_play *p);
/* Close both as an orderly end would; start opens them again. */
void sh_play_stop(struct sh_play *p);
void sh_play_fini(struct sh_play *p);
/* The store: made and removed with the shuffler, and opened alone, without the core. */
void sh_play_store_init(struct sh_play *p);
void sh_play_store_fini(struct sh_play *p);
enum cm_rc sh_play_store_open(struct sh_play *p);
/* Messages and tags of that round are stored; how many payloads are, where the store is a database. */
bool sh_play_has_data(const struct sh_play *p, const uint8_t round_id[PR_ROUND_ID_LEN]);
void sh_play_payloads(const struct sh_play *p, uint64_t *n, uint64_t *bytes);
/* Run a statement on the database, as another program would. */
void sh_play_sql(const struct sh_play *p, const char *sql);
/* Stop, remove the state, and accept the loss. */
void sh_play_lose(struct sh_play *p, const struct sh_loss *loss);

/* Append a record to the analyzer's ledger (seq and time are filled in) and show it to the shuffler. */
enum cm_rc sh_play_record(struct sh_play *p, struct rd_record *r);
/* The same for a record that makes the last round void. */
enum cm_rc sh_play_void(struct sh_play *p);
/* Show these records to the shuffler, signed as the analyzer would. */
enum cm_rc sh_play_extend(struct sh_play *p, uint64_t first, const struct cr_span *records, size_t n);
/* Make a plan of rounds of d's kind, and show it; compose what waits.  It must be taken into the ledger. */
void sh_play_plan(struct sh_play *p, const struct sh_wish *wish, const struct rd_descriptor *d);
/* Make the plan only, with its record in p->record. */
void sh_play_plan_make(
	struct sh_play *p, const struct sh_wish *wish, const struct rd_descriptor *d, struct rd_record *r);
/* Compose what waits to be composed. */
void sh_play_compose(struct sh_play *p);
/* Make and sign a descriptor that follows the ledger as it is; its plan is shown first, unless it is an entry
 * of the last one. */
void sh_play_describe(struct sh_play *p, const struct sh_wish *wish);
enum cm_rc sh_play_reserve(struct sh_play *p);
enum cm_rc sh_play_announce(struct sh_play *p);
/* Do the three above, which must succeed. */
void sh_play_round(struct sh_play *p, const struct sh_wish *wish);

/* The sealed messages of a device: its number, the message's number, then filler. */
void sh_play_message(uint64_t device, uint32_t number, uint8_t *out, size_t len);
/* Submit devices first..first+n-1 of a certificate that may speak for `devices`. */
enum cm_rc sh_play_submit(struct sh_play *p, unsigned certificate, uint32_t devices, uint64_t first, size_t n,
	struct sh_receipt *out);
/* Do every job: what is asked for is read, what is over is erased. */
void sh_play_jobs(struct sh_play *p);
/* Do every task that is due now, commits included; then the jobs. */
void sh_play_work(struct sh_play *p);
/* Go to the deadline and work. */
void sh_play_deadline(struct sh_play *p);
/* A process that starts and acts is killed (SIGKILL) at a random moment of the next nanoseconds.  The
 * shuffler of this process is stopped before and after. */
void sh_play_killed(struct sh_play *p, void (*act)(struct sh_play *), uint64_t nanoseconds);
/* Fetch and verify the manifest. */
void sh_play_manifest(struct sh_play *p);
/* CHARGE in the ledger, and the signed charge made; then sent. */
void sh_play_charge(struct sh_play *p);
enum cm_rc sh_play_release(struct sh_play *p);
/* Like sh_core_pull and sh_core_settle, but does the jobs that they wait for. */
enum cm_rc sh_play_segment(
	struct sh_play *p, uint32_t bucket, uint64_t offset, size_t max, struct cr_span *out);
enum cm_rc sh_play_settle(struct sh_play *p);
/* All messages, bucket after bucket, in pieces of max bytes. */
void sh_play_pull(struct sh_play *p, size_t max, struct cm_buf *out);
