/* pt_protocol.h - the table of protocols: one row each, one file each.
 *
 * A row says how a value becomes messages (client), how messages become counts and counts an estimate
 * (analyzer), and which blanket cells follow (accountant).  No switch on protocols stands anywhere else. Rows
 * are pure: randomness comes in.  Sources: doc/protocols.md. */
#pragma once

#include <stdbool.h>

#include "acct.h"
#include "cm_rand.h"
#include "pt_loss.h"
#include "pt_query.h"

#define PT_RECORD_MAX   4096u
#define PT_EPSILON0_MAX 16.0
/* Below it P - Q, which an estimate is divided by, would lose more than a millionth to rounding, and at last
 * be 0; a plan's least is a hundred times as much. */
#define PT_EPSILON0_MIN 1e-6
/* A shuffler seals some 10,000 a second and keeps about 64 bytes of each: a quarter of an hour, 640 MB on
 * disk. */
#define PT_SHUFFLER_DUMMIES_MAX 10000000u

#define PT_SLOTS_MAX PT_PARTS_MAX
#define PT_TAGS_MAX  65535u
/* What a NULL message says, for its sender. */
#define PT_NOTHING "nothing"

/* Slots of one kind in a round that has several: each client sends each slot one message and its dummies, and
 * a slot's messages are a batch of their own (pt_slots.h). */
struct pt_slot {
	uint32_t count;   /* slots like this, 1 or more */
	uint32_t groups;  /* G: the client draws one and answers for it alone; 1 or more */
	uint32_t bins;    /* k: what it can answer, 2..PR_CATEGORIES_MAX */
	uint32_t dummies; /* that each client adds to each slot, uniform on the G k bins */
	bool keep_always;
	uint64_t keep;         /* keep probability * 2^64, else */
	uint64_t dummy_chance; /* as in pt_params: of one more in each slot */
};

/* The exact randomizer of a round, as it stands in the signed descriptor. */
struct pt_params {
	char protocol[32];
	uint32_t bins;    /* k: alphabet of one message, 2..PR_CATEGORIES_MAX */
	uint32_t dummies; /* blanket messages each client adds */
	/* Chance * 2^64 that one message more of each client is a dummy, too; else it is NULL, which counts
	 * as nothing.  0: there is no such message.  Only rows with rare_dummy. */
	uint64_t dummy_chance;
	bool keep_always; /* eps_L = infinity */
	uint64_t keep;    /* keep probability * 2^64, else */
	uint32_t size;    /* of a subset, or cells of a hash; 0 where a row has none */
	uint64_t other; /* chance * 2^64 that an item that is not held is reported; of "rotated" the scale; 0
			   where a row has neither */
	uint64_t shuffler_dummies; /* blanket messages the shuffler adds to the round, in all; only rows with
				      dummy() */
	struct pt_slot slot[PT_SLOTS_MAX]; /* rows with several batches in a round; bins, dummies and keep
					      above are 0 there */
	uint32_t slots;
	/* Rows with route(): tags of the round's messages, at most PT_TAGS_MAX; 0: none. */
	uint32_t tags;
	/* Messages of each tag that the shuffler releases: what is above is dropped, uniformly, what is
	 * missing is filled with dummies of that tag.  0: as they come.  At most PT_SHUFFLER_DUMMIES_MAX in
	 * all. */
	uint64_t tag_messages;
	/* Where a tag is a class that a device chose, and all its messages have it: the participants each
	 * class must have, else the round is void.  None: all 0. */
	uint32_t tag_least[PT_SLOTS_MAX];
	/* Rows with `noise`: the dummies of each bin that the shuffler adds, by pt_noise.h; 0: none. */
	uint64_t noise_decay;
	uint32_t noise_mean;
};

/* What a plan asks for. */
struct pt_request {
	double epsilon0; /* local guarantee in nats; INFINITY for none */
	uint32_t levels; /* bins of a number; 0: the row chooses */
	uint32_t dummies;
	uint64_t dummy_chance;               /* as in pt_params */
	uint32_t size;                       /* as in pt_params; 0: the row chooses */
	uint32_t slots;                      /* vectors: batches of the round; 0: the row chooses */
	uint64_t min_batch;                  /* for choices that depend on n */
	uint64_t shuffler_dummies;           /* as in pt_params */
	uint64_t padded;                     /* tag_messages of pt_params; 0: the row chooses */
	double class_epsilon0[PT_SLOTS_MAX]; /* of each class, rising; epsilon0 is the most there may be */
	uint32_t class_least[PT_SLOTS_MAX];  /* its least participants */
	uint32_t classes;
	double noise_epsilon; /* the round is to have it by noise of the shuffler; 0: no such noise */
	double noise_delta;
};

/* One answer with its interval.  Counts for a histogram, the quantity itself for a mean. */
struct pt_item {
	const char *label; /* borrowed from the query, or from the estimate's names */
	double value;      /* raw unbiased estimate */
	double variance;
	double lower, upper;             /* 95 % for this item alone */
	double joint_lower, joint_upper; /* 95 % for all items together */
	double projected;                /* consistent with the others and the domain; biased */
	double bias; /* most that `value` may be off by, whatever was answered; the intervals allow for it */
	bool below_noise; /* the interval does not exclude "nothing there" */
};
struct pt_estimate {
	struct pt_item *item; /* n items */
	size_t n;
	double noise_floor; /* smallest count told apart from none, jointly at 95 % */
	uint64_t reports;   /* participants */
	char *names;        /* memory of labels that the query does not have; NULL if it has them; owned */
};
void pt_estimate_fini(struct pt_estimate *e);

