/* sh_payloads.h - payloads of rounds: put by the analyzer before the round, given to clients while it is
 * open.
 *
 * They are public bytes, so they are stored as they are.  There is one for each live round at most, and one
 * that no round has yet. */
#pragma once

#include "sh_live.h"

/* Kept at a time: one of each live round, and the one that is put for the next. */
#define SH_PAYLOADS_MAX (SH_ROUNDS_MAX + 2u)

struct sh_payloads {
	/* Borrowed; set by the owner. */
	const struct sh_store *store;
	const struct sh_live *live;
	uint64_t max_bytes;                         /* the policy's */
	struct sh_payload payload[SH_PAYLOADS_MAX]; /* as stored */
	size_t n;
};

/* Find the stored payloads, once the live rounds are known: those of rounds that are over are erased. */
CM_CHECK enum cm_rc sh_payloads_load(struct sh_payloads *s, struct cm_err *err);
/* Erase this payload unless a live round has it. */
CM_CHECK enum cm_rc sh_payloads_drop(
	struct sh_payloads *s, const uint8_t hash[PR_HASH_LEN], struct cm_err *err);
/* Refuse a descriptor whose payload is not held whole. */
CM_CHECK enum cm_rc sh_payloads_check(
	const struct sh_payloads *s, const struct rd_descriptor *d, struct sh_refusal *no);

/* A PutPayload (borrowed).  Appends what continues the bytes that are held; *held: how many these are now.
 * The first part of another payload erases one that no round has.  When it is whole, its hash is checked, and
 * it is durable. */
struct sh_put {
	struct cr_span hash, data;
	uint64_t size, offset;
};
CM_CHECK enum cm_rc sh_payloads_put(struct sh_payloads *s, const struct sh_put *put, uint64_t *held,
	struct sh_refusal *no, struct cm_err *err);

/* Write bytes of the payload of an open round to out, which has room for PR_PAYLOAD_PART: as many as were
 * asked for, or as follow.  CM_EPROTO with *no: it has no payload, or none at this offset. */
struct sh_part {
	uint64_t offset;
	uint32_t length;
};
CM_CHECK enum cm_rc sh_payloads_get(const struct sh_payloads *s, const struct rd_descriptor *d,
	const struct sh_part *part, uint8_t *out, size_t *out_len, struct sh_refusal *no, struct cm_err *err);
