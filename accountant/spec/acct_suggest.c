/* acct_suggest.c - finds the known word that an unknown one was meant to be. */
#include "acct_suggest.h"

#include <string.h>

#define LOOK 24u /* every known word is at most this long */

/* Names that other libraries and papers use. */
static const struct {
	const char *typed, *word;
} other_names[] = {
	{ "krr", "grr" },
	{ "k-rr", "grr" },
	{ "eps", "eps0" },
	{ "epsilon", "eps0" },
	{ "epsilon0", "eps0" },
	{ "eps_0", "eps0" },
	{ "hr", "hadamard" },
	{ "laplace", "laplace-levels" },
	{ "users", "n" },
	{ "participants", "n" },
	{ "times", "count" },
	{ "repetitions", "count" },
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The least number of letters to insert, delete or replace that turns one word into the other. */
static size_t distance(const char *a, const char *b)
{
	size_t row[LOOK + 1], na = strnlen(a, LOOK), nb = strnlen(b, LOOK);

	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j];

			row[j] = least(least(above, row[j - 1]) + 1, corner + (a[i - 1] != b[j - 1]));
			corner = above;
		}
	}
	return row[nb];
}

const char *acct_suggest(const char *typed, acct_word_fn *word, const void *list)
{
	const char *nearest = NULL, *known;
	size_t best = LOOK;

	for (size_t k = 0; k < sizeof other_names / sizeof *other_names; k++)
		for (size_t i = 0; strcmp(typed, other_names[k].typed) == 0 && (known = word(list, i)); i++)
			if (strcmp(known, other_names[k].word) == 0)
				return known;
	for (size_t i = 0; (known = word(list, i)); i++) {
		size_t far = distance(typed, known), length = strlen(known);

		/* at least two of three letters must agree, so nothing is guessed for a word of one or two
		 * letters */
		if (length > 2 && far <= length / 3 && far < best) {
			best = far;
			nearest = known;
		}
	}
	return nearest;
}
