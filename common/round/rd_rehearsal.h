/* rd_rehearsal.h - a plan as a question: its signature, and reasons not to answer its entries.  No I/O.
 *
 * A draft has the bytes of a plan.  It is signed for another purpose than a plan is, so nobody can pin a
 * draft, or pass it for a plan. */
#pragma once

#include "pr_msg.h"
#include "rd_plan.h"

/* Most time between a question and who reads it, either way. */
#define RD_REHEARSAL_AGE_MS INT64_C(86400000)

/* Sign the draft and the time of the question, "tombola rehearsal".  CM_EINTERNAL. */
CM_CHECK enum cm_rc rd_rehearsal_sign(const struct cr_signer *signer, struct cr_span draft, int64_t asked_ms,
	uint8_t signature[CR_SIGN_LEN], struct cm_err *err);
/* Verify a question and decode its draft.  CM_EPERM: not signed, of another population, or asked at another
 * time than now; CM_EPROTO: no plan.  Free *out with rd_plan_fini, also after a failure. */
CM_CHECK enum cm_rc rd_rehearsal_verify(const Tombola__V1__Rehearse *q, const struct cr_verifier *analyzer,
	const char *population, int64_t now_ms, struct rd_plan *out, struct cm_err *err);

/* Up to PR_FAULTS_MAX different reasons of one party, and how many entries each concerns. */
struct rd_fault {
	uint32_t entry;   /* number of the first entry concerned; 0: the whole plan */
	uint32_t entries; /* number of entries concerned */
	char place[PR_PLACE_MAX + 1], text[PR_TEXT_MAX + 1];
};
struct rd_faults {
	struct rd_fault fault[PR_FAULTS_MAX];
	size_t n;
};
/* Add a reason; one that is known is counted, and one too many is left out.  faults NULL: nobody asks. */
void rd_faults_add(struct rd_faults *faults, uint32_t entry, const char *text);

/* Add that an entry does not fit the plan's slice by the count of `whose` policy, with what this policy
 * assumes and the plan does not: a smaller honest_fraction, more colluders, or that the shuffler adds no
 * dummies (distrusts). */
void rd_faults_add_slice(struct rd_faults *faults, uint32_t entry, const char *whose,
	const struct rd_plan *plan, double honest_fraction, uint64_t colluders, bool distrusts);
/* Add that the clock of `whose` party differs from the analyzer's by more than rounds allow (rd_in_time), if
 * it does.  off_ms: its time minus that of the question. */
void rd_faults_add_clock(struct rd_faults *faults, const char *whose, int64_t off_ms);

/* Storage for the messages of faults while a frame is sent. */
struct rd_faults_wire {
	Tombola__V1__RehearsalFault m[PR_FAULTS_MAX], *at[PR_FAULTS_MAX];
};
void rd_faults_wire(const struct rd_faults *faults, struct rd_faults_wire *w);
/* Take a peer's faults, n <= PR_FAULTS_MAX: what is not safe to print is replaced. */
void rd_faults_read(Tombola__V1__RehearsalFault *const *m, size_t n, struct rd_faults *out);

/* The bits of a peer's `taken` for a plan of so many entries (of an adaptive plan: one); what lies beyond
 * them is left out. */
void rd_taken_read(const ProtobufCBinaryData *taken, size_t entries, struct rd_pin *out);
/* The bytes that these bits need. */
size_t rd_taken_len(const struct rd_pin *pin);
