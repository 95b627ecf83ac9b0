/* sh_leaves_file.h - the file of a round's leaves: a header, encrypted pages, and where each level starts. */
#pragma once

#include "cr_aead.h"
#include "rd_sort.h"
#include "sh_leaves.h"

#define SH_LEVELS_MAX 6u /* more levels than a round can have: 128^6 leaves */
#define SH_PAGE_BITS  7u
#define SH_BOX_LEN    (RD_SORT_PAGE_BYTES + CR_BOX_OVERHEAD)

struct sh_leaves_file {
	int fd; /* the open file; -1: it is not open */
	struct cr_key key;
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint64_t n;
	int64_t sealed_ms;
	unsigned levels;
	/* number of hashes on each level: level 0 has the leaves, level i the nodes 7 i levels above
	 * them */
	uint64_t count[SH_LEVELS_MAX];
	uint64_t base[SH_LEVELS_MAX]; /* number of the first page of each level */
};

/* Set the levels of a tree of n leaves. */
void sh_leaves_file_layout(struct sh_leaves_file *f, uint64_t n);
/* Write or read one whole page of RD_SORT_PAGE_BYTES; any number of threads at a time, each its own page. */
CM_CHECK enum cm_rc sh_leaves_file_write(
	const struct sh_leaves_file *f, uint64_t page, const void *bytes, struct cm_err *err);
CM_CHECK enum cm_rc sh_leaves_file_read(
	const struct sh_leaves_file *f, uint64_t page, void *bytes, struct cm_err *err);
/* Write the header of a new file: magic, n, sealed_ms.  Or read it, and set the levels that follow from n. */
CM_CHECK enum cm_rc sh_leaves_file_begin(const struct sh_leaves_file *f, struct cm_err *err);
CM_CHECK enum cm_rc sh_leaves_file_open(struct sh_leaves_file *f, struct cm_err *err);

/* The path "DIR/ID.suffix", malloc'd; and the name of the key file. */
char *sh_leaves_file_path(const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN],
	const char *suffix, struct cm_err *err);
#define SH_LEAVES_NAME_LEN (2 * PR_ROUND_ID_LEN + 8u)
void sh_leaves_file_key(const uint8_t round_id[PR_ROUND_ID_LEN], char out[SH_LEAVES_NAME_LEN]);
