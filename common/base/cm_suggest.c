/* cm_suggest.c - finds the known word nearest to an unknown one, for "did you mean". */
#include "cm_suggest.h"

#include <string.h>

#define LOOK 63u

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t cm_suggest_distance(const char *a, const char *b)
{
	/* The last three rows of the edit-distance table (optimal string alignment). */
	size_t row[3][LOOK + 1];
	size_t na = strnlen(a, LOOK), nb = strnlen(b, LOOK);

	for (size_t j = 0; j <= nb; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			now[j] = least(least(up[j], now[j - 1]) + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], up2[j - 2] + 1);
		}
	}
	return row[na % 3][nb];
}

void cm_suggest_offer(struct cm_suggest *nearest, const char *typed, const char *known)
{
	size_t d = cm_suggest_distance(typed, known), len = strlen(known);

	if (d > (len < 3 ? 1 : len / 3))
		return;
	if (!nearest->word || d < nearest->distance)
		*nearest = (struct cm_suggest){ .word = known, .distance = d };
}