/* What of a request "auto" varies when it considers a row (pl_choose.h). */
enum pt_automatic {
	PT_AUTO = 1, /* epsilon0 */
	PT_AUTO_DUMMIES = 2,
	PT_AUTO_LEVELS = 4,
	PT_AUTO_SIZES = 8,
	PT_AUTO_SLOTS = 16, /* with sizes of words */
};

struct pt_protocol {
	const char *name;    /* "grr": plan files, tombola-accountant */
	const char *summary; /* one line for --help */
	unsigned kinds;      /* the enum pt_kind it answers, or-ed */

	/* Plan to exact parameters; thresholds are rounded towards more noise.  CM_ECONFIG names the
	 * parameter. */
	enum cm_rc (*derive)(const struct pt_query *q, const struct pt_request *r, struct pt_params *out,
		struct cm_err *err);
	/* Are a peer's parameters possible for this query?  CM_EPROTO otherwise. */
	enum cm_rc (*check)(const struct pt_query *q, const struct pt_params *p, struct cm_err *err);
	uint32_t (*messages)(const struct pt_params *p);   /* per client, the same for every client */
	uint32_t (*record_len)(const struct pt_params *p); /* bytes of each message, at most PT_RECORD_MAX */
	uint32_t (*tallies)(const struct pt_params *p);    /* counts of a round, 1..PR_TALLIES_MAX */
	double (*epsilon0)(const struct pt_params *p);     /* local guarantee, rounded up */
	/* Blanket cells for `participants` honest clients.  CM_EPROTO if out of the accountant's range. */
	enum cm_rc (*cells)(
		const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err);
	/* The same of a row whose rounds are several of the accountant's, and which has no cells(). */
	enum cm_rc (*loss)(
		const struct pt_params *p, uint64_t participants, struct pt_loss *out, struct cm_err *err);
	/* messages() records of record_len() bytes each, in random order among themselves.  No branch or
	 * index depends on the value or on which outcome was drawn. */
	void (*encode)(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
		const struct cm_rng *rng, uint8_t *records);
	/* The tag of each of a client's messages, below tags: what encode() made of the value, or the value's
	 * class, says it.  The shuffler sees tags, the analyzer does not.  NULL: messages have none. */
	void (*route)(const struct pt_params *p, const struct pt_value *value, const uint8_t *records,
		uint16_t *tags);
	/* The tags depend on values: no count of them may be told, nor the time that filling up takes. */
	bool routes_by_value;
	bool classes_apart; /* a class is a batch of its own: its members alone hide each other */
	bool noise;         /* the shuffler may draw how many dummies of each bin it adds */
	bool rare_dummy;    /* a client's dummies may be a fraction: dummy_chance */
	/* One blanket record, as the shuffler adds them, of this tag (0 where there are none): of one law
	 * whatever anybody holds, of the bytes a client's message has; of a round with noise, of the bin
	 * `tag`. NULL: no shuffler may add any, and shuffler_dummies, tag_messages and noise_mean are 0. */
	void (*dummy)(const struct pt_params *p, uint32_t tag, const struct cm_rng *rng, uint8_t *record);
	/* Add one opened record to counts[tallies()], at most 1 to each; at most O(bins) work.  CM_EDATA if
	 * it is none of this round's: nothing is added then. */
	enum cm_rc (*tally)(
		const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);
	/* What a record says, in words for its sender: "+3 -4 of slot 2".  NULL: what it counts as says it.
	 */
	void (*describe)(const struct pt_query *q, const struct pt_params *p, const uint8_t *record,
		char *out, size_t size);
	/* counts[tallies()] of the tallied records of `reports` participants. */
	enum cm_rc (*estimate)(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
		uint64_t reports, struct pt_estimate *out, struct cm_err *err);
	/* Root mean square error to expect of an answer, by its exact variance: pt_expect.h. */
	double (*expected_error)(const struct pt_query *q, const struct pt_params *p, uint64_t participants);
	/* What the row's paper says of such a round, beside what holds, in a sentence or two; "" where
	 * nothing can be said.  NULL: there is nothing to say. */
	void (*statement)(const struct pt_query *q, const struct pt_params *p, uint64_t participants,
		double delta, char *out, size_t size);
	unsigned automatic; /* enum pt_automatic, or-ed; 0: "auto" never chooses this row */
};

/* Dummies of a client as one number, 0..2^32-1: their whole part, and the rest as the chance of one more,
 * never below it. */
void pt_request_dummies(struct pt_request *r, double dummies);
double pt_dummies_each(uint32_t dummies, uint64_t chance);

/* The same randomizer? */
bool pt_params_equal(const struct pt_params *a, const struct pt_params *b);

/* NULL if there is none. */
const struct pt_protocol *pt_find(const char *name);
/* Row i, NULL past the last. */
const struct pt_protocol *pt_row(size_t i);
