/* rd_tree.h - Merkle trees over hashes: roots, paths, and proofs that a hash is or is not among sorted
 * leaves.  No I/O.
 *
 * The tree is RFC 6962's: a leaf is SHA-256(0x00 || data), a node SHA-256(0x01 || left || right), and a tree
 * of n > 1 leaves is split at the largest power of two below n.  The empty tree's root is SHA-256 of nothing.
 * Paths are checked as RFC 9162, section 2.1.3.2, does. */
#pragma once

#include "cm_buf.h"
#include "cr_hash.h"
#include "pr_limits.h"

/* The most hashes in a path of a tree of less than 2^40 leaves. */
#define RD_TREE_DEPTH_MAX 40u

void rd_tree_leaf(const void *data, size_t len, uint8_t out[PR_HASH_LEN]);
void rd_tree_node(
	const uint8_t left[PR_HASH_LEN], const uint8_t right[PR_HASH_LEN], uint8_t out[PR_HASH_LEN]);

/* Computes a root from leaves that are added one by one, in 1.3 KiB whatever n is. */
struct rd_tree {
	uint64_t n;
	uint8_t peak[RD_TREE_DEPTH_MAX][PR_HASH_LEN]; /* peak[i] is the root of a full tree of 2^i leaves, if
							 bit i of n is set */
};
void rd_tree_init(struct rd_tree *t);
/* leaf: from rd_tree_leaf.  At most 2^RD_TREE_DEPTH_MAX - 1 leaves. */
void rd_tree_add(struct rd_tree *t, const uint8_t leaf[PR_HASH_LEN]);
void rd_tree_root(const struct rd_tree *t, uint8_t root[PR_HASH_LEN]);

/* Adjacent leaves begin..end-1 of a tree whose other leaves are not known here.  It keeps the roots of the
 * full subtrees that these leaves form, from left to right, in 2.7 KiB.  With ranges several threads can make
 * one tree. */
struct rd_range {
	uint64_t end;
	unsigned trees;
	uint8_t level[2 * RD_TREE_DEPTH_MAX]; /* a subtree has 2^level leaves */
	uint8_t node[2 * RD_TREE_DEPTH_MAX][PR_HASH_LEN];
};
void rd_range_init(struct rd_range *r, uint64_t begin);
/* Add the leaf number r->end, which must be below 2^RD_TREE_DEPTH_MAX - 1. */
void rd_range_add(struct rd_range *r, const uint8_t leaf[PR_HASH_LEN]);
/* Append a range's leaves to a tree whose n is the range's begin. */
void rd_tree_append(struct rd_tree *t, const struct rd_range *r);

/* The number of hashes in the path of leaf `index` of n, index < n; and the largest such number among the n
 * leaves. */
unsigned rd_tree_path_len(uint64_t index, uint64_t n);
unsigned rd_tree_depth(uint64_t n);
/* Writes the path of leaf `index` of n, from the leaf up: rd_tree_path_len hashes at `path`.  Overwrites
 * leaves; costs n hashes. */
void rd_tree_path(uint8_t (*leaves)[PR_HASH_LEN], uint64_t n, uint64_t index, uint8_t (*path)[PR_HASH_LEN]);
/* Does `path`, of `len` hashes, lead from this leaf at `index` to the root of n leaves? */
bool rd_tree_leads(const uint8_t leaf[PR_HASH_LEN], uint64_t index, uint64_t n, const uint8_t *path,
	size_t len, const uint8_t root[PR_HASH_LEN]);

/* ---- Is a hash among the sorted leaves of a round? ----
 *
 * An entry answers for one hash.  All entries for one tree have the same length:
 *   kind (1 byte) || place (u64, little endian) || first hash || its path || second hash || its path
 * A hash has 32 bytes, a path 32 bytes times the tree's depth.  Shorter paths and unused parts are filled
 * with zeros.
 *
 * Kind 1: the hash is leaf number `place`.  first is this leaf; second is unused.
 *
 * Kind 2: the hash is no leaf, and would stand at `place`.  first is the leaf before `place`, which is less
 * than the hash; it is unused if place is 0.  second is the leaf at `place`, which is greater; it is unused
 * if place is n. */
enum rd_found {
	RD_FOUND_NOT_SAID = 0, /* the entry proves nothing */
	RD_FOUND_IN = 1,
	RD_FOUND_OUT = 2,
};
/* Bytes of an entry for a tree of n leaves. */
size_t rd_entry_len(uint64_t n);
/* The parts of an entry, filled in by the caller; all zero at first. */
struct rd_tree_entry {
	uint8_t *kind, *place, *first, *first_path, *second, *second_path;
};
struct rd_tree_entry rd_entry_at(uint8_t *bytes, uint64_t n);
/* Decides what these bytes prove about `hash` under this root of n sorted leaves.  Another length, a false
 * path, leaves that are not adjacent or not in order, and padding that is not zero prove nothing. */
enum rd_found rd_entry_check(const uint8_t *bytes, size_t len, const uint8_t hash[PR_HASH_LEN], uint64_t n,
	const uint8_t root[PR_HASH_LEN]);
