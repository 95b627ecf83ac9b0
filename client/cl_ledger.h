/* cl_ledger.h - the client's own append-only record of the rounds it saw, refused and was charged for.
 *
 * A charge is written by cl_store_put in the transaction that persists the first sealed bytes, and is never
 * given back: a client cannot check that a void round was destroyed. */
#pragma once

#include "cl_db.h"
#include "rd_account.h"

/* What a charge records, beside the descriptor. */
struct cl_charge {
	struct pt_loss loss; /* as this client counts it */
	double epsilon_round, epsilon_total;
};

/* First sight of a descriptor, durable before anything is done with it.  CM_EPERM when it contradicts what
 * was seen: another descriptor with this sequence number, a sequence or a ledger that went back, a wrong link
 * to the one before, another mode.  Seeing the same one again is CM_OK. */
CM_CHECK enum cm_rc cl_ledger_see(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err);
/* This client does not take part; why, in one line.  Recorded once for a descriptor: a shuffler that offers
 * it again and again does not grow the ledger. */
CM_CHECK enum cm_rc cl_ledger_refuse(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, const char *why, struct cm_err *err);
/* The entry of a charge; within the caller's transaction. */
CM_CHECK enum cm_rc cl_ledger_charge(struct cl_db *db, const struct rd_descriptor *d,
	const struct cl_charge *charge, int64_t now_ms, struct cm_err *err);
/* The round is over for this client; note: its counts.  Within the caller's transaction. */
CM_CHECK enum cm_rc cl_ledger_over(struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms,
	const char *note, struct cm_err *err);

/* The mode all rounds seen so far had; plan when none was seen. */
CM_CHECK enum cm_rc cl_ledger_mode(struct cl_db *db, char mode[RD_MODE_LEN], struct cm_err *err);
/* An account of every charge, in the ledger's mode. */
CM_CHECK enum cm_rc cl_ledger_account(
	struct cl_db *db, double limit, double delta, struct rd_account **out, struct cm_err *err);
/* The same, kept from one question to the next: borrowed, valid until the next call with this db.  Only what
 * was charged since is read and composed. */
CM_CHECK enum cm_rc cl_ledger_kept(
	struct cl_db *db, double limit, double delta, struct rd_account **out, struct cm_err *err);
/* Was any round charged?  And the one of this number? */
CM_CHECK enum cm_rc cl_ledger_any(struct cl_db *db, bool *charged, struct cm_err *err);
CM_CHECK enum cm_rc cl_ledger_charged(struct cl_db *db, uint64_t sequence, bool *charged, struct cm_err *err);
/* Rounds charged at or after since_ms. */
CM_CHECK enum cm_rc cl_ledger_recent(
	struct cl_db *db, int64_t since_ms, uint64_t *rounds, struct cm_err *err);
/* Sequence number of the last round that is over, 0 if none: ask for the ones after it. */
CM_CHECK enum cm_rc cl_ledger_last(struct cl_db *db, uint64_t *sequence, struct cm_err *err);
