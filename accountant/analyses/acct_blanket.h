/* acct_blanket.h - delta of one shuffled round by concentration inequalities on the privacy blanket.  Nats;
 * neighbours replace one record.
 *
 * A closed form, but loose: acct_delta of the same randomizer's cells is smaller by a factor of ten to fifty.
 * Rounded up.
 *
 * Source: Balle, Bell, Gascon, Nissim 2019, section 5; derivations in doc/analyses.md, "Closed forms". */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

enum acct_blanket_bound {
	ACCT_BLANKET_HOEFFDING, /* proved */
	ACCT_BLANKET_BENNETT,   /* proved: the inequality as since corrected by its authors' code */
	/* As first published, with a factor 1/(a m) too much.  Paper value: below the exact loss in places.
	 * Figures of later papers were made with it.  n at most 1e9. */
	ACCT_BLANKET_BENNETT_FIRST,
};

enum acct_blanket_mechanism {
	ACCT_BLANKET_KRR,     /* k-ary randomized response */
	ACCT_BLANKET_LAPLACE, /* x + Laplace(1/eps0), x in [0, 1] */
	ACCT_BLANKET_GENERIC, /* any eps0-LDP randomizer */
};

struct acct_blanket {
	enum acct_blanket_mechanism mechanism;
	double eps0; /* (0, 50] */
	double k;    /* symbols, whole, 2..1e9; of KRR only */
	uint64_t n;  /* reports, the victim's among them, 1..ACCT_MAX_REPORTS */
};

/* delta [0, 1] at epsilon [0, inf). */
ACCT_CHECK enum acct_rc acct_blanket_delta(
	enum acct_blanket_bound bound, const struct acct_blanket *b, double epsilon, double *delta);

/* The least epsilon, to 1e-9 relative, at which the bound says at most delta (0, 1); never above eps0. */
ACCT_CHECK enum acct_rc acct_blanket_epsilon(
	enum acct_blanket_bound bound, const struct acct_blanket *b, double delta, double *epsilon);

#ifdef __cplusplus
}
#endif
