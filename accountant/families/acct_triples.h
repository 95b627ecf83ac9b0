/* acct_triples.h - the families in which each law is at every message either the blanket's mass or p times
 * it, and in which some pairs of inputs have more in common than others: ACCT_WINDOWS, ACCT_STAIRS,
 * ACCT_DRAWS and ACCT_SIGNS of acct_families.h.  doc/imitation.md. */
#pragma once

#include "acct_families.h"
#include "acct_family.h"
#include "acct_kinds.h"

#define ACCT_CLASSES 8u
/* most items in an input of ACCT_DRAWS: with more there are too many triples */
#define ACCT_DRAWS_ITEMS 6.0
/* most signs in an input of ACCT_SIGNS: with more there are too many triples */
#define ACCT_SIGNS_MOST 14.0

/* Three inputs: the victim's first and second, and the input of another participant.  mass[i] is the
 * blanket's mass of the messages that exactly the inputs in i make likelier; i is a sum of 1 (the victim's
 * first input), 2 (its second) and 4 (the other's). */
struct acct_triple {
	double mass[ACCT_CLASSES];
};

/* The triples of a family.  In the first `ends` of `all`, the victim's two inputs have the least in common
 * that two inputs can have.  In the others they have more in common, and may lose more for a thinned
 * blanket.  Released with free(). */
struct acct_triples {
	size_t ends, all;
	double p;
	struct acct_triple triple[];
};

/* List the triples of the family of this number (acct_families.h) in a round of this shape.  NULL: there are
 * too many, or there is no memory. */
struct acct_triples *acct_triples_new(unsigned number, const double shape[3], double p);

/* The same as acct_triples_new(), with the number and the shape of the list's round. */
struct acct_triples *acct_triples_of(const struct acct_list *l);

/* Add to k the kinds (acct_kinds.h) of the first `ends` triples. */
void acct_triples_ends(const struct acct_triples *t, struct acct_kinds *k);

/* Collect in *thin the kinds to try at this eps: those of the first `ends` triples, thinned as by
 * acct_kinds_thinned, and those of the other triples that may lose more.  Returns false if there are too
 * many, or there is no memory.  Adds to *work. */
bool acct_triples_tried(const struct acct_triples *t, const struct acct_kinds *k, double blanket, double eta,
	double first, double eps, struct acct_kinds *thin, double *work);

extern const struct acct_family acct_triples_family[4];

static inline bool acct_are_triples(const struct acct_family *f)
{
	return f && f->number >= ACCT_WINDOWS;
}
