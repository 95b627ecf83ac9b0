/* cl_judge.h - decides whether this client takes part in the round of a received descriptor.  No network, and
 * of what is stored only what struct cl_judge_store says.
 *
 * The checks in order: signature of the pinned analyzer, form, population, earlier descriptors, losses of
 * this ledger, deadline, the signed plan, policy, the pin, the entry and its tries.  Each refusal has its own
 * one-line reason.  A round costs nothing beyond its plan's slice, which is spent when the plan is pinned. */
#pragma once

#include "cl_ledger.h"
#include "cl_pin.h"
#include "cl_standing.h"
#include "cl_tries.h"

/* What is known of earlier rounds, and what the judgement of this one adds: each durable when it returns.
 * cl_judge_db.c has the one of client.db; the comments name the function that says what is to be done. */
struct cl_judge_store {
	void *ctx;
	/* cl_ledger_keep, _see, _refuse, _charged, _recent, _kept */
	enum cm_rc (*keep)(void *ctx, const struct rd_descriptor *d, const uint8_t *bytes, size_t len,
		const uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err);
	enum cm_rc (*see)(void *ctx, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err);
	enum cm_rc (*refuse)(void *ctx, const struct rd_descriptor *d, int64_t now_ms, const char *why,
		struct cm_err *err);
	enum cm_rc (*charged)(void *ctx, uint64_t sequence, bool *charged, struct cm_err *err);
	enum cm_rc (*recent)(void *ctx, int64_t since_ms, uint64_t *rounds, struct cm_err *err);
	enum cm_rc (*account)(
		void *ctx, const struct rd_plan *plan, struct rd_account **out, struct cm_err *err);
	/* cl_store_sequence, cl_loss_read */
	enum cm_rc (*active)(void *ctx, uint64_t *sequence, struct cm_err *err);
	enum cm_rc (*loss)(void *ctx, struct cl_loss *out, struct cm_err *err);
	/* cl_plan_find, cl_pin_find, cl_pin_slices, cl_pin_put */
	enum cm_rc (*plan)(
		void *ctx, const uint8_t hash[PR_HASH_LEN], struct rd_plan *out, struct cm_err *err);
	enum cm_rc (*pin)(
		void *ctx, const uint8_t plan_hash[PR_HASH_LEN], struct cl_pin *out, struct cm_err *err);
	enum cm_rc (*slices)(void *ctx, struct rd_slices *out, struct cm_err *err);
	enum cm_rc (*put_pin)(void *ctx, const struct cl_pin *pin, int64_t now_ms, struct cm_err *err);
	/* cl_try_last, cl_try_was_void */
	enum cm_rc (*last_try)(void *ctx, const uint8_t plan_hash[PR_HASH_LEN], uint32_t entry,
		struct cl_try *out, struct cm_err *err);
	enum cm_rc (*was_void)(void *ctx, const struct cl_try *t, bool *is_void, uint8_t hash[PR_HASH_LEN],
		struct cm_err *err);
};
/* db is borrowed. */
struct cl_judge_store cl_judge_db(struct cl_db *db);

/* A document that must be fetched from the shuffler before the round can be judged; its payload, once it is
 * judged (cl_prepare.h). */
enum cl_need_kind { CL_NEED_NOTHING, CL_NEED_PLAN, CL_NEED_MANIFEST, CL_NEED_PAYLOAD };
struct cl_need {
	enum cl_need_kind kind;
	uint8_t plan_hash[PR_HASH_LEN];
	uint8_t round_id[PR_ROUND_ID_LEN];
};

/* The plan of a round as this client pinned it; number 0: not pinned. */
struct cl_plan_view {
	char name[65];
	uint64_t number;
	size_t entries, taken;
	bool adaptive;
	double epsilon, delta;   /* the plan's slice */
	struct rd_slices slices; /* the slices of all pinned plans */
};
CM_CHECK enum cm_rc cl_plan_view_read(const struct cl_judge_store *store,
	const uint8_t plan_hash[PR_HASH_LEN], struct cl_plan_view *out, struct cm_err *err);

struct cl_judgement {
	struct rd_descriptor d; /* free with rd_descriptor_fini when verified is set */
	bool verified;
	bool resumed; /* this client is charged for the round already: continue with the stored reports */
	bool clock;   /* refused by our clock, though not by the shuffler's */
	/* Why this client declines the round (rd_left_out.h); 0: it does not, or it has answered it.  Known
	 * before any reading is looked at. */
	unsigned declined;
	struct cl_need need;
	struct cl_plan_view plan;
	struct cl_charge charge;   /* epsilon_round: the loss of this round; epsilon_total: of all slices */
	struct rd_verdict verdict; /* of this round; in adaptive modes, of the plan's filter */
};

struct cl_judge_job {
	struct cl_judge_store store;
	const struct cl_policy *policy;
	const struct cr_verifier *analyzer;
	const uint8_t *descriptor, *signature; /* as received */
	size_t descriptor_len, signature_len;
	int64_t now_ms;
	/* Why the document that the previous judgement needed cannot be had; the round is judged without it.
	 * NULL: nothing is absent. */
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

/* What is stored that decides about the plan of a draft (rd_rehearsal.h), and what this client would take of
 * it. */
struct cl_draft {
	const struct rd_plan *plan; /* borrowed */
	struct rd_slices pinned;
	struct cl_loss loss;
	bool is_pinned;    /* this very plan is pinned already */
	struct cl_pin pin; /* once it is judged */
};
/* Read it; nothing is written. */
CM_CHECK enum cm_rc cl_draft_read(const struct cl_judge_store *store, const struct rd_plan *plan,
	struct cl_draft *out, struct cm_err *err);
/* Judge the draft as cl_judge judges the plan of a round, on any thread: the database is not used.  CM_OK:
 * draft->pin has the entries that would be pinned.  CM_EPERM: none.  CM_ELATER: stopped; it has those that
 * were found until then.  faults: why entries would not be pinned. */
CM_CHECK enum cm_rc cl_draft_judge(const struct cl_policy *policy, struct cl_draft *draft,
	const atomic_bool *stop, struct rd_faults *faults);

/* Round an upper bound up to 4 digits after the point, for printing. */
double cl_shown_bound(double v);
/* Describe the guarantee in one or two sentences without a newline. */
void cl_judge_words(const struct cl_judgement *j, const struct cl_policy *policy, char *out, size_t size);
