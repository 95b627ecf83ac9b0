/* an_round_private.h - what the files of the round dialogue share. */
#pragma once

#include "an_round.h"

/* The one request that is on its way out. */
struct an_request {
	Tombola__V1__Frame frame;
	union {
		Tombola__V1__GetWitness get_witness;
		Tombola__V1__ExtendLedger extend_ledger;
		Tombola__V1__Announce announce;
		Tombola__V1__AwaitManifest await_manifest;
		Tombola__V1__Release release;
		Tombola__V1__Pull pull;
		Tombola__V1__Settle settle;
	} body;
	ProtobufCBinaryData record[PR_RECORDS_MAX];
	struct cm_buf charge;
	uint8_t signature[CM_SIGN_LEN];
	char population[PR_TEXT_MAX + 1];
};

struct an_round {
	struct an_round_conf conf;
	enum an_step step;
	enum cm_rc refusal;
	struct rd_chain witness; /* the shuffler's */
	struct rd_manifest manifest;
	bool have_manifest;

	uint32_t bucket;        /* arriving, or next to be asked for */
	bool bucket_checked;    /* its root */
	struct cm_buf arriving; /* its messages so far */
	struct cm_buf opening;  /* the bucket that is being opened */
	uint32_t opening_bucket;
	bool busy;         /* it is */
	bool all_opened;   /* or spoiled: nothing more is to be opened */
	char spoiled[320]; /* why the batch is not the manifest's; "" while it is */

	struct an_request request;
	struct rd_record record; /* to append; owns nothing */
	uint32_t pause_ms;
	bool want_send, want_append, want_open, want_publish, want_erase;
};

/* Go to a step that awaits the shuffler's answer, with the question on its way. */
CM_CHECK enum cm_rc an_ask(struct an_round *r, enum an_step step, struct cm_err *err);
/* An Error that no step has its own rule for: wait when it says busy, else a fault. */
CM_CHECK enum cm_rc an_common_error(
	struct an_round *r, const Tombola__V1__Error *e, const char *step, struct cm_err *err);

/* Prepare a record for AN_ACT_APPEND.  m NULL: the shuffler never took the round. */
void an_charge_record(struct an_round *r);
void an_void_record(struct an_round *r, const struct rd_manifest *m);
void an_settle_record(struct an_round *r, const uint8_t result_hash[PR_HASH_LEN]);

/* Hand over what has arrived and ask for more; publish when there is no more, or the batch is spoiled. */
CM_CHECK enum cm_rc an_next_bucket(struct an_round *r, struct cm_err *err);
CM_CHECK enum cm_rc an_take_segment(struct an_round *r, const Tombola__V1__Segment *s, struct cm_err *err);
