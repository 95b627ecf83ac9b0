/* sh_core_private.h - the state of the core, shared by the files of sh_core.h. */
#pragma once

#include "sh_core.h"

#define SH_BUSY_RETRY_MS 1000u

struct sh_core {
	struct sh_core_conf conf;
	struct sh_plans *plans;
	struct sh_witness *witness;
	struct sh_heads heads;
	struct sh_judge judge;
	struct sh_rehearse rehearse;
	struct sh_live live;
	struct sh_payloads payloads;
	struct sh_proofs proofs;
	size_t intakes; /* number of intakes that are connected now; they take the reports */
	/* the task between its begin and its end; NULL if there is none */
	const struct sh_task *under_way;
	uint64_t last_sequence; /* sequence number of the newest descriptor served */
};

/* In sh_core.c.  Retire a live round that is over (sh_round_over): it is no longer found, its payload is
 * dropped, and a job deletes its messages. */
CM_CHECK enum cm_rc sh_core_over(struct sh_core *c, struct sh_round *r, struct cm_err *err);
/* Erase rounds that the ledger has voided, or has settled without their release.  A collecting round is
 * erased after its last commit. */
CM_CHECK enum cm_rc sh_core_cancel_over(struct sh_core *c, struct cm_err *err);

/* A copy of a stored row, for rounds that are no longer live. */
struct sh_past {
	enum sh_state state;
	struct sh_signed *manifest; /* NULL if the caller does not want it */
	struct cr_span compare;     /* compared with the descriptor or the charge */
	bool same_descriptor, same_charge;
};

/* Look up the row of any round, live or past.  CM_ENOINPUT: none. */
CM_CHECK enum cm_rc sh_core_look_up(
	const struct sh_core *c, const uint8_t *round_id, struct sh_past *p, struct cm_err *err);
