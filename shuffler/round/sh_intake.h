/* sh_intake.h - accepts the reports of one round, each device at most once, and lets receipts out only for
 * durable reports.  No I/O.
 *
 * A batch gathers while the previous one is being committed.  The outcome of a report is decided when it is
 * read.  The answer may be sent only when the data that the outcome rests on is durable: see
 * sh_intake_waits. */
#pragma once

#include <stdbool.h>

#include "cr_pki.h"
#include "rd_descriptor.h"
#include "sh_batch.h"
#include "sh_refusal.h"
#include "sh_vault.h"

struct sh_limits {
	size_t max_bytes;     /* most bytes of reports that are not durable yet; at least PR_FRAME_MAX */
	uint64_t most_of_one; /* most devices that one certificate may have in the round */
};

struct sh_intake {
	const struct sh_vault *vault; /* the round's vault, borrowed: its key makes the tags */
	uint32_t messages_each;
	size_t message_len;    /* bytes of one message as submitted: rd_message_len */
	uint32_t message_tags; /* number of different tags that messages may have; 0: messages have none */
	bool classes;          /* tags are classes: all messages of a device have one tag */
	uint64_t target;
	int64_t opens_ms, deadline_ms; /* without effect in an intake's share (sh_share.h) */
	bool closed; /* the round is being sealed or is sealed: only repeated reports are still accepted */
	struct sh_limits limits;
	size_t flying_bytes; /* bytes of the batch that is being committed; 0: none is */
	uint64_t participants;
	struct sh_tags tags;
	struct sh_counts counts;
	struct sh_batch gathering;
	int64_t gathering_since_ms; /* when the first submission of the gathering batch came */
};

/* One Submit, borrowed for the call. */
struct sh_submit {
	const struct cr_identity *peer;
	const uint8_t *pseudonyms;
	size_t pseudonyms_len;
	const uint8_t *sealed;
	size_t sealed_len;
	const uint8_t *salts; /* salts by which the devices blind their receipts */
	size_t salts_len;
	/* MAC of the client's standing, PR_MAC_LEN bytes, and the gateway that it names, PR_HASH_LEN bytes;
	 * NULL: there is none, as from an older client */
	const uint8_t *mac, *gateway;
};

/* Initialise the caller's struct; vault is borrowed. */
CM_CHECK enum cm_rc sh_intake_init(struct sh_intake *in, const struct sh_vault *vault,
	const struct rd_descriptor *d, struct sh_limits limits, struct cm_err *err);
/* Load the durable reports, after a restart or those stored by other intakes, in place of those that it
 * had.  Nothing may be gathered or flying. */
CM_CHECK enum cm_rc sh_intake_load(struct sh_intake *in, struct sh_vault *vault, struct cm_err *err);
void sh_intake_fini(struct sh_intake *in);

/* Decide on every report of one Submit; writes *n outcomes (Tombola__V1__Outcome).  CM_EPROTO with *no, and
 * nothing is accepted: BAD_MESSAGE for wrong lengths, for more devices than the certificate allows (both
 * checked before anything is hashed or copied) or for wrong tags; BUSY before the round opens, or when too
 * many bytes are not durable yet.  From the deadline on, once the round is closed, and when it has `target`
 * devices, the call still succeeds: reports that it has already are ACCEPTED again, others are CLOSED. */
CM_CHECK enum cm_rc sh_intake_submit(struct sh_intake *in, const struct sh_submit *s, int64_t now_ms,
	uint8_t outcomes[PR_SUBMISSIONS_MAX], size_t *n, struct sh_refusal *no, struct cm_err *err);

/* The commit for which an answer must wait. */
enum sh_wait {
	SH_WAIT_NOT,       /* for no commit: everything that the answer states is durable */
	SH_WAIT_FLYING,    /* for the commit in progress */
	SH_WAIT_GATHERING, /* for the commit after that */
};
enum sh_wait sh_intake_waits(const struct sh_intake *in);

size_t sh_intake_bytes(const struct sh_intake *in); /* How many bytes of reports are not durable yet. */
bool sh_intake_full(const struct sh_intake *in);

/* Move the gathered batch to *out, to be committed; one at a time.  The caller frees *out after
 * sh_intake_committed. */
void sh_intake_take(struct sh_intake *in, struct sh_batch *out);
void sh_intake_committed(struct sh_intake *in);
/* Store the standings of n certificates and their gateways in the round with this descriptor, durably; on the
 * thread that stores batches. */
CM_CHECK enum cm_rc sh_intake_stand(const struct sh_store *store, uint64_t sequence,
	const uint8_t descriptor_hash[PR_HASH_LEN], const struct sh_stand *stand, size_t n,
	struct cm_err *err);
/* Store a batch durably, on any thread with that thread's rng: first the standings of its certificates in
 * round d (at an intake the head has stored them), then its messages and tags.  A crash in between leaves a
 * standing without its report, never a report without its standing. */
CM_CHECK enum cm_rc sh_intake_store(struct sh_vault *vault, const struct rd_descriptor *d,
	struct sh_batch *batch, const struct cr_rng *rng, struct cm_err *err);
/* Compute the root that the receipt of this Submit signs, for its n outcomes. */
void sh_intake_root(const struct rd_descriptor *d, const struct sh_submit *s, const uint8_t *outcomes,
	size_t n, uint8_t root[PR_HASH_LEN]);
