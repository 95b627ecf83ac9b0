/* acct_triples.h - families whose laws are the blanket or p times it, and in which inputs have more or less
 * in common: ACCT_WINDOWS, ACCT_STAIRS, ACCT_DRAWS and ACCT_SIGNS of acct_families.h.  doc/imitation.md. */
#pragma once

#include "acct_families.h"
#include "acct_family.h"
#include "acct_kinds.h"

#define ACCT_CLASSES     8u
#define ACCT_DRAWS_ITEMS 6.0  /* most of an input of ACCT_DRAWS */
#define ACCT_SIGNS_MOST  14.0 /* signs of ACCT_SIGNS */

/* Of the victim's two inputs and the other's: the blanket's mass that is likelier under the first (1), the
 * second (2) and the third (4) of them, in sums. */
struct acct_triple {
	double mass[ACCT_CLASSES];
};

/* The first `ends` are those of the victim's inputs that have least in common.  Every kind is a mixture of
 * these.  free() it. */
struct acct_triples {
	size_t ends, all;
	double p;
	struct acct_triple triple[];
};

/* Of the number of a family, and the shape of a round; NULL: too many, or no memory. */
struct acct_triples *acct_triples_new(unsigned number, const double shape[3], double p);

/* Of a list of such a family. */
struct acct_triples *acct_triples_of(const struct acct_list *l);

/* Adds the kinds of the ends. */
void acct_triples_ends(const struct acct_triples *t, struct acct_kinds *k);

/* What is tried at this eps: the kinds of the ends, thinned (`part` of the blanket, eta in all), and of all
 * others those that may lose more.  False: too many, or no memory.  *work: added to. */
bool acct_triples_tried(const struct acct_triples *t, const struct acct_kinds *k, double part, double eta,
	double eps, struct acct_kinds *thin, double *work);

extern const struct acct_family acct_triples_family[4];

static inline bool acct_are_triples(const struct acct_family *f)
{
	return f && f->number >= ACCT_WINDOWS;
}
