/* cmd_ledger.h - reads the records of a privacy ledger in the form in which `tombola-analyzer ledger
 * export` prints them: one JSON object a line.
 *
 * Three schemas are read: tombola.ledger/3; /2, in which the ledger has one plan, and its rounds are those
 * reserved; and /1, in which a round has one part.  Any bytes are read safely; reading stops at the first
 * damaged line. */
#pragma once

#include "cmd.h"

#define CMD_LEDGER_ID    32u /* hex digits of a round's id */
#define CMD_LEDGER_HASH  64u
#define CMD_LEDGER_NAME  128u
#define CMD_LEDGER_PARTS 64u

enum cmd_record_kind {
	CMD_OPENED,
	CMD_RESERVED,
	CMD_CHARGED,
	CMD_SETTLED,
	CMD_VOID,
	CMD_REFUSED,
	CMD_PLANNED, /* a plan: its slice is spent */
	CMD_ENTRY,   /* a round of a plan */
};

struct cmd_record {
	size_t line;
	enum cmd_record_kind kind;
	uint64_t seq;
	char head[CMD_LEDGER_HASH + 1];
	bool slices; /* the ledger has schema /3: each plan takes a slice of the budget */
	/* in PLANNED, and in OPENED before schema /3: "plan", or "adaptive." and the name of a filter */
	char mode[CMD_LEDGER_NAME];
	/* in OPENED the budget of the population, in PLANNED the plan's slice of it: epsilon and delta */
	double limit, delta;
	/* in PLANNED, ENTRY, RESERVED and REFUSED: the hash of the plan; "" before schema /3 */
	char plan[CMD_LEDGER_HASH + 1];
	char name[CMD_LEDGER_NAME]; /* in PLANNED: name of the plan */
	uint64_t tries;             /* in PLANNED: how often each entry may be tried */
	uint64_t attempt;           /* in RESERVED of mode plan in schema /3: number of the try */
	bool manifest;              /* in VOID: the round had a manifest, so its messages were collected */
	bool unasked;               /* in VOID: the shuffler refused to announce the round */
	/* in OPENED: the population's name, and what one participant is */
	char population[CMD_LEDGER_NAME], unit[CMD_LEDGER_NAME];
	char id[CMD_LEDGER_ID + 1];  /* in all kinds but OPENED, PLANNED and ENTRY: the round's id */
	uint64_t number;             /* in RESERVED and REFUSED: number of the round in its plan */
	uint64_t participants;       /* in CHARGED and VOID: how many took part */
	char query[CMD_LEDGER_NAME]; /* in RESERVED, CHARGED and REFUSED: name of the query */
	/* in RESERVED, CHARGED and REFUSED: loss of the round, and of all rounds together; each may be
	 * INFINITY */
	double epsilon_round, epsilon_total;
	/* in RESERVED and CHARGED: fewest reports of a batch, and how many participants may collude */
	uint64_t min_reports, colluders;
	/* in RESERVED and CHARGED: dummies_each, number of dummies that one participant sends in the round;
	 * dummies_batch, the largest number of these in one batch; dummies_added, most dummies that the
	 * shuffler may add to the whole round */
	uint64_t dummies_each, dummies_batch, dummies_added;
	/* in RESERVED and CHARGED: number of messages of each tag that the shuffler leaves; 0: it leaves
	 * all of them */
	uint64_t tag_messages;
	/* in RESERVED and CHARGED: chance that a participant sends one dummy more, the largest of all
	 * batches; 0: nobody does */
	double dummy_chance;
	/* in RESERVED and CHARGED: the part of participants who are taken to be honest */
	double honest_fraction;
	/* in RESERVED and CHARGED of adaptive modes: share of the filter's budget; else NAN */
	double share;
	/* in RESERVED and CHARGED: the parts, 1..CMD_LEDGER_PARTS, whose composed loss is the round's.
	 * Borrowed from the reader until it reads the next record. */
	const struct acct_round *part;
	size_t parts;
};

struct cmd_ledger;

/* Open a ledger; path "-" is standard input.  Prints a message if that fails. */
enum cm_rc cmd_ledger_open(const char *path, struct cmd_ledger **out);
void cmd_ledger_close(struct cmd_ledger *l);
/* Read a record; *more is false at the end.  An error is printed after "path:line: ". */
enum cm_rc cmd_ledger_next(struct cmd_ledger *l, struct cmd_record *r, bool *more);
/* Print a fault after "path:line: ", and return CM_EDATA. */
__attribute__((format(printf, 3, 4))) enum cm_rc cmd_ledger_fault(
	const struct cmd_ledger *l, size_t line, const char *format, ...);
