/* an_world.h - an analyzer's state directory in /tmp, and a shuffler in memory that answers it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "an_ledger_files.h"
#include "an_open.h"
#include "an_round.h"
#include "round_keys.h"

#define WORLD_NOW 1700000000000 /* ms */

/* A plan of three rounds: a histogram of 3 values, a mean, and one that the budget refuses. */
extern const char world_plan[];

struct world {
	char dir[64], plan_path[80];
	struct an_conf conf;
	struct an_ledger_files files;
	struct round_keys analyzer, shuffler;
	struct cr_rng_seeded *generator;
	struct cr_rng rng; /* the same bytes in every world of one seed */
};
void world_make(struct world *w, const char *plan, uint8_t seed);
/* The same with a population's budget beyond its first plan's slice. */
void world_make_within(struct world *w, const char *plan, uint8_t seed, double epsilon, double delta);
/* Pin the plan file, unless it is; world_make has done it. */
void world_pin(struct world *w);
/* Put another plan file in the place of the first, and open the ledger files again. */
void world_replan(struct world *w, const char *plan);
/* Close and open the ledger files, as a restarted process does. */
void world_restart(struct world *w);
void world_free(struct world *w);
/* The whole of a file below the state directory; *n its length.  Free it. */
uint8_t *world_file(const struct world *w, const char *name, size_t *n);
void world_write(const struct world *w, const char *name, const uint8_t *bytes, size_t n);
int world_remove(const struct world *w, const char *name);

/* The ways in which a fake shuffler misbehaves. */
enum fake_fault {
	FAKE_HONEST,
	FAKE_INJECT,         /* a foreign message in place of one */
	FAKE_DROP,           /* the last message of a bucket is not sent */
	FAKE_DOUBLE,         /* one message in place of another */
	FAKE_ALTER,          /* one bit of one message */
	FAKE_EXTRA,          /* one message more than the manifest says */
	FAKE_OTHER_BUCKET,   /* another bucket's messages */
	FAKE_TREE,           /* a tree over other messages than the buckets' */
	FAKE_OTHER_ROUND,    /* answers for another round id */
	FAKE_UNSIGNED,       /* manifest signed by another key */
	FAKE_OTHER_MANIFEST, /* a second manifest for the round, from the second time on */
	FAKE_DUMMIES,        /* messages that nothing prescribes */
	FAKE_NO_BUDGET,      /* refuses the announcement */
	FAKE_NO_BUDGET_RAW,  /* the same, with a reason nobody should print */
	FAKE_CLOCK,          /* refuses the announcement by its clock, which shows clock_ms */
	FAKE_LOST,           /* says that it had taken the round and lost it */
	FAKE_WITNESS_AHEAD,
	FAKE_WITNESS_OTHER,
	FAKE_WITNESS_STUCK,
	FAKE_STATED_LATER, /* a client stated a descriptor that follows the ledger's last record */
	FAKE_STATED_OTHER, /* ... another first record */
	FAKE_STATED_ELSE,  /* states a descriptor that is not ours and follows the second */
	FAKE_STATED_OURS,  /* states our descriptor that follows the second */
	FAKE_SILENT_KIND,  /* answers with a frame of another kind */
	FAKE_STORAGE,      /* answers with an error */
};

/* The shuffler's side of one plan, kept across the analyzer's restarts. */
struct fake {
	struct world *world;
	enum fake_fault fault;
	struct rd_chain witness;
	struct rd_descriptor round; /* announced */
	bool announced, settled;
	int64_t clock_ms, our_clock_ms; /* of FAKE_CLOCK; ours: the time that the analyzer's clock shows then,
					   0: WORLD_NOW */
	unsigned released, manifests, busy; /* busy: how often AwaitManifest is put off */
	bool slow;                          /* a bucket is opened only when nothing else is left to do */
	uint64_t participants;
	uint64_t bad;      /* number of messages sealed to another key */
	uint64_t repeated; /* number of messages that their client sent twice */
	uint8_t *message;  /* in bucket order */
	size_t messages, len;
	uint32_t buckets;
	uint32_t segment; /* messages a segment */
};
void fake_free(struct fake *f);

/* Frames the fake answers a request with; r is fed.  Returns what an_round_frame said. */
enum cm_rc fake_answer(
	struct fake *f, const Tombola__V1__Frame *request, struct an_round *r, struct cm_err *err);

/* Judge a planned round and write the decision down, as the daemon does.  CM_EBUDGET: refused. */
enum cm_rc world_decide(struct world *w, uint32_t number, struct cm_err *err);

/* Drive a round of the plan as the daemon does, for at most `actions` actions (then the process "dies": the
 * dialogue is dropped, the ledger files are opened again).  CM_EMORE when it died, CM_OK when the round is
 * done. */
enum cm_rc world_drive(
	struct world *w, struct fake *f, uint32_t number, unsigned actions, struct cm_err *err);
/* The same for a round that is decided, of any plan. */
enum cm_rc world_drive_round(
	struct world *w, struct fake *f, struct an_round_state *r, unsigned actions, struct cm_err *err);
