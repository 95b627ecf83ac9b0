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
	bool slices; /* the ledger is of schema /3, in which each plan takes a slice */
	/* PLANNED, and OPENED before schema /3: "plan", or "adaptive." and the name of a filter */
	char mode[CMD_LEDGER_NAME];
	double limit, delta; /* OPENED: budget of the population; PLANNED: the plan's slice */
	/* PLANNED, ENTRY, RESERVED, REFUSED: the plan's hash; "" before schema /3. */
	char plan[CMD_LEDGER_HASH + 1];
	char name[CMD_LEDGER_NAME]; /* PLANNED: name of the plan */
	uint64_t tries;             /* PLANNED: most tries of each entry */
	uint64_t attempt;           /* RESERVED in mode plan of /3: number of the try */
	bool manifest;              /* VOID: the round had a manifest */
	bool unasked;               /* VOID: the shuffler refused to announce the round */
	char population[CMD_LEDGER_NAME], unit[CMD_LEDGER_NAME]; /* OPENED */
	char id[CMD_LEDGER_ID + 1];                              /* all kinds but OPENED, PLANNED and ENTRY */
	uint64_t number;             /* RESERVED, REFUSED: number of the round in its plan */
	uint64_t participants;       /* CHARGED, VOID */
	char query[CMD_LEDGER_NAME]; /* RESERVED, CHARGED, REFUSED */
	/* RESERVED, CHARGED, REFUSED: loss of the round and of all rounds; may be INFINITY */
	double epsilon_round, epsilon_total;
	uint64_t min_reports, colluders; /* RESERVED, CHARGED */
	/* RESERVED, CHARGED.  dummies_each: number of dummies that one participant sends in the round;
	 * dummies_batch: the largest number of these in one batch; dummies_added: most dummies that the
	 * shuffler may add to the whole round. */
	uint64_t dummies_each, dummies_batch, dummies_added;
	/* RESERVED, CHARGED: number of messages of each tag that the shuffler leaves; 0: it leaves all of
	 * them */
	uint64_t tag_messages;
	/* RESERVED, CHARGED: chance that a participant sends one dummy more, the largest of all batches; 0:
	 * nobody does */
	double dummy_chance;
	double honest_fraction; /* RESERVED, CHARGED */
	double share; /* RESERVED, CHARGED in adaptive modes: share of the filter's budget; else NAN */
	/* RESERVED, CHARGED: the round's loss is that of these 1..CMD_LEDGER_PARTS parts composed.
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
