/* sh_core_private.h - what the files of sh_core share. */
#pragma once

#include "sh_core.h"

#define SH_BUSY_RETRY_MS 1000u

struct sh_core {
	struct sh_core_conf conf;
	struct sh_witness *witness;
	struct sh_round *round[SH_ROUNDS_MAX + 1]; /* live ones, in no order */
	size_t rounds;
	uint64_t last_sequence; /* of the newest descriptor served */
};

/* The live round of this id, or NULL. */
struct sh_round *sh_core_find(const struct sh_core *c, const uint8_t *round_id);
/* Refuse: no such round. */
enum cm_rc sh_core_not_found(struct sh_refusal *no);
/* A round is no longer live. */
void sh_core_forget(struct sh_core *c, struct sh_round *r);

/* Rounds that the ledger has voided, or settled without their release, are erased: a collecting one when its
 * last commit is done. */
CM_CHECK enum cm_rc sh_core_cancel_over(struct sh_core *c, struct cm_err *err);

/* A copy of what a row says, for rounds that are no longer live. */
struct sh_past {
	enum sh_state state;
	struct sh_signed *manifest; /* may be NULL: not asked for */
	struct cm_span compare;     /* with the descriptor or the charge */
	bool same_descriptor, same_charge;
};

/* The row of any round, live or past; CM_ENOINPUT: there is none. */
CM_CHECK enum cm_rc sh_core_look_up(
	const struct sh_core *c, const uint8_t *round_id, struct sh_past *p, struct cm_err *err);
