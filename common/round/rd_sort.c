/* rd_sort.c - merges sorted runs of items, in memory or spilled. */
#include "rd_sort.h"

#include <stdlib.h>
#include <string.h>

/* A sorted run, and the position up to which it has been read. */
struct run {
	uint8_t *at;         /* all its items, or one page of them */
	size_t next, loaded; /* indices within `at` */
	uint64_t page;       /* number of the page to read next */
	size_t left;         /* number of items that are not loaded yet */
};

struct rd_sort {
	const struct rd_spill *spill;
	size_t len;               /* bytes of an item */
	size_t page_len, run_len; /* items of a page, of a block */
	uint8_t *block;           /* the block that collects items */
	size_t gathered;
	struct run *run;
	size_t runs, room;
	uint64_t pages;
	size_t *heap; /* runs ordered by their next item, the least first */
	size_t heaped;
	bool started;
};

struct rd_sort *rd_sort_new(size_t len, size_t run, const struct rd_spill *spill)
{
	struct rd_sort *s = calloc(1, sizeof *s);

	if (s) {
		s->spill = spill;
		s->len = len;
		s->page_len = len < RD_SORT_PAGE_BYTES ? RD_SORT_PAGE_BYTES / len : 1;
		s->run_len = (run + s->page_len - 1) / s->page_len * s->page_len;
	}
	return s;
}

void rd_sort_free(struct rd_sort *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->runs; i++)
		free(s->run[i].at);
	free(s->run);
	free(s->block);
	free(s->heap);
	free(s);
}

/* qsort has no context argument in C17. */
static _Thread_local size_t compare_len;

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, compare_len);
}

static void sort_items(void *items, size_t n, size_t len)
{
	compare_len = len;
	if (n > 1)
		qsort(items, n, len, by_bytes);
}

void rd_sort_hashes(uint8_t (*hashes)[PR_HASH_LEN], size_t n)
{
	sort_items(hashes, n, sizeof *hashes);
}

static enum cm_rc no_memory(struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "out of memory for sorting a round's messages");
}

/* Writes the pages of a full block to the spill. */
static enum cm_rc put_pages(struct rd_sort *s, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t at = 0; rc == CM_OK && at < s->gathered; at += s->page_len)
		rc = s->spill->put(
			s->spill->ctx, s->pages++, s->block + at * s->len, s->page_len * s->len, err);
	return rc;
}

/* Makes the block a run; with `last` the run stays in memory. */
static enum cm_rc end_run(struct rd_sort *s, bool last, struct cm_err *err)
{
	struct run *grown = cm_grow(s->run, s->runs, &s->room, sizeof *s->run);
	enum cm_rc rc = CM_OK;

	if (!grown)
		return no_memory(err);
	s->run = grown;
	struct run *r = &s->run[s->runs];
	*r = (struct run){ .page = s->pages };
	sort_items(s->block, s->gathered, s->len);
	if (s->spill && !last) {
		r->left = s->gathered;
		r->at = malloc(s->page_len * s->len);
		rc = r->at ? put_pages(s, err) : no_memory(err);
	} else {
		r->at = s->block;
		r->loaded = s->gathered;
		s->block = NULL;
	}
	s->runs++;
	s->gathered = 0;
	return rc;
}

enum cm_rc rd_sort_add(struct rd_sort *s, const void *items, size_t n, struct cm_err *err)
{
	const uint8_t *from = items;
	enum cm_rc rc = CM_OK;

	while (rc == CM_OK && n > 0) {
		size_t room = s->run_len - s->gathered, take = n < room ? n : room;

		if (!s->block)
			s->block = malloc(s->run_len * s->len);
		if (!s->block)
			return no_memory(err);
		memcpy(s->block + s->gathered * s->len, from, take * s->len);
		s->gathered += take;
		from += take * s->len;
		n -= take;
		if (s->gathered == s->run_len)
			rc = end_run(s, false, err);
	}
	return rc;
}

static const uint8_t *head(const struct rd_sort *s, size_t run)
{
	return s->run[run].at + s->run[run].next * s->len;
}

/* Move heap[at] down to its place. */
static void sink(struct rd_sort *s, size_t at)
{
	for (size_t least = at;; at = least) {
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < s->heaped; child++)
			if (memcmp(head(s, s->heap[child]), head(s, s->heap[least]), s->len) < 0)
				least = child;
		if (least == at)
			return;
		size_t other = s->heap[at];
		s->heap[at] = s->heap[least];
		s->heap[least] = other;
	}
}

/* Load a spilled run's next page, if it has one.  CM_EMORE: the run is at its end. */
static enum cm_rc load(struct rd_sort *s, struct run *r, struct cm_err *err)
{
	if (r->left == 0)
		return CM_EMORE;
	r->next = 0;
	r->loaded = r->left < s->page_len ? r->left : s->page_len;
	r->left -= r->loaded;
	return s->spill->get(s->spill->ctx, r->page++, r->at, s->page_len * s->len, err);
}

enum cm_rc rd_sort_done(struct rd_sort *s, struct cm_err *err)
{
	enum cm_rc rc = s->gathered > 0 ? end_run(s, true, err) : CM_OK;

	if (rc == CM_OK && s->runs > 0 && !(s->heap = calloc(s->runs, sizeof *s->heap)))
		rc = no_memory(err);
	for (size_t i = 0; rc == CM_OK && i < s->runs; i++) {
		rc = s->run[i].loaded > 0 ? CM_OK : load(s, &s->run[i], err);
		s->heap[s->heaped++] = i;
	}
	for (size_t i = s->heaped / 2; rc == CM_OK && i-- > 0;)
		sink(s, i);
	return rc;
}

enum cm_rc rd_sort_next(struct rd_sort *s, const uint8_t **item, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	/* The run of the last item moves on only now, since the caller had borrowed that item. */
	if (s->started && s->heaped > 0) {
		struct run *r = &s->run[s->heap[0]];
		if (++r->next == r->loaded)
			rc = load(s, r, err);
		if (rc == CM_EMORE)
			s->heap[0] = s->heap[--s->heaped];
		else if (rc != CM_OK)
			return rc;
		sink(s, 0);
	}
	s->started = true;
	if (s->heaped == 0)
		return CM_EMORE;
	*item = head(s, s->heap[0]);
	return CM_OK;
}
