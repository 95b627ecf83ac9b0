/* cl_judge.h - takes a descriptor as received and says whether this client takes part.  Nothing of the
 * network.
 *
 * In order: signature of the pinned analyzer, form, population and deadline, what was seen before, policy,
 * budget. Each refusal has its own one-line reason. */
#pragma once

#include "cl_ledger.h"
#include "cl_policy.h"

struct cl_judgement {
	struct rd_descriptor d; /* free with rd_descriptor_fini when verified is set */
	bool verified;
	bool resumed; /* already charged for this round: go on with what is stored */
	bool late;    /* refused for the deadline, which passed by our clock and not by the shuffler's */
	struct cl_charge charge;
	struct rd_verdict verdict;
};

/* CM_OK: take part.  CM_EPERM: signature, sequence or policy; CM_EBUDGET; CM_EPROTO: malformed; CM_ELATER:
 * the deadline has passed.  A refusal of a verified descriptor is recorded in the ledger. */
CM_CHECK enum cm_rc cl_judge(struct cl_db *db, const struct cl_policy *policy,
	const struct cm_verifier *analyzer, const uint8_t *bytes, size_t len, const uint8_t *signature,
	size_t signature_len, int64_t now_ms, struct cl_judgement *out, struct cm_err *err);

/* An upper bound as people see it: rounded up to 4 digits after the point. */
double cl_shown_bound(double v);
/* The guarantee in words, for people: one or two sentences, no newline. */
void cl_judge_words(const struct cl_judgement *j, const struct cl_policy *policy, char *out, size_t size);
