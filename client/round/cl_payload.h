/* cl_payload.h - fetches the payload of a round in parts, checks it by its hash, and keeps it in the state
 * folder until the round is over.  It uses no network itself.
 *
 * A payload is public, and whether the fetch succeeds depends on the shuffler and the network only.  A
 * client without the right bytes takes part all the same, at the same times and with messages of the same
 * lengths: each of its devices sends what a device without a reading sends. */
#pragma once

#include "cr_hash.h"
#include "pr_msg.h"
#include "rd_descriptor.h"

enum cl_payload_state {
	CL_PAYLOAD_NONE,   /* the payload of no round was begun */
	CL_PAYLOAD_WANTED, /* parts have still to be fetched */
	CL_PAYLOAD_HERE,   /* complete, and its hash is right */
	CL_PAYLOAD_ABSENT, /* given up: it cannot be had */
};

struct cl_payload {
	const char *state_dir; /* borrowed; NULL if the payload is kept in memory only */
	enum cl_payload_state state;
	uint8_t round_id[PR_ROUND_ID_LEN], hash[PR_HASH_LEN];
	uint64_t size;
	struct cm_buf bytes; /* the bytes that have arrived */
	char why[160];       /* if ABSENT, the reason */
};

void cl_payload_init(struct cl_payload *p, const char *state_dir);
void cl_payload_fini(struct cl_payload *p);
/* Begin with the payload of this round, unless that was begun already.  The state becomes HERE if it is
 * kept, otherwise WANTED.  All other payloads are erased.  CM_EINTERNAL: out of memory; CM_EIO. */
CM_CHECK enum cm_rc cl_payload_begin(struct cl_payload *p, const struct rd_descriptor *d, struct cm_err *err);
/* Whether it is decided if this round's payload can be had. */
bool cl_payload_settled(const struct cl_payload *p, const struct rd_descriptor *d);
/* Fill the request for the next part. */
void cl_payload_ask(const struct cl_payload *p, Tombola__V1__GetPayload *out);
/* Process a part.  CM_OK: the payload is HERE, or it is ABSENT because the bytes are wrong; CM_EMORE: parts
 * follow; CM_EPROTO: the part does not answer the request; CM_EINTERNAL: out of memory.
 *
 * Bytes that cannot be kept, as on a full disk, are used from memory, with a warning: a client that dies
 * before the round is sealed fetches them again. */
CM_CHECK enum cm_rc cl_payload_take(
	struct cl_payload *p, const Tombola__V1__Payload *part, struct cm_err *err);
/* Give up a payload that is still WANTED. */
void cl_payload_give_up(struct cl_payload *p, const char *why);
/* Erase the payload, because its round is over. */
CM_CHECK enum cm_rc cl_payload_forget(struct cl_payload *p, struct cm_err *err);
