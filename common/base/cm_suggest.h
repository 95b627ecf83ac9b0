/* cm_suggest.h - finds the known word nearest to an unknown one, for "did you mean". */
#pragma once

#include <stddef.h>

/* The edit distance of a and b: insertions, deletions, replacements and swaps of neighbouring letters.
 * Compares the first 63 bytes of each. */
size_t cm_suggest_distance(const char *a, const char *b);

/* The nearest word so far.  Start from zeroes, offer every known word, then read `word`: it stays NULL
 * while no word is closer than a third of the length.  Words are borrowed. */
struct cm_suggest {
	const char *word;
	size_t distance;
};
void cm_suggest_offer(struct cm_suggest *nearest, const char *typed, const char *known);
