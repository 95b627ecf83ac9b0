/* rd_sort.h - sorts the hashes of a round's messages, however many there are.  No I/O of its own.
 *
 * Hashes are collected in blocks of RD_SORT_RUN; a full block is sorted and becomes a run.  With a spill,
 * runs are written to it, and one block and RD_SORT_PAGE hashes of each run are in memory: 32 MiB, and 4 KiB
 * for every 2^20 messages.  Without a spill all runs stay in memory: 32 bytes a message.  Cost: n log2 n
 * comparisons of hashes. */
#pragma once

#include "cm_buf.h"
#include "cm_rc.h"
#include "pr_limits.h"

#define RD_SORT_RUN        (1u << 20)
#define RD_SORT_PAGE       128u /* hashes that are written to and read from a spill at a time */
#define RD_SORT_PAGE_BYTES ((size_t)RD_SORT_PAGE * PR_HASH_LEN)

/* Storage for pages of RD_SORT_PAGE_BYTES, by number: written once, in order, and read back. */
struct rd_spill {
	void *ctx;
	enum cm_rc (*put)(void *ctx, uint64_t page, const void *bytes, struct cm_err *err);
	enum cm_rc (*get)(void *ctx, uint64_t page, void *bytes, struct cm_err *err);
};

struct rd_sort;
/* run: hashes of a run, a multiple of RD_SORT_PAGE; RD_SORT_RUN except in tests. spill: borrowed, or NULL.
 * NULL out of memory. */
struct rd_sort *rd_sort_new(size_t run, const struct rd_spill *spill);
void rd_sort_free(struct rd_sort *s);
/* Add n hashes, in any order; copied. */
CM_CHECK enum cm_rc rd_sort_add(
	struct rd_sort *s, const uint8_t (*hashes)[PR_HASH_LEN], size_t n, struct cm_err *err);
/* All hashes are added: rd_sort_next now returns them in order.  Nothing is spilled that fits one run. */
CM_CHECK enum cm_rc rd_sort_done(struct rd_sort *s, struct cm_err *err);
/* The next hash, borrowed until the next call; CM_EMORE after the last. */
CM_CHECK enum cm_rc rd_sort_next(struct rd_sort *s, const uint8_t **hash, struct cm_err *err);

/* Sort n hashes in place. */
void rd_sort_hashes(uint8_t (*hashes)[PR_HASH_LEN], size_t n);
