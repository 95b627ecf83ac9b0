/* cd_judge.h - decides whether a device takes part in the round of a descriptor, from what is known of
 * earlier rounds.  No I/O, no memory of its own.
 *
 * The checks in order: population, earlier descriptors, losses of the ledger, a round that is stored or over,
 * deadline, the signed plan, the pin, the entry and its tries.  Not all that is known is needed for each
 * round, and reading it may take long.  So cd_judge says which fact it wants next; its caller fills that fact
 * in and calls again, and the checks begin anew.  A caller that has all facts at hand fills them in at once.
 * No fact depends on a reading. */
#pragma once

#include "rd_descriptor.h"
#include "rd_plan.h"

/* The documents that must be fetched from the shuffler: plan and manifest before the round can be judged, the
 * payload after that. */
enum cd_need_kind { CD_NEED_NOTHING, CD_NEED_PLAN, CD_NEED_MANIFEST, CD_NEED_PAYLOAD };
struct cd_need {
	enum cd_need_kind kind;
	uint8_t plan_hash[PR_HASH_LEN];
	uint8_t round_id[PR_ROUND_ID_LEN];
};

/* The facts, in the order in which they are wanted. */
enum cd_fact {
	/* The descriptor does not contradict earlier ones, and is recorded durably as seen. */
	CD_FACT_SEEN,
	CD_FACT_PAST, /* lost, closed_plans, stored, charged */
	CD_FACT_PLAN, /* plan */
	/* The plan is pinned: pin, adaptive.  Whatever the device checks beside this header before it pins,
	 * or each time, comes here. */
	CD_FACT_PIN,
	CD_FACT_TRY, /* tried */
	CD_FACTS     /* number of facts */
};

/* Whether the last try of an entry was void, by its manifest. */
enum cd_fate { CD_FATE_UNKNOWN, CD_FATE_SEALED, CD_FATE_VOID };
struct cd_try {
	uint32_t attempt; /* number of the last try that this device took part in; 0: it took part in none */
	uint8_t round_id[PR_ROUND_ID_LEN];
	enum cd_fate fate;             /* CD_FATE_UNKNOWN: its manifest is not known */
	uint8_t manifest[PR_HASH_LEN]; /* hash of the manifest */
};

/* All pointers are borrowed. */
struct cd_facts {
	const char *population;   /* the one that this device belongs to */
	const uint8_t *only_plan; /* hash of the only plan that is answered; NULL: any plan is */
	int64_t now_ms;           /* wall time */
	/* The reason why the document that the previous judgement needed cannot be had; the round is judged
	 * without it.  NULL if no document is absent. */
	const char *absent;

	bool known[CD_FACTS]; /* the facts that are filled in */
	const char *lost; /* what it means that the ledger was lost and nobody decided; NULL: it was not */
	uint64_t closed_plans;      /* plans up to this number are closed; 0: none are */
	uint64_t stored;            /* number of the round whose reports are stored; 0: none are */
	bool charged;               /* the round was charged */
	const struct rd_plan *plan; /* NULL: it is not known */
	const struct rd_pin *pin;
	bool adaptive; /* the plan's entries are not fixed, and its filter decides instead of them */
	struct cd_try tried;
};

/* What a judgement says beside its result. */
struct cd_verdict {
	enum cd_fact want;   /* CD_FACTS: no fact is wanted */
	struct cd_need need; /* the document that must be fetched */
	bool resumed;        /* the round's reports are stored: continue with them */
	bool answered;       /* the round is over for this device */
	bool clock;          /* the round is refused because of our clock */
};

/* Verify and decode a descriptor; *out is to be freed with rd_descriptor_fini after CM_OK.  CM_EPERM: the
 * analyzer did not sign it; CM_EPROTO: it is malformed. */
CM_CHECK enum cm_rc cd_judge_signed(const uint8_t *descriptor, size_t descriptor_len,
	const uint8_t *signature, size_t signature_len, const struct cr_verifier *analyzer,
	struct rd_descriptor *out, struct cm_err *err);

/* CM_OK: take part.  CM_EMORE: the fact out->want is wanted, or the document out->need.  CM_EPERM: refused.
 * CM_EBUDGET: the ledger was lost.  CM_ELATER: the deadline has passed. */
CM_CHECK enum cm_rc cd_judge(
	const struct cd_facts *f, const struct rd_descriptor *d, struct cd_verdict *out, struct cm_err *err);
/* Say that the plan of this hash is not known: CM_EMORE, and it is needed, or CM_EPERM if it is absent. */
CM_CHECK enum cm_rc cd_judge_unknown(
	const uint8_t plan_hash[PR_HASH_LEN], const char *absent, struct cd_need *out, struct cm_err *err);
/* Only the checks of a draft, which is no plan of a round yet: losses, the named plan, closed plans. */
CM_CHECK enum cm_rc cd_judge_draft(const struct cd_facts *f, const struct rd_plan *draft, struct cm_err *err);
