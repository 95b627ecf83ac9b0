/* acct_triples.h - rounds whose laws are the blanket or p times it, and in which inputs have more or less in
 * common: ACCT_WINDOWS, ACCT_STAIRS, ACCT_DRAWS,
 * ACCT_SIGNS.  doc/imitation.md. */
#pragma once

#include "acct_round.h"

#define ACCT_CLASSES      8u
#define ACCT_TRIPLES_ENDS 44u  /* most ends */
#define ACCT_DRAWS_ITEMS  6.0  /* most of an input of ACCT_DRAWS */
#define ACCT_SIGNS_MOST   14.0 /* signs of ACCT_SIGNS */

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

/* Of a round's messages and shape; NULL: too many, or no memory. */
struct acct_triples *acct_triples_new(enum acct_messages messages, const double shape[3], double p);

/* Are its numbers those of a randomizer, and not too many? */
bool acct_triples_shape(enum acct_messages messages, const double shape[3]);

/* The first of them. */
struct acct_triple acct_triples_first(enum acct_messages messages, const double shape[3], double p);

static inline bool acct_are_triples(enum acct_messages messages)
{
	return messages >= ACCT_WINDOWS && messages <= ACCT_SIGNS;
}
