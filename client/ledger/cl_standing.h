/* cl_standing.h - detects a ledger that was restored from a copy, cloned or lost, and closes the plans
 * concerned.
 *
 * For the key of each certificate the shuffler keeps the last round in which it accepted a report, with a MAC
 * that this client sent with the report and that nobody else can make.  It keeps the same for each gateway,
 * which a client names by a hash of gateway.key, and states the later of both.  The certificate's finds out a
 * state that was made anew, whose gateway.key is another; the gateway's finds out a state that was restored
 * after its certificate got another key, and a copy with another certificate.  If this ledger has no charge
 * for that round, it was restored, cloned or lost, and the missing charges may concern any entry of any plan.
 * So every slice counts as spent until an operator names the plan up to which all are closed.  A round that
 * neither the ledger nor the MAC confirms is somebody's statement and no proof: no round is asked for while
 * it stands, and nothing counts as lost.
 *
 * Two copies that run at the same time can both have a charge for that round.  Then a receipt says CONFLICT
 * for the devices of the one that comes second: the shuffler holds other bytes.  An honest history has none,
 * since a client stores a device's bytes before it sends them and sends the same on every retry.  But the
 * shuffler can say CONFLICT without cause, which nothing proves or disproves.  So after a conflict nothing is
 * answered until an operator decides: either plans are closed as above, or there was no copy and no plan is
 * closed. */
#pragma once

#include "cr_secret.h"
#include "cr_sign.h"
#include "pr_limits.h"
#include "rd_plan.h"

struct cl_db;

struct cl_standing {
	uint64_t sequence;                    /* the last round with an accepted report; 0 if there is none */
	uint8_t descriptor_hash[PR_HASH_LEN]; /* zeros if there is none */
	uint8_t mac[PR_MAC_LEN];              /* zeros if there is none */
	uint8_t signature[CR_SIGN_LEN];
};
/* Compute HMAC-SHA-256(secret, "tombola standing" 0x00 population 0x00 sequence (u64 big-endian) descriptor
 * hash).  It states that a client with this secret sent a report in that round, and is sent with each
 * Submit of the round. */
void cl_standing_mac(const struct cr_key *secret, const char *population, uint64_t sequence,
	const uint8_t descriptor_hash[PR_HASH_LEN], uint8_t out[PR_MAC_LEN]);

/* Compute HMAC-SHA-256(secret, "tombola gateway" 0x00 population 0x00), by which the shuffler knows this
 * state under another certificate.  Whoever knows it cannot make a MAC. */
void cl_standing_gateway(const struct cr_key *secret, const char *population, uint8_t out[PR_HASH_LEN]);

/* The client that a standing must belong to; borrowed. */
struct cl_stander {
	const struct cr_verifier *shuffler;
	const struct cr_key *secret; /* the key in gateway.key */
	const char *population;
	const uint8_t *key_hash; /* hash of the key of this client's certificate */
};
/* Process the shuffler's statement; durable on return.  CM_EPROTO: the shuffler did not sign it, or it is
 * for another key.  CM_EPERM: the ledger does not know the round, and the MAC is not this client's; nothing
 * is recorded.  *news: the statement reveals a loss that was not recorded before. */
CM_CHECK enum cm_rc cl_standing_take(struct cl_db *db, const struct cl_stander *who,
	const struct cl_standing *s, int64_t now_ms, bool *news, struct cm_err *err);

/* Record that a receipt of this round says CONFLICT; the ledger has a charge for the round. */
CM_CHECK enum cm_rc cl_loss_conflict(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err);

struct cl_loss {
	bool lost;             /* a loss is recorded and no operator decided about it; no round is answered */
	bool conflict;         /* all such losses are conflicts */
	uint64_t sequence;     /* the round whose charge is missing, or which has the conflict; 0: unknown */
	bool accepted;         /* an operator accepted at least one loss */
	uint64_t closed_plans; /* plans up to this number are closed; 0: none are */
	int64_t accepted_ms;   /* time of the last acceptance */
};
CM_CHECK enum cm_rc cl_loss_read(struct cl_db *db, struct cl_loss *out, struct cm_err *err);
/* Describe an undecided loss, and what continues meanwhile, without a newline. */
void cl_loss_words(const struct cl_loss *loss, char *out, size_t size);
/* Record that an operator accepts the loss: close all plans up to this number and every stored plan.  Durable
 * on return. */
CM_CHECK enum cm_rc cl_loss_accept(struct cl_db *db, uint64_t plans, int64_t now_ms, struct cm_err *err);
/* Record that, as an operator states, no copy of this state ever answered; no plan is closed.  Allowed only
 * if cl_loss sets `conflict`.  Durable on return. */
CM_CHECK enum cm_rc cl_loss_deny(struct cl_db *db, int64_t now_ms, struct cm_err *err);
