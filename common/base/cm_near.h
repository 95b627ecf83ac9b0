/* cm_near.h - the nearest of some known words, for "did you mean". */
#pragma once

#include <stddef.h>

/* Single-letter insertions, deletions, replacements and swaps of neighbours between a and b, looking at 63
 * bytes of each. */
size_t cm_near_distance(const char *a, const char *b);

/* The nearest word so far: start from zeroes, offer every known word, read `word`.  It stays NULL while
 * nothing is closer than a third of the length.  Words are borrowed. */
struct cm_near {
	const char *word;
	size_t distance;
};
void cm_near_offer(struct cm_near *near, const char *typed, const char *known);
