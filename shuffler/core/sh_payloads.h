/* sh_payloads.h - payloads of rounds: the analyzer sends them before the round, and clients get them while
 * it is open.
 *
 * They are public bytes, so they are not encrypted.  At most one is held for each live round, and one for a
 * round that is not announced yet. */
#pragma once

#include "sh_live.h"

/* At most this many are held: one for each live round, and the one for the next round. */
#define SH_PAYLOADS_MAX (SH_ROUNDS_MAX + 2u)

struct sh_payloads {
	/* Borrowed; the owner sets it. */
	const struct sh_store *store;
	const struct sh_live *live;
	uint64_t max_bytes;                         /* the limit of the policy */
	struct sh_payload payload[SH_PAYLOADS_MAX]; /* copies of the stored ones, perhaps incomplete */
	size_t n;
};

/* Load the stored payloads, once the live rounds are known.  Those of rounds that are over are erased. */
CM_CHECK enum cm_rc sh_payloads_load(struct sh_payloads *s, struct cm_err *err);
/* Erase this payload unless a live round has it. */
CM_CHECK enum cm_rc sh_payloads_drop(
	struct sh_payloads *s, const uint8_t hash[PR_HASH_LEN], struct cm_err *err);
/* Refuse a descriptor whose payload is not held completely. */
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
