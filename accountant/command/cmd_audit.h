/* cmd_audit.h - what an audit of a ledger found, and how it is told. */
#pragma once

#include "acct_filter.h"
#include "acct_state.h"
#include "cmd_ledger.h"

/* A round the ledger reserved. */
struct cmd_audit_row {
	struct cmd_record reserved; /* its part is the next */
	struct acct_round *part;    /* owned */
	enum cmd_record_kind stage; /* its last record */
	struct acct_bound alone;    /* computed here */
	struct acct_bound total;    /* mode plan: of everything held then */
	struct acct_price price;    /* adaptive modes: of the filter's budget */
	double share;               /* of the filter's budget, everything held then */
};

struct cmd_audit {
	const struct cmd_question *q;
	struct cmd_ledger *ledger;
	struct cmd_record opened;
	struct cmd_audit_row *row;
	size_t rows, room;
	uint64_t records, refused;
	char head[CMD_LEDGER_HASH + 1];
	struct acct_filter filter; /* kind 0: mode plan */
	struct acct_state *state;  /* mode plan */
	struct acct_bound spent;   /* everything held at the end */
	double share;              /* adaptive modes: the same, of the filter's budget */
	bool over;                 /* some reservation went over the limit */
	size_t wrong;              /* records that say less than there is, or contradict others */
};

/* Rounds that hold budget at the end. */
size_t cmd_audit_held(const struct cmd_audit *a);
void cmd_audit_print(const struct cmd_audit *a);
void cmd_audit_json(const struct cmd_audit *a);
