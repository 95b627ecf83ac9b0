/* rd_sort.h - sorts items of one length by their bytes, however many there are: the hashes of a round's
 * messages, or whole messages.  No I/O of its own.
 *
 * Items are collected in blocks; a full block is sorted and becomes a run.  Without a spill all runs stay in
 * memory.  With a spill, runs are written to it.  Memory then holds one block (32 MiB of hashes), and as much
 * again while a block is sorted; while runs are merged, it holds a page of each run (4 KiB for every 2^20
 * hashes).  The cost is n log2 n comparisons for any items, so nobody can choose items that are slow to
 * sort. */
#pragma once

#include "cm_buf.h"
#include "cm_rc.h"
#include "pr_limits.h"

#define RD_SORT_RUN (1u << 20) /* number of hashes in a block; tests use fewer */
/* number of hashes that are written to a spill, and read back, at a time */
#define RD_SORT_PAGE       128u
#define RD_SORT_PAGE_BYTES ((size_t)RD_SORT_PAGE * PR_HASH_LEN)

/* Storage for pages, by number: each is written once, by one sort in order, and read back.  All pages of one
 * sort have one length: as many items as fit RD_SORT_PAGE_BYTES, at least one. */
struct rd_spill {
	void *ctx;
	enum cm_rc (*put)(void *ctx, uint64_t page, const void *bytes, size_t len, struct cm_err *err);
	enum cm_rc (*get)(void *ctx, uint64_t page, void *bytes, size_t len, struct cm_err *err);
};

struct rd_sort;
/* len: bytes of an item, at least 4.  run: items of a block, at least 1; rounded up to whole pages.  spill:
 * borrowed, or NULL.  NULL out of memory. */
struct rd_sort *rd_sort_new(size_t len, size_t run, const struct rd_spill *spill);
void rd_sort_free(struct rd_sort *s);
/* Add n items, in any order; copied. */
CM_CHECK enum cm_rc rd_sort_add(struct rd_sort *s, const void *items, size_t n, struct cm_err *err);
/* End the adding: from now on rd_sort_next returns the items in order.  Items that fit one block are not
 * spilled. */
CM_CHECK enum cm_rc rd_sort_done(struct rd_sort *s, struct cm_err *err);
/* The next item, borrowed until the next call; CM_EMORE after the last. */
CM_CHECK enum cm_rc rd_sort_next(struct rd_sort *s, const uint8_t **item, struct cm_err *err);

/* Sort n hashes in place. */
void rd_sort_hashes(uint8_t (*hashes)[PR_HASH_LEN], size_t n);
