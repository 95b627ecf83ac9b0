/* cmd_audit.h - the findings of an audit of a ledger, and how they are printed. */
#pragma once

#include "acct_filter.h"
#include "acct_state.h"
#include "cmd_ledger.h"

/* A plan of the ledger, or all rounds of a ledger older than schema /3, which has one plan. */
struct cmd_audit_plan {
	struct cmd_record planned;
	struct acct_filter filter; /* the filter of an adaptive mode; its kind is 0 in mode plan */
	struct acct_state *state;  /* mode plan: composition of all rounds that hold budget; owned */
};

/* A round of the ledger: one that was reserved, or an entry of a plan that may be tried. */
struct cmd_audit_row {
	struct cmd_record reserved; /* the RESERVED record; its part points to the next member */
	size_t plan;
	uint64_t tries;          /* for an entry: number of tries that ended in a manifest */
	struct acct_round *part; /* owned */
	/* kind of the round's last record; CMD_ENTRY: the round was not announced yet */
	enum cmd_record_kind stage;
	bool returned;           /* adaptive modes: the round is void, and returned what it had reserved */
	struct acct_bound alone; /* loss of the round alone, computed here */
	/* mode plan: loss of all rounds together that held budget when this one was reserved */
	struct acct_bound total;
	struct acct_price price; /* adaptive modes: the round's price in shares of the filter's budget */
	double share; /* adaptive modes: share that all rounds together held when this one was reserved */
};

struct cmd_audit {
	const struct cmd_question *q;
	struct cmd_ledger *ledger;
	struct cmd_record opened;
	struct cmd_audit_plan *plan;
	size_t plans, plans_room;
	struct cmd_audit_row *row;
	size_t rows, room;
	uint64_t records, refused;
	char head[CMD_LEDGER_HASH + 1];
	/* loss of all rounds that hold budget at the end; where plans take slices, the sum of the slices */
	struct acct_bound spent;
	double spent_delta; /* delta of all slices together */
	/* where all belongs to one adaptive plan: share of the filter's budget that is held at the end */
	double share;
	bool over;    /* some reservation exceeded the limit */
	size_t wrong; /* number of records that state less than the loss, or contradict other records */
};

/* The number of rounds that hold budget at the end. */
size_t cmd_audit_held(const struct cmd_audit *a);
/* Does the whole ledger belong to one adaptive plan? */
bool cmd_audit_adaptive(const struct cmd_audit *a);
void cmd_audit_print(const struct cmd_audit *a);
void cmd_audit_json(const struct cmd_audit *a);
