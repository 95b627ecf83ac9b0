/* rd_sort.c - merges sorted runs of items, which are in memory or spilled. */
#include "rd_sort.h"

#include <stdlib.h>
#include <string.h>

#define SHORT 64u /* most bytes of an item that sort_in_bins() may move, since that is cheap */

/* A sorted run, and the position up to which it has been read. */
struct run {
	uint8_t *at;         /* all items of the run, or one page of them; NULL: not loaded yet */
	size_t next, loaded; /* index of the next item within `at`, and number of items loaded there */
	uint64_t page;       /* number of the page to read next */
	size_t left;         /* number of items that are not loaded yet */
};

struct rd_sort {
	const struct rd_spill *spill;
	size_t len;               /* bytes of an item */
	size_t page_len, run_len; /* number of items of a page, and of a block */
	uint8_t *block;           /* the block in which items are collected */
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

#define BINS_MAX 65536u
#define BIN_FEW  24u /* so many items or fewer are put into order one by one */

static void sort_few(uint8_t *items, size_t n, size_t len)
{
	uint8_t one[SHORT];

	for (size_t i = 1; i < n; i++) {
		size_t at = i;

		while (at > 0 && memcmp(items + (at - 1) * len, items + i * len, len) > 0)
			at--;
		if (at == i)
			continue;
		memcpy(one, items + i * len, len);
		memmove(items + (at + 1) * len, items + at * len, (i - at) * len);
		memcpy(items + at * len, one, len);
	}
}

static void sort_bin(uint8_t *items, size_t n, size_t len)
{
	if (n <= BIN_FEW && len <= SHORT)
		sort_few(items, n, len);
	else
		qsort(items, n, len, by_bytes);
}

/* Bins of equal ranges of the items' first four bytes, in order. */
struct bins {
	uint32_t least;
	uint64_t scale; /* number of bins for each possible value of those bytes, times 2^32 */
	size_t bins, *end;
};

static size_t bin_of(const struct bins *b, const uint8_t *item)
{
	return (size_t)((cm_get_be32(item) - b->least) * b->scale >> 32);
}

static bool bins_init(struct bins *b, const uint8_t *items, size_t n, size_t len)
{
	uint32_t most = 0;

	*b = (struct bins){ .least = UINT32_MAX, .bins = n / 4 < BINS_MAX ? n / 4 : BINS_MAX };
	for (size_t i = 0; i < n; i++) {
		uint32_t at = cm_get_be32(items + i * len);

		b->least = at < b->least ? at : b->least;
		most = at > most ? at : most;
	}
	b->scale = ((uint64_t)b->bins << 32) / ((uint64_t)most - b->least + 1);
	b->end = calloc(b->bins, sizeof *b->end);
	return b->end;
}

/* Hashes and keys spread over bins of few items.  If other items do not, qsort sorts them, bin by bin. */
static void sort_in_bins(struct bins *b, uint8_t *items, size_t n, size_t len, uint8_t *sorted)
{
	size_t first = 0, size;

	for (size_t i = 0; i < n; i++)
		b->end[bin_of(b, items + i * len)]++;
	/* First where each bin begins; once the bins are filled, where it ends. */
	for (size_t i = 0, at = 0; i < b->bins; i++, at += size) {
		size = b->end[i];
		b->end[i] = at;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(sorted + b->end[bin_of(b, items + i * len)]++ * len, items + i * len, len);
	for (size_t i = 0; i < b->bins; first = b->end[i++])
		if (b->end[i] - first > 1)
			sort_bin(sorted + first * len, b->end[i] - first, len);
	memcpy(items, sorted, n * len);
}

static void sort_items(void *items, size_t n, size_t len)
{
	uint8_t *sorted = n < 64 ? NULL : malloc(n * len);
	struct bins bins = { 0 };

	compare_len = len;
	if (sorted && bins_init(&bins, items, n, len))
		sort_in_bins(&bins, items, n, len, sorted);
	else if (n > 1)
		qsort(items, n, len, by_bytes);
	free(bins.end);
	free(sorted);
}

void rd_sort_hashes(uint8_t (*hashes)[PR_HASH_LEN], size_t n)
{
	sort_items(hashes, n, sizeof *hashes);
}

static enum cm_rc no_memory(struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "out of memory for sorting a round's messages");
}

/* Write the pages of a full block to the spill. */
static enum cm_rc put_pages(struct rd_sort *s, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t at = 0; rc == CM_OK && at < s->gathered; at += s->page_len)
		rc = s->spill->put(
			s->spill->ctx, s->pages++, s->block + at * s->len, s->page_len * s->len, err);
	return rc;
}

/* Make the block a run; with `last` the run stays in memory. */
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
		rc = put_pages(s, err);
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
	if (!r->at && !(r->at = malloc(s->page_len * s->len)))
		return no_memory(err);
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

	/* Move past the last item only now, since the caller had borrowed it. */
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
