/* acct_families.c - finds a family by its number, and reads the number and the shape from a text. */
#include "acct_families.h"

#include <stddef.h>

#include "acct_fault.h"
#include "acct_ladder.h"
#include "acct_sets.h"
#include "acct_triples.h"
#include "acct_words.h"

const struct acct_family *acct_family(enum acct_families which)
{
	static const struct acct_family *const all[ACCT_SIGNS + 1] = {
		[ACCT_SETS] = &acct_sets_family,
		[ACCT_WORDS] = &acct_words_family,
		[ACCT_LADDER] = &acct_ladder_family,
		[ACCT_WINDOWS] = &acct_triples_family[0],
		[ACCT_STAIRS] = &acct_triples_family[1],
		[ACCT_DRAWS] = &acct_triples_family[2],
		[ACCT_SIGNS] = &acct_triples_family[3],
	};

	return (unsigned)which <= ACCT_SIGNS ? all[which] : NULL;
}

void acct_family_set(struct acct_round *r, enum acct_families which, const double shape[3])
{
	r->messages = ACCT_ANY_MESSAGES;
	r->family = acct_family(which);
	for (size_t i = 0; i < 3; i++)
		r->shape[i] = shape ? shape[i] : 0;
}

unsigned acct_family_number(const struct acct_round *r)
{
	return r->family ? r->family->number : (unsigned)r->messages;
}

enum acct_rc acct_family_read(
	struct acct_round *r, unsigned number, double triple, const double shape[3], const char **why)
{
	if (number > ACCT_SIGNS)
		return acct_fault(why, "messages must be 0, 1, .. or 10");
	if (number != ACCT_SETS && !(triple >= 0 && triple <= 0))
		return acct_fault(why, "triple is of sets");
	for (size_t i = 0; i < 3; i++)
		if (number <= ACCT_LADDER && !(shape[i] >= 0 && shape[i] <= 0))
			return acct_fault(why, "shape is of messages above 6");
	if (number < ACCT_SETS) {
		r->messages = (enum acct_messages)number;
		return ACCT_OK;
	}
	acct_family_set(
		r, (enum acct_families)number, number == ACCT_SETS ? (double[3]){ triple, 0, 0 } : shape);
	return ACCT_OK;
}
