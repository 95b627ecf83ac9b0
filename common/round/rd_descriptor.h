/* rd_descriptor.h - the signed document that announces a round.  Its bytes are checked once, when they are
 * decoded.  No I/O.
 *
 * The bytes are signed and hashed as received and never re-serialized. */
#pragma once

#include "cm_buf.h"
#include "cr_hash.h"
#include "cr_hpke.h"
#include "cr_sign.h"
#include "pr_limits.h"
#include "pt_device.h"
#include "pt_loss.h"
#include "qy_computing.h"
#include "rd_mode.h"

#define RD_VERSION 1u

struct rd_privacy {
	double epsilon0, epsilon_round, epsilon_total, epsilon_limit, delta;
};

struct rd_descriptor {
	char population[PR_TEXT_MAX + 1];
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint64_t sequence;
	/* SHA-256 of the population's descriptor before this one; zero for the first */
	uint8_t previous[PR_HASH_LEN];
	struct qy_query query;
	struct pt_randomizer randomizer;
	/* What a device computes before it answers, and the payload that this reads.  payload_size is above 0
	 * if and only if payload_max is.  The plan's entry fixes computing and payload_max; payload_size and
	 * payload_hash are the round's own. */
	struct qy_computing computing;
	uint64_t payload_max, payload_size;
	uint8_t payload_hash[PR_HASH_LEN]; /* SHA-256 of the payload; zero if there is none */
	uint32_t messages_per_client, record_len;
	uint64_t min_reports, target;
	double honest_fraction;
	uint64_t colluders;
	int64_t opens_ms, deadline_ms;
	enum cr_hpke_suite suite;
	uint8_t hpke_key[CR_HPKE_PUBLIC_LEN];
	struct rd_privacy privacy;
	char unit[33], mode[RD_MODE_LEN];
	/* hash of the signed plan (rd_plan.h) to which the round belongs */
	uint8_t plan_hash[PR_HASH_LEN];
	/* Mode plan: number of the plan's entry, and number of its try, each from 1.  Adaptive modes: 0. */
	uint32_t entry, attempt;
	/* SHA-256 of the VOID manifest of the entry's try before; zero for the first try */
	uint8_t void_manifest[PR_HASH_LEN];
	uint64_t ledger_seq;
	uint8_t ledger_head[PR_HASH_LEN];
	uint8_t hash[PR_HASH_LEN]; /* SHA-256 of the bytes this was read from */
};

/* Append the descriptor's bytes to out.  d->hash is ignored. */
CM_CHECK enum cm_rc rd_descriptor_encode(
	const struct rd_descriptor *d, struct cm_buf *out, struct cm_err *err);
/* Check that this query and what is computed for it (NULL: nothing) fit a descriptor, even if all else in it
 * is as long as it can be.  CM_ECONFIG: they do not. */
CM_CHECK enum cm_rc rd_descriptor_fits(
	const struct qy_query *q, const struct qy_computing *c, struct cm_err *err);
/* Read and check every field: ranges, lengths, known protocol whose check() passes, messages_per_client and
 * record_len equal to the row's, min_reports 1..target, honest_fraction (0, 1], opens < deadline, known
 * suite and no unknown critical extension.  CM_EPROTO names the field.  Free with rd_descriptor_fini. */
CM_CHECK enum cm_rc rd_descriptor_decode(
	const uint8_t *bytes, size_t len, struct rd_descriptor *out, struct cm_err *err);
void rd_descriptor_fini(struct rd_descriptor *d);
/* Verify the signature (purpose "tombola descriptor"), then decode. */
CM_CHECK enum cm_rc rd_descriptor_verify(const uint8_t *bytes, size_t len,
	const uint8_t signature[CR_SIGN_LEN], const struct cr_verifier *analyzer, struct rd_descriptor *out,
	struct cm_err *err);

/* Check that a round with these times (unix ms) is open at now_ms, or opens within RD_CLOCK_SLACK_MS, by
 * which clocks may differ.  CM_ELATER: it is not; err names the seconds, but not the round. */
