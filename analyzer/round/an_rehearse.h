/* an_rehearse.h - asks what would become of a plan before it is signed, and judges the answer.  No I/O.
 *
 * Everything in the answer is what a shuffler says that it heard of clients: it may be wrong, and decides
 * nothing but what is shown. */
#pragma once

#include "pr_msg.h"
#include "rd_rehearsal.h"

/* What one party would do. */
struct an_party {
	char name[65];  /* name in a client's certificate */
	uint32_t state; /* as in the protocol's RehearsedCertificate */
	uint64_t devices, listed;
	bool unfinished;
	struct rd_pin taken;
	struct rd_faults faults;
};
/* Whether the clients that are connected can reach an entry's min_reports. */
enum an_reach {
	AN_REACHED, /* the listed devices that a round would take suffice */
	AN_MAYBE,   /* they may, if clients without a list have as many devices as may take part */
	AN_MISSED,
};
struct an_would {
	uint64_t listed, participants, at_most; /* as in the protocol's RehearsedEntry */
	/* How many devices on the lists of the named clients a round would not take because of max_share,
	 * and how many because of the number in their certificate; whether these clients would answer does
	 * not matter. */
	uint64_t over_share, over_certificate;
	bool taken; /* the shuffler would take the entry */
	enum an_reach reach;
};
struct an_rehearsal {
	const struct rd_plan *plan; /* borrowed */
	struct an_party shuffler;
	double max_share;
	uint32_t answered, declined, silent, unasked; /* numbers of certificates */
	struct an_party *client;                      /* the clients whose certificates are named */
	size_t clients;
	uint64_t listed;        /* number of devices on the lists of these clients */
	struct an_would *entry; /* one for each entry of the plan */
};

/* Make the question about this plan.  *draft gets the plan's bytes, and *out points to them and to
 * signature. */
CM_CHECK enum cm_rc an_rehearse_ask(const struct rd_plan *plan, const struct cr_signer *signer,
	int64_t now_ms, struct cm_buf *draft, uint8_t signature[CR_SIGN_LEN], Tombola__V1__Rehearse *out,
	struct cm_err *err);
/* Read and judge the answer.  CM_EPROTO: it is about another plan, or has other entries.  Call
 * an_rehearse_fini on success and on failure. */
CM_CHECK enum cm_rc an_rehearse_read(const struct rd_plan *plan, const Tombola__V1__Rehearsed *answer,
	struct an_rehearsal *out, struct cm_err *err);
void an_rehearse_fini(struct an_rehearsal *r);

/* Whether a party would answer the plan's entry i, or an adaptive plan as a whole. */
bool an_party_takes(const struct an_rehearsal *r, const struct an_party *p, size_t i);
/* Number of things that would go wrong: entries that the shuffler does not take or that cannot reach
 * min_reports, certificates that refuse an entry, the absence of any answer, and what the shuffler says. */
size_t an_rehearse_faults(const struct an_rehearsal *r);
