/* an_reserve.h - builds the records OPEN, RESERVE and REFUSE.  No I/O. */
#pragma once

#include "an_state.h"

/* OPEN: the first record of a population's ledger, with its budget for life. */
void an_open_record(
	const struct pl_plan *p, double epsilon, double delta, int64_t now_ms, struct rd_record *out);

struct an_reservation {
	const struct an_round_state *round; /* a round of the plan file, which is pinned */
	const struct qy_query *query;       /* the question: the plan's, or one that follows from an earlier
					     * answer */
	const struct rd_verdict *verdict;
	const struct rd_chain *chain; /* the ledger before this reservation */
	uint64_t payload_size;        /* 0 if there is no payload */
	uint8_t payload_hash[PR_HASH_LEN];
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t hpke_key[CR_HPKE_PUBLIC_LEN];
	int64_t now_ms;
};
/* RESERVE: holds the descriptor, which is signed only after the record is durable.  Free with
 * rd_record_fini. */
CM_CHECK enum cm_rc an_reserve_record(
	const struct an_state *s, const struct an_reservation *v, struct rd_record *out, struct cm_err *err);
/* REFUSE: reserves nothing.  It records what the round would have cost and the reason; NULL: the budget. */
void an_refuse_record(const struct an_reservation *v, const char *reason, struct rd_record *out);
