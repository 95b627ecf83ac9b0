/* cl_judge.h - decides whether this client takes part in the round of a received descriptor.  It uses no
 * network.  cd_judge.h has the checks and their order; this reads from client.db the facts that they want,
 * stores what a judgement adds, and does what needs the accountant: the policy's checks, the pin, the loss of
 * the round.  Each refusal has its own one-line reason.  A round costs nothing beyond its plan's slice, which
 * is spent when the plan is pinned. */
#pragma once

#include "cd_judge.h"
#include "cl_ledger.h"
#include "cl_pin.h"
#include "cl_standing.h"
#include "cl_tries.h"

/* The plan of a round as this client pinned it; its number is 0 if it is not pinned. */
struct cl_plan_view {
	char name[65];
	uint64_t number;
	size_t entries, taken;
	bool adaptive;
	double epsilon, delta;   /* the plan's slice */
	struct rd_slices slices; /* the slices of all pinned plans */
};
CM_CHECK enum cm_rc cl_plan_view_read(
	struct cl_db *db, const uint8_t plan_hash[PR_HASH_LEN], struct cl_plan_view *out, struct cm_err *err);

struct cl_judgement {
	struct rd_descriptor d; /* free with rd_descriptor_fini when verified is set */
	bool verified;
	bool resumed; /* this client is charged for the round already: continue with the stored reports */
	bool clock;   /* the round is refused because of our clock, though the shuffler's clock may differ */
	/* The reason why this client declines the round (rd_left_out.h); 0 if it does not decline, or has
	 * answered the round already.  It is known before any reading is read. */
	unsigned declined;
	struct cd_need need;
	struct cl_plan_view plan;
	struct cl_charge charge; /* epsilon_round: the loss of this round; epsilon_total: of all slices */
	/* the verdict on this round alone; in adaptive modes, the verdict of the plan's filter on it */
	struct rd_verdict verdict;
};

struct cl_judge_job {
	struct cl_db *db; /* what is written to it is durable when the judgement returns */
	const struct cl_policy *policy;
	const struct cr_verifier *analyzer;
	const uint8_t *descriptor, *signature; /* as the shuffler sent them */
	size_t descriptor_len, signature_len;
	int64_t now_ms;
	/* The reason why the document that the previous judgement needed cannot be had; the round is judged
	 * without it.  NULL if no document is absent. */
	const char *absent;
	const atomic_bool *stop; /* set to true to end a composition with CM_ELATER; may be NULL */
};
/* CM_OK: take part.  CM_EMORE: fetch what out->need says, then call again.  CM_EPERM: refused for signature,
 * sequence, plan or policy.  CM_EBUDGET: the plan's slice does not fit beside the pinned ones, no entry fits
 * the slice, an adaptive plan's filter has no room for the round, or this client's ledger was lost.
 * CM_EPROTO: malformed.  CM_ELATER: the deadline has passed.  The refusal of a verified descriptor is
 * recorded in the ledger. */
CM_CHECK enum cm_rc cl_judge(const struct cl_judge_job *job, struct cl_judgement *out, struct cm_err *err);
/* Compute the loss of this round by itself at this delta, into charge.loss and charge.epsilon_round. */
CM_CHECK enum cm_rc cl_judge_alone(
	const struct cl_policy *policy, double delta, struct cl_judgement *j, struct cm_err *err);

/* What is stored about the plan of a draft (rd_rehearsal.h), and what this client would pin of it. */
struct cl_draft {
	const struct rd_plan *plan; /* borrowed */
	struct rd_slices pinned;
	struct cl_loss loss;
	bool is_pinned;    /* this very plan is pinned already */
	struct cl_pin pin; /* set when the draft is judged */
};
/* Read what is stored about the plan; nothing is written. */
CM_CHECK enum cm_rc cl_draft_read(
	struct cl_db *db, const struct rd_plan *plan, struct cl_draft *out, struct cm_err *err);
/* Judge the draft as cl_judge judges the plan of a round.  Any thread may call it, because it does not use
 * the database.  CM_OK: draft->pin has the entries that would be pinned.  CM_EPERM: no entry would be
 * pinned.  CM_ELATER: the judgement was stopped; draft->pin has the entries that were found until then.
 * faults: why entries would not be pinned. */
CM_CHECK enum cm_rc cl_draft_judge(const struct cl_policy *policy, struct cl_draft *draft,
	const atomic_bool *stop, struct rd_faults *faults);

/* Round an upper bound up to 4 digits after the point, for printing. */
double cl_shown_bound(double v);
/* Describe the guarantee in one or two sentences without a newline. */
void cl_judge_words(const struct cl_judgement *j, const struct cl_policy *policy, char *out, size_t size);
