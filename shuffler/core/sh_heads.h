/* sh_heads.h - heads of the analyzer's ledger that clients have stated, one per certificate, and what follows
 * from them.
 *
 * A client states the newest descriptor that it has seen.  The analyzer signed that descriptor, and it names
 * the ledger's head before the record that reserves it.  So it proves that the analyzer's ledger had this
 * record, whichever client brings it, and no client can state more than the analyzer signed.
 *
 * After a loss of this shuffler's state the heads of enough clients say how far the ledger was.  At any time
 * a head that the witnessed ledger lacks, or that contradicts it, shows that a state was restored. */
#pragma once

#include "cr_pki.h"
#include "sh_policy.h"
#include "sh_store.h"
#include "sh_witness.h"

struct sh_heads {
	/* Borrowed; the owner sets it. */
	const struct sh_store *store;
	const struct sh_policy *policy;
	const struct cr_verifier *analyzer;
	struct sh_witness *witness;
	struct sh_plans *plans;
	bool intakes;        /* whether intakes take the reports */
	struct sh_loss loss; /* copy of the stored loss */
	struct sh_head_row *row;
	size_t n, cap;
	uint64_t devices;           /* sum of devices over all rows */
	enum sh_head_place lacks;   /* whether the witnessed ledger lacks a stated head, or contradicts it */
	struct sh_head_row lacking; /* the head that it lacks */
};

/* Load the stored heads, once the ledger is read; judge them again when the ledger has grown. */
CM_CHECK enum cm_rc sh_heads_load(struct sh_heads *h, struct cm_err *err);
void sh_heads_judge(struct sh_heads *h);
void sh_heads_fini(struct sh_heads *h);

enum sh_stated {
	SH_STATED_NOTHING, /* no descriptor, one that the witnessed ledger contains, or one without the
			    * analyzer's signature */
	SH_STATED_LACKING, /* the analyzer signed records that the witnessed ledger lacks or contradicts */
	SH_STATED_COUNTED, /* after a loss: counted; more clients must state theirs */
	SH_STATED_ENOUGH,  /* after a loss: enough clients have stated theirs */
};
/* Process the newest descriptor that a client has seen, which says how long the analyzer's ledger was.  It
 * counts only with the analyzer's signature, and is stored durably then.  Never a refusal: an invalid
 * statement is ignored.  newest: the sequence number of the newest round that was announced here. */
CM_CHECK enum cm_rc sh_heads_state(struct sh_heads *h, const struct cr_identity *who,
	struct cr_span descriptor, struct cr_span signature, uint64_t newest, enum sh_stated *what,
	struct cm_err *err);
/* Whether a client has stated this descriptor, or one that the ledger reserved later.  A round that is not in
 * the store although clients have seen it was served by a state that is lost. */
bool sh_heads_reach(const struct sh_heads *h, const struct rd_descriptor *d);

/* Refuse (CM_EPROTO with *no).  check_loss: BUSY after a loss, until enough clients have stated how long the
 * ledger was.  check_fork: a client holds a record that contradicts the witnessed ledger.  check: either, or
 * the ledger lacks a stated record. */
CM_CHECK enum cm_rc sh_heads_check_loss(const struct sh_heads *h, struct sh_refusal *no);
CM_CHECK enum cm_rc sh_heads_check_fork(const struct sh_heads *h, struct sh_refusal *no);
CM_CHECK enum cm_rc sh_heads_check(const struct sh_heads *h, struct sh_refusal *no);
/* A ledger head that a client stated and that the witnessed ledger lacks; the analyzer must deliver its
 * records.  NULL: none. */
const struct sh_head_row *sh_heads_lacking(const struct sh_heads *h);

/* What clients have stated about the ledger. */
struct sh_hearing {
	bool waits;          /* after a loss, more clients must state how long the ledger was */
	size_t certificates; /* certificates that have stated it since the loss */
	uint64_t devices, colluders;
	uint64_t closed_to; /* plans up to this ledger record are closed by the loss; 0: none */
	uint64_t lacking;   /* number of a record that the analyzer signed and the witnessed ledger lacks; 0:
			     * none */
};
struct sh_hearing sh_heads_hearing(const struct sh_heads *h);
