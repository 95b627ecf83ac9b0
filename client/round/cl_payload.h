/* cl_payload.h - fetches the payload of a round in parts, checks it by its hash, and keeps it in the state
 * folder until the round is over.  No network.
 *
 * A payload is public, and what becomes of the fetch is the shuffler's and the network's doing.  A client
 * without the right bytes takes part all the same, at the same times and with messages of the same lengths:
 * each of its devices sends what one without a reading sends. */
#pragma once

#include "cr_hash.h"
#include "pr_msg.h"
#include "rd_descriptor.h"

enum cl_payload_state {
	CL_PAYLOAD_NONE,   /* no round */
	CL_PAYLOAD_WANTED, /* parts are to be fetched */
	CL_PAYLOAD_HERE,   /* whole, and its hash is right */
	CL_PAYLOAD_ABSENT, /* not to be had: given up */
};

struct cl_payload {
	const char *state_dir; /* borrowed; NULL: kept nowhere */
	enum cl_payload_state state;
	uint8_t round_id[PR_ROUND_ID_LEN], hash[PR_HASH_LEN];
	uint64_t size;
	struct cm_buf bytes; /* so far */
	char why[160];       /* ABSENT: why */
};

void cl_payload_init(struct cl_payload *p, const char *state_dir);
void cl_payload_fini(struct cl_payload *p);
/* Begin with the payload of this round, unless that was begun already: HERE if it is kept, WANTED else.  All
 * others are erased.  CM_EINTERNAL out of memory; CM_EIO. */
CM_CHECK enum cm_rc cl_payload_begin(struct cl_payload *p, const struct rd_descriptor *d, struct cm_err *err);
/* Is it decided whether this round's payload is to be had? */
bool cl_payload_settled(const struct cl_payload *p, const struct rd_descriptor *d);
/* The request for the next part. */
void cl_payload_ask(const struct cl_payload *p, Tombola__V1__GetPayload *out);
/* A part.  CM_OK: it is HERE, or ABSENT since the bytes are wrong; CM_EMORE: parts follow; CM_EPROTO: no
 * answer to the request; CM_EINTERNAL out of memory.
 *
 * Bytes that cannot be kept, as on a full disk, are used from memory, with a warning: a client that dies
 * before the round is sealed fetches them again. */
CM_CHECK enum cm_rc cl_payload_take(
	struct cl_payload *p, const Tombola__V1__Payload *part, struct cm_err *err);
/* Give up what is wanted. */
void cl_payload_give_up(struct cl_payload *p, const char *why);
/* The round is over: nothing is kept. */
CM_CHECK enum cm_rc cl_payload_forget(struct cl_payload *p, struct cm_err *err);
