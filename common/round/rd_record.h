/* rd_record.h - ledger records and their hash chain, as the analyzer writes and the shuffler witnesses them.
 * No I/O. */
#pragma once

#include "rd_descriptor.h"

enum rd_record_kind {
	RD_OPEN = 1,
	RD_RESERVE,
	RD_CHARGE,
	RD_SETTLE,
	RD_VOID,
	RD_REFUSE,
	RD_PLAN, /* a plan is pinned, and its whole slice is spent */
};
const char *rd_record_kind_name(enum rd_record_kind kind);

struct rd_record {
	enum rd_record_kind kind;
	uint64_t seq;
	int64_t time_ms;
	/* in OPEN: the population's name, and what one participant is */
	char population[PR_TEXT_MAX + 1], unit[33];
	double epsilon_limit, delta;       /* in OPEN: the budget of the population, for life */
	uint8_t plan_hash[PR_HASH_LEN];    /* in RESERVE and REFUSE: hash of the plan */
	uint8_t round_id[PR_ROUND_ID_LEN]; /* in all records but OPEN and PLAN: the round's id */
	struct cm_buf descriptor;          /* in RESERVE: the signed descriptor; owned */
	struct cm_buf plan;                /* in PLAN: the signed bytes; owned */
	uint8_t signature[CR_SIGN_LEN];    /* in PLAN: the analyzer's signature of the plan */
	/* in CHARGE and VOID: SHA-256 of the manifest; zero in a VOID of a round without one */
	uint8_t manifest_hash[PR_HASH_LEN];
	uint64_t participants; /* in CHARGE and VOID: how many took part */
	double epsilon_round, epsilon_total;
	uint8_t result_hash[PR_HASH_LEN]; /* in SETTLE: SHA-256 of the result */
	char reason[PR_TEXT_MAX + 1]; /* in VOID, REFUSE and a SETTLE without a result: why, cut and cleaned
					 for display by encode */
	uint32_t plan_round;          /* in RESERVE and REFUSE: number of the round in the plan file */
	char query[65];               /* in REFUSE: name of the query */
};
CM_CHECK enum cm_rc rd_record_encode(const struct rd_record *r, struct cm_buf *out, struct cm_err *err);
/* CM_EDATA when the bytes are malformed, or a field is missing or belongs to another kind of record.
 * Encoding such a record: CM_EINTERNAL. */
CM_CHECK enum cm_rc rd_record_decode(
	const uint8_t *bytes, size_t len, struct rd_record *out, struct cm_err *err);
void rd_record_fini(struct rd_record *r);

/* A position in the chain: head_i = SHA-256(head_{i-1} || bytes of record i), head_0 zero. */
struct rd_chain {
	uint64_t seq;
	uint8_t head[PR_HASH_LEN];
};
/* Extend the chain by one record, whose seq must be chain->seq + 1.  CM_EDATA leaves *chain as it is.  *out
 * gets the decoded record, which the caller frees; out may be NULL. */
CM_CHECK enum cm_rc rd_chain_extend(
	struct rd_chain *chain, const uint8_t *bytes, size_t len, struct rd_record *out, struct cm_err *err);
