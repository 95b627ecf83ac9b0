/* sh_heads.c - keeps the heads of the analyzer's ledger that clients have stated, one per certificate. */
#include "sh_heads.h"

#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"

static struct sh_head_row *find(const struct sh_heads *h, const uint8_t name[PR_HASH_LEN])
{
	for (size_t i = 0; i < h->n; i++)
		if (memcmp(h->row[i].name, name, PR_HASH_LEN) == 0)
			return &h->row[i];
	return NULL;
}

const struct sh_head_row *sh_heads_find(const struct sh_heads *h, const uint8_t name[PR_HASH_LEN])
{
	return find(h, name);
}

enum cm_rc sh_heads_put(struct sh_heads *h, const struct sh_head_row *row, struct cm_err *err)
{
	struct sh_head_row *at = find(h, row->name);

	if (!at) {
		void *room = cm_grow(h->row, h->n, &h->cap, sizeof *h->row);
		if (!room)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		h->row = room;
		at = &h->row[h->n++];
	} else {
		h->devices -= at->devices;
	}
	*at = *row;
	h->devices += row->devices; /* cannot overflow: memory holds fewer than 2^32 rows of 32-bit numbers */
	return CM_OK;
}

void sh_heads_fini(struct sh_heads *h)
{
	free(h->row);
	*h = (struct sh_heads){ .row = NULL };
}

const struct sh_head_row *sh_heads_longest(const struct sh_heads *h)
{
	const struct sh_head_row *longest = NULL;

	for (size_t i = 0; i < h->n; i++)
		if (!longest || h->row[i].seq > longest->seq)
			longest = &h->row[i];
	return longest;
}
