/* qy_set.c - a text of items to the set that it is, in a time that goes with its length: one device's text
 * may not keep the others of its gateway waiting. */
#include <stdlib.h>
#include <string.h>

#include "pr_limits.h"
#include "qy_query.h"

#define FEW 64u /* items that are looked for in all categories; of more these are sorted first */

/* qsort has no context argument in C17. */
static _Thread_local char *const *sorting;

static int compare(const void *a, const void *b)
{
	return strcmp(sorting[*(const uint16_t *)a], sorting[*(const uint16_t *)b]);
}

_Static_assert(PR_CATEGORIES_MAX <= UINT16_MAX, "a category has a number of 16 bits");

static void sort(const struct qy_query *q, uint16_t order[PR_CATEGORIES_MAX])
{
	for (uint32_t i = 0; i < q->categories; i++)
		order[i] = (uint16_t)i;
	sorting = q->category;
	qsort(order, q->categories, sizeof *order, compare);
}

/* As strcmp, with the first `len` bytes of text. */
static int compare_part(const char *category, const char *text, size_t len)
{
	int found = strncmp(category, text, len);

	return found != 0 ? found : category[len] != '\0';
}

/* The category that is this item; q->categories if none is.  order NULL: they are not sorted. */
static uint32_t find(const struct qy_query *q, const uint16_t *order, const char *text, size_t len)
{
	uint32_t low = 0, high = q->categories;

	for (uint32_t i = 0; !order && i < q->categories; i++)
		if (compare_part(q->category[i], text, len) == 0)
			return i;
	while (order && low < high) {
		uint32_t middle = (low + high) / 2;
		int found = compare_part(q->category[order[middle]], text, len);

		if (found == 0)
			return order[middle];
		if (found < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return q->categories;
}

/* Whether there was white space at its ends, which is gone then. */
static bool trim(const char **text, size_t *len)
{
	size_t before = strspn(*text, " \t"), all = *len;

	if (before >= *len)
		return false;
	*text += before;
	*len -= before;
	while ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t')
		--*len;
	return *len < all;
}

void qy_set_read(const struct qy_query *q, const char *text, uint32_t *at)
{
	static const char separator[] = { QY_SET_SEPARATOR, '\0' };
	uint16_t order[PR_CATEGORIES_MAX];

	memset(at, 0, qy_value_width(q) * sizeof *at);
	for (size_t item = 0;; item++) {
		size_t len = strcspn(text, separator), bare_len = len;
		const char *bare = text;
		uint32_t i;

		if (item == FEW)
			sort(q, order);
		i = find(q, item < FEW ? NULL : order, text, len);
		/* "a; b" is written, too. */
		if (i == q->categories && trim(&bare, &bare_len))
			i = find(q, item < FEW ? NULL : order, bare, bare_len);
		if (i < q->categories)
			at[i] = 1;
		if (text[len] == '\0')
			return;
		text += len + 1;
	}
}
