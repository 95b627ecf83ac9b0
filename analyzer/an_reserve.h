/* an_reserve.h - the records that open a ledger, set a round's budget aside, or refuse it.  No I/O. */
#pragma once

#include "an_state.h"

/* The first record of a plan's ledger. */
void an_open_record(const struct pl_plan *p, int64_t now_ms, struct rd_record *out);

struct an_reservation {
	const struct pl_round *round;
	const struct pt_query *query; /* what is asked: the plan's, or as an earlier answer has made it */
	const struct rd_verdict *verdict;
	const struct rd_chain *chain; /* the ledger before this reservation */
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t hpke_key[CM_HPKE_PUBLIC_LEN];
	int64_t now_ms;
};
/* RESERVE, holding the descriptor whose signature comes after the record is durable.  Free with
 * rd_record_fini. */
CM_CHECK enum cm_rc an_reserve_record(
	const struct an_state *s, const struct an_reservation *v, struct rd_record *out, struct cm_err *err);
/* REFUSE: nothing is reserved; the record keeps what it would have cost, and why not: the budget when reason
 * is NULL. */
void an_refuse_record(const struct an_reservation *v, const char *reason, struct rd_record *out);
