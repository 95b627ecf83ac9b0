/* sh_fates.c - records what the ledger says about each round. */
#include "sh_fates.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b)
{
	return memcmp(a, b, PR_ROUND_ID_LEN); /* the id is the first member of a row */
}

struct sh_fate_row *sh_fates_find(const struct sh_fates *f, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	struct sh_fate_row *const *node = tfind(round_id, &f->root, by_id);

	return node ? *node : NULL;
}

struct sh_fate_row *sh_fates_at(struct sh_fates *f, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	struct sh_fate_row *row = sh_fates_find(f, round_id);

	if (row)
		return row;
	row = calloc(1, sizeof *row);
	if (!row)
		return NULL;
	memcpy(row->round_id, round_id, PR_ROUND_ID_LEN);
	if (!tsearch(row, &f->root, by_id)) {
		free(row);
		return NULL;
	}
	return row;
}

void sh_fates_fini(struct sh_fates *f)
{
	while (f->root) {
		/* The first member of a node is the pointer to its key (POSIX). */
		struct sh_fate_row *row = *(struct sh_fate_row **)f->root;

		(void)tdelete(row, &f->root, by_id);
		free(row);
	}
}