#define RD_CLOCK_SLACK_MS 60000
CM_CHECK enum cm_rc rd_in_time(int64_t opens_ms, int64_t deadline_ms, int64_t now_ms, struct cm_err *err);

/* Sealed bytes of one message: record_len + CR_HPKE_OVERHEAD. */
size_t rd_sealed_len(const struct rd_descriptor *d);
/* Bytes of one message as a client submits it: the sealed bytes, after a tag where the round has tags. */
size_t rd_message_len(const struct rd_descriptor *d);
/* HPKE info and aad of a round (doc/wire.md): both bind the descriptor's hash. */
#define RD_INFO_LEN (16u + 1u + PR_HASH_LEN)
#define RD_AAD_LEN  PR_HASH_LEN
void rd_hpke_info(const struct rd_descriptor *d,
	uint8_t info[RD_INFO_LEN]); /* fills in "tombola/1 report", a 0 byte, and the descriptor's hash */
void rd_hpke_aad(const struct rd_descriptor *d, uint8_t aad[RD_AAD_LEN]);

/* floor(share * n), at most n, where share counts as the decimal that was written (acct_decimal.h): a share
 * of 0.29 of 100 is 29. */
uint64_t rd_share_of(double share, uint64_t n);
/* Participants the accountant may count: max(1, floor(honest_fraction * n) - colluders). */
uint64_t rd_honest(uint64_t n, double honest_fraction, uint64_t colluders);
/* The same for d's min_reports, by a party that assumes this honest_fraction and these colluders: the smaller
 * of both fractions counts, and the larger of both numbers of colluders. */
uint64_t rd_honest_as(const struct rd_descriptor *d, double honest_fraction, uint64_t colluders);
/* Numbers of participants of a round: in the smallest batch, certainly honest ones in that batch (rd_honest),
 * and in the largest batch. */
struct rd_batch {
	uint64_t least, honest, most;
};
/* Compute the loss of a round of this randomizer.
 *
 * In rounds with tags only what is certainly honest counts:
 * - Where tags are classes, the honest participants of each class; 1 where the victim may be alone in it.
 * - Where the shuffler evens out tags, the messages of each tag that no colluder sent.
 *
 * All other participants of the largest batch may have chosen the same class, or sent all their messages
 * with the same tag.  A colluder sees which of its messages were dropped, and from that how many messages
 * of the tag others sent.  So where tags depend on values (routes_by_value) and a tag may overflow, the
 * loss is that without evening out. */
CM_CHECK enum cm_rc rd_loss_of(
	const struct pt_randomizer *p, const struct rd_batch *b, struct pt_loss *out, struct cm_err *err);
/* Compute the loss of the round at its guaranteed min_reports, which every party charges. */
CM_CHECK enum cm_rc rd_loss(const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err);
/* The same where `honest` of the min_reports participants are honest.  trusted: the messages that the
 * shuffler is to add count; otherwise the loss is that of a shuffler that adds none. */
CM_CHECK enum cm_rc rd_loss_for(const struct rd_descriptor *d, uint64_t honest, bool trusted,
	struct pt_loss *out, struct cm_err *err);
/* Number of messages that a round with this many participants releases, including the shuffler's; with noise,
 * the expected number. */
uint64_t rd_messages(const struct rd_descriptor *d, uint64_t participants);

#define RD_PURPOSE_DESCRIPTOR "tombola descriptor"
#define RD_PURPOSE_MANIFEST   "tombola manifest"
#define RD_PURPOSE_CHARGE     "tombola charge"
#define RD_PURPOSE_RECEIPT    "tombola receipt"
#define RD_PURPOSE_PLAN       "tombola plan"
#define RD_PURPOSE_LEDGER     "tombola ledger"
#define RD_PURPOSE_STANDING   "tombola standing"
#define RD_PURPOSE_REHEARSAL  "tombola rehearsal"
