/* sh_leaves.h - the sorted hashes of a sealed round's messages: the Merkle tree that the manifest names, and
 * proofs of inclusion while clients may ask for them.
 *
 * The hashes are a file of pages, 128 hashes each, encrypted under a key for this round's leaves only.  That
 * key outlives the round; destroying it erases the leaves.  After the hashes come the tree's nodes seven
 * levels up, again in pages, each covering 128 pages below, and so on.  So a proof reads one page per level.
 * 33 bytes per message.  The file does not say who sent a message, in which bucket it was, or who asked for a
 * proof. */
#pragma once

#include "cm_crew.h"
#include "cr_secret.h"
#include "rd_tree.h"

/* Where leaves are stored; borrowed. */
struct sh_leaves_place {
	/* directory of the files and their keys; NULL: there is none, and leaves that do not fit in memory
	 * are an error */
	const char *dir;
	int64_t window_ms; /* proofs are given for so long after the seal; 0: leaves are not kept */
};

/* ---- Building: any thread ---- */

struct sh_leaves_maker;
/* Start with n messages of the round.  Erases what an interrupted attempt left. */
CM_CHECK enum cm_rc sh_leaves_begin(const struct sh_leaves_place *place,
	const uint8_t round_id[PR_ROUND_ID_LEN], uint64_t n, int64_t sealed_ms, struct sh_leaves_maker **out,
	struct cm_err *err);
/* Add some of the hashes, in any order. */
CM_CHECK enum cm_rc sh_leaves_add(
	struct sh_leaves_maker *m, const uint8_t (*hashes)[PR_HASH_LEN], size_t n, struct cm_err *err);
/* After all n: compute the tree's root with this crew, and make the file durable if one is kept. */
CM_CHECK enum cm_rc sh_leaves_end(
	struct sh_leaves_maker *m, struct cm_crew *crew, uint8_t root[PR_HASH_LEN], struct cm_err *err);
/* Free the maker; accepts NULL.  The file of an unfinished tree is erased by the next attempt, or when its
 * window is over. */
void sh_leaves_maker_free(struct sh_leaves_maker *m);

/* ---- Proving ---- */

struct sh_leaves;
/* CM_ENOINPUT: the leaves were never kept, or are erased. */
CM_CHECK enum cm_rc sh_leaves_open(const struct sh_leaves_place *place,
	const uint8_t round_id[PR_ROUND_ID_LEN], struct sh_leaves **out, struct cm_err *err);
void sh_leaves_close(struct sh_leaves *l);
uint64_t sh_leaves_count(const struct sh_leaves *l);
/* Write the entry (rd_tree.h) of a hash: rd_entry_len(sh_leaves_count(l)) bytes.  Reads about 30 pages. */
CM_CHECK enum cm_rc sh_leaves_prove(
	struct sh_leaves *l, const uint8_t hash[PR_HASH_LEN], uint8_t *entry, struct cm_err *err);

/* Destroy key and file.  CM_OK if there are none. */
CM_CHECK enum cm_rc sh_leaves_erase(
	const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* Visit every round that has leaves, with the time of its seal; 0: the file cannot be read. */
typedef enum cm_rc sh_leaves_fn(
	void *user, const uint8_t round_id[PR_ROUND_ID_LEN], int64_t sealed_ms, struct cm_err *err);
CM_CHECK enum cm_rc sh_leaves_each(
	const struct sh_leaves_place *place, sh_leaves_fn *fn, void *user, struct cm_err *err);
