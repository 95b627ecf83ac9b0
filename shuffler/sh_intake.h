/* sh_intake.h - submissions of one round: each device at most once, receipts only for what is durable.  No
 * I/O.
 *
 * A batch gathers while the one before it is being committed.  The verdict on a submission is fixed when it
 * is read, but may be told only when nothing it rests on can be lost any more: see sh_intake_waits. */
#pragma once

#include <stdbool.h>

#include "cm_pki.h"
#include "rd_descriptor.h"
#include "sh_batch.h"
#include "sh_refusal.h"
#include "sh_vault.h"

struct sh_intake {
	const struct sh_vault *vault; /* borrowed: the tag key */
	uint32_t messages_each;
	size_t message_len;    /* rd_message_len */
	uint32_t message_tags; /* 0: messages have none */
	bool classes;          /* all messages of a device have one tag */
	uint64_t target;
	int64_t opens_ms, deadline_ms;
	bool closed;         /* sealed or sealing: only repeats are answered with "accepted" */
	size_t max_bytes;    /* not yet durable, at most */
	size_t flying_bytes; /* of the batch being committed; 0: none */
	uint64_t participants;
	struct sh_tags tags;
	struct sh_counts counts;
	struct sh_batch gathering;
	int64_t gathering_since_ms; /* arrival of its first submission */
};

/* One Submit, borrowed for the call. */
struct sh_submit {
	const struct cm_identity *peer;
	const uint8_t *pseudonyms;
	size_t pseudonyms_len;
	const uint8_t *sealed;
	size_t sealed_len;
};

/* Caller's memory; vault is borrowed.  max_bytes: see above, at least PR_FRAME_MAX. */
CM_CHECK enum cm_rc sh_intake_init(struct sh_intake *in, const struct sh_vault *vault,
	const struct rd_descriptor *d, size_t max_bytes, struct cm_err *err);
/* Read back what was durable before a restart. */
CM_CHECK enum cm_rc sh_intake_load(struct sh_intake *in, struct sh_vault *vault, struct cm_err *err);
void sh_intake_fini(struct sh_intake *in);

/* Judge every submission of one Submit: *n outcomes (Tombola__V1__Outcome values) into outcomes.  CM_EPROTO
 * with *no: BAD_MESSAGE for wrong lengths or tags, BUSY before the round opens or when too much is not yet
 * durable; nothing was taken then. */
CM_CHECK enum cm_rc sh_intake_submit(struct sh_intake *in, const struct sh_submit *s, int64_t now_ms,
	uint8_t outcomes[PR_SUBMISSIONS_MAX], size_t *n, struct sh_refusal *no, struct cm_err *err);

/* Which commit an answer given now has to wait for. */
enum sh_wait {
	SH_WAIT_NOT,       /* everything accepted is durable */
	SH_WAIT_FLYING,    /* the commit under way */
	SH_WAIT_GATHERING, /* the one after it */
};
enum sh_wait sh_intake_waits(const struct sh_intake *in);

size_t sh_intake_bytes(const struct sh_intake *in); /* not yet durable */
bool sh_intake_full(const struct sh_intake *in);

/* Hand over what gathered, to be committed (one at a time): *out is the caller's to fini after
 * sh_intake_committed. */
void sh_intake_take(struct sh_intake *in, struct sh_batch *out);
void sh_intake_committed(struct sh_intake *in);
