/* an_round_ask.h - private to an_round.c: the state of the round dialogue, its requests, and the records that
 * it makes. */
#pragma once

#include "an_round.h"
#include "an_witness.h"

/* The request being sent. */
struct an_request {
	Tombola__V1__Frame frame;
	union {
		Tombola__V1__GetWitness get_witness;
		Tombola__V1__ExtendLedger extend_ledger;
		Tombola__V1__PutPayload put_payload;
		Tombola__V1__Announce announce;
		Tombola__V1__AwaitManifest await_manifest;
		Tombola__V1__Release release;
		Tombola__V1__Pull pull;
		Tombola__V1__Settle settle;
	} body;
	ProtobufCBinaryData record[PR_RECORDS_MAX];
	struct cm_buf charge;
	uint8_t signature[CR_SIGN_LEN];
	char population[PR_TEXT_MAX + 1];
	uint8_t ledger_signature[CR_SIGN_LEN];
};

struct an_round {
	struct an_round_conf conf;
	enum an_step step;
	bool announced, lost;    /* announced: the shuffler accepted the round; lost: it no longer knows the
				  * round */
	struct rd_chain witness; /* the ledger as the shuffler has witnessed it */
	uint64_t put;            /* bytes of the payload that the shuffler holds, as far as is known */
	unsigned put_again;      /* how often it refused the announcement because it lacked the payload */
	struct rd_manifest manifest;
	bool have_manifest;

	uint32_t bucket;        /* the bucket that is arriving or will be requested next */
	bool bucket_whole;      /* all of the bucket has arrived, and waits until the one before is opened */
	struct cm_buf arriving; /* the bucket's messages so far */
	struct cm_buf opening;  /* the bucket whose messages are being opened */
	uint32_t opening_bucket;
	bool busy;         /* a worker thread is opening the messages in `opening` */
	bool all_opened;   /* no bucket is left to open, or the batch is spoiled */
	char spoiled[320]; /* why the batch contradicts its manifest; empty if it does not */

	struct an_request request;
	struct rd_record record; /* the record to append; owns nothing */
	uint32_t pause_ms;
	char waits[PR_TEXT_MAX + 1]; /* why the shuffler accepts no ledger now, or not this round because of
					its clock; otherwise empty */
	bool clock_said;             /* a reason about the clock was reported */
	bool want_send, want_append, want_open, want_publish, want_erase;
};

/* Enter a step that expects an answer, and prepare its request for sending. */
CM_CHECK enum cm_rc an_ask(struct an_round *r, enum an_step step, struct cm_err *err);
/* Handle an Error for which the step has no rule of its own: pause if it is BUSY, otherwise a fault. */
CM_CHECK enum cm_rc an_common_error(
	struct an_round *r, const Tombola__V1__Error *e, const char *step, struct cm_err *err);

/* The text with which the reason of a VOID begins if the shuffler refuses to announce the round.  It is
 * AN_NOT_TAKEN, because no client was asked, unless the shuffler took the round before and has lost it
 * since: then devices may have answered. */
const char *an_refusal(const struct an_round *r);
/* Prepare a record for AN_ACT_APPEND.  If m is NULL, the shuffler never accepted the round. */
void an_charge_record(struct an_round *r);
void an_void_record(struct an_round *r, const struct rd_manifest *m);
void an_settle_record(struct an_round *r, const uint8_t result_hash[PR_HASH_LEN]);
