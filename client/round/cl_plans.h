/* cl_plans.h - requests the documents that a running client needs from its shuffler besides rounds: the
 * standing on every connection, the plan that a descriptor names, the manifest of an earlier try, and the
 * payload of the round.  It fills frames and processes answers; it uses the database and no network. */
#pragma once

#include "cl_conf.h"
#include "cl_judge.h"
#include "cl_payload.h"
#include "cl_pins.h"
#include "pr_msg.h"

enum cl_ask { CL_ASK_ROUND, CL_ASK_STANDING, CL_ASK_PLAN, CL_ASK_MANIFEST, CL_ASK_PAYLOAD };

struct cl_plans {
	const struct cl_setup *setup;
	struct cl_db *db;              /* NULL if a plan is only fetched, into `fetched` */
	uint8_t key_hash[PR_HASH_LEN]; /* hash of the key of this client's certificate */
	uint32_t devices;              /* number of devices that the certificate speaks for */
	const struct cr_key *secret;   /* the secret in gateway.key, borrowed; NULL without db */
	bool standing;                 /* the standing arrived on this connection */
	uint8_t gateway[PR_HASH_LEN];  /* as the request for the standing names it */
	char foreign[320];             /* why the last standing is not this client's; empty if it is */
	/* why the shuffler is not reached, or refuses to be asked for rounds; empty while it answers */
	char away[400];
	struct cm_buf newest; /* the newest descriptor in db; its signature follows */
	uint8_t newest_signature[CR_SIGN_LEN];
	struct cd_need need;       /* the document that the current round needs */
	char absent[320];          /* why the needed document cannot be had; empty if no document is absent */
	struct cl_payload payload; /* the payload of the current round, until that is over */
	struct cm_buf fetched;     /* the fetched plan, if there is no database */
	uint8_t fetched_signature[CR_SIGN_LEN];
	atomic_bool stop; /* set to true to end a composition on another thread */
};
/* Initialise, and read the certificate's key.  db and secret are borrowed; give both or neither.
 * CM_ENOINPUT, CM_EDATA. */
CM_CHECK enum cm_rc cl_plans_init(struct cl_plans *p, const struct cl_setup *setup, struct cl_db *db,
	const struct cr_key *secret, struct cm_err *err);
/* Read the certificate's key again after a reload, since it may have changed. */
CM_CHECK enum cm_rc cl_plans_reload(struct cl_plans *p, struct cm_err *err);
void cl_plans_fini(struct cl_plans *p);
/* The connection ended: discard the standing that it delivered. */
void cl_plans_down(struct cl_plans *p);
/* Forget which documents the current round needed, before it is judged anew or replaced by another
 * round. */
void cl_plans_begin(struct cl_plans *p);

/* The next request to send. */
enum cl_ask cl_plans_next(const struct cl_plans *p);
/* Storage for the message inside a frame while the frame is sent. */
union cl_plans_wire {
	Tombola__V1__GetStanding standing;
	Tombola__V1__GetPlan plan;
	Tombola__V1__GetManifest manifest;
	Tombola__V1__GetPayload payload;
};
/* Fill the frame of a request other than CL_ASK_ROUND.  The bytes it points to belong to p until the next
 * call. */
CM_CHECK enum cm_rc cl_plans_frame(struct cl_plans *p, enum cl_ask ask, Tombola__V1__Frame *frame,
	union cl_plans_wire *wire, struct cm_err *err);

/* Process an answer.  CM_OK: continue; a current round is judged again, without the documents that cannot be
 * had (absent).  CM_EMORE: ask for the next part.  CM_ELATER: ask again after a pause.  CM_EPROTO, CM_EPERM:
 * drop the peer: it answered another request, or its signature is wrong; or, with `foreign`, ask again later.
 * CM_EIO, CM_EDATA, CM_EINTERNAL: a fault of this client.  *lost: the shuffler proved, for the first time,
 * that this ledger lost a round; err has the text. */
CM_CHECK enum cm_rc cl_plans_answer(struct cl_plans *p, enum cl_ask ask, const Tombola__V1__Frame *frame,
	int64_t now_ms, bool *lost, struct cm_err *err);
