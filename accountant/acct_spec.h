/* acct_spec.h - rounds as text, `name:key=value,...`: the grammar of tombola-accountant and of the Python
 * module (doc/accounting.md, "Cells of the protocols").
 *
 *   pair:p=,beta=,q=[,q2=]           generic:eps0=       rr:eps0=            grr:k=,eps0=
 *   mixbins:k=,eps0=[,dummies=]      bins:k=,dummies=    rappor:d=,eps0=     vrr:s=,eps0=
 *   cells:omega=a/b/..,u=a/b/..,v=a/b/..[,dummies=]
 *
 * Each takes n= (participants, the victim among them; `others` is n-1) and count= (default 1).  n is not
 * needed where participants give no blanket: bins, and mixbins with eps0=inf. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A round as asked for: its cells, and what the analyses that do not work on cells need to know. */
struct acct_spec {
	struct acct_round round; /* of --bound proved */
	const char *name;        /* of the randomizer; static */
	double eps0;             /* local guarantee in nats; INFINITY for none */
	uint64_t participants;   /* n; 0 when the text has none */
	/* The published pair (p, beta, q), upper bounds each; p is 0 where no such pair is known.  Reports
	 * per participant that hide others (m in the literature) are in round.others already. */
	double p, beta, q;
	double k; /* symbols of a k-ary response, 0 for other randomizers */
};

/* ACCT_EDOMAIN: why holds one sentence, at most room bytes, with the offending part of the text. */
ACCT_CHECK enum acct_rc acct_spec_parse(const char *text, struct acct_spec *s, char *why, size_t room);

/* The published two-count reduction of the same round: the three-cell pair with every left-over message
 * counted as residual blanket.  NOT an upper bound when beta < (p-1)/(p+1): for comparison with papers only
 * (doc/accounting.md, "Why not the published pair").  ACCT_EDOMAIN where no (p, beta, q) is known. */
ACCT_CHECK enum acct_rc acct_spec_published(
	const struct acct_spec *s, struct acct_round *r, const char **why);

#ifdef __cplusplus
}
#endif
