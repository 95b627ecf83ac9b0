/* rd_tree.c - Merkle trees over hashes (RFC 6962), and proofs of inclusion and absence among sorted
 * leaves. */
#include "rd_tree.h"

#include <assert.h>
#include <string.h>

void rd_tree_leaf(const void *data, size_t len, uint8_t out[PR_HASH_LEN])
{
	cr_sha256_spans((const struct cr_span[]){ { "\0", 1 }, { data, len } }, 2, out);
}

void rd_tree_node(const uint8_t left[PR_HASH_LEN], const uint8_t right[PR_HASH_LEN], uint8_t out[PR_HASH_LEN])
{
	uint8_t both[1 + 2 * PR_HASH_LEN] = { 1 };

	memcpy(both + 1, left, PR_HASH_LEN);
	memcpy(both + 1 + PR_HASH_LEN, right, PR_HASH_LEN);
	cr_sha256(both, sizeof both, out);
}

void rd_tree_init(struct rd_tree *t)
{
	*t = (struct rd_tree){ .n = 0 };
}

/* Add a full subtree of 2^level leaves; the number of leaves so far is a multiple of that. */
static void add_subtree(struct rd_tree *t, unsigned level, const uint8_t node[PR_HASH_LEN])
{
	uint64_t leaves = UINT64_C(1) << level;
	uint8_t sum[PR_HASH_LEN];
	unsigned i = level;

	assert(t->n % leaves == 0 && t->n + leaves < UINT64_C(1) << RD_TREE_DEPTH_MAX);
	memcpy(sum, node, sizeof sum);
	for (; t->n >> i & 1; i++)
		rd_tree_node(t->peak[i], sum, sum);
	memcpy(t->peak[i], sum, sizeof sum);
	t->n += leaves;
}

void rd_tree_add(struct rd_tree *t, const uint8_t leaf[PR_HASH_LEN])
{
	add_subtree(t, 0, leaf);
}

void rd_tree_root(const struct rd_tree *t, uint8_t root[PR_HASH_LEN])
{
	bool any = false;

	if (t->n == 0)
		cr_sha256(NULL, 0, root);
	/* The smallest tree is the rightmost one. */
	for (unsigned i = 0; i < RD_TREE_DEPTH_MAX; i++) {
		if (!(t->n >> i & 1))
			continue;
		if (any)
			rd_tree_node(t->peak[i], root, root);
		else
			memcpy(root, t->peak[i], PR_HASH_LEN);
		any = true;
	}
}

void rd_range_init(struct rd_range *r, uint64_t begin)
{
	r->end = begin;
	r->trees = 0;
}

void rd_range_add(struct rd_range *r, const uint8_t leaf[PR_HASH_LEN])
{
	unsigned last = r->trees++;

	assert(r->end < (UINT64_C(1) << RD_TREE_DEPTH_MAX) - 1);
	memcpy(r->node[last], leaf, PR_HASH_LEN);
	r->level[last] = 0;
	r->end++;
	/* The last two subtrees of one size form one if the end is a multiple of their sum. */
	for (; last > 0 && r->level[last] == r->level[last - 1] && !(r->end >> r->level[last] & 1); last--) {
		rd_tree_node(r->node[last - 1], r->node[last], r->node[last - 1]);
		r->level[last - 1]++;
		r->trees--;
	}
}

void rd_tree_append(struct rd_tree *t, const struct rd_range *r)
{
	for (unsigned i = 0; i < r->trees; i++)
		add_subtree(t, r->level[i], r->node[i]);
}

unsigned rd_tree_depth(uint64_t n)
{
	unsigned depth = 0;

	while (depth < RD_TREE_DEPTH_MAX && UINT64_C(1) << depth < n)
		depth++;
	return depth;
}

/* On each level nodes are paired from the left; the last of an odd number moves up unchanged. */
unsigned rd_tree_path_len(uint64_t index, uint64_t n)
{
	unsigned len = 0;

	for (; n > 1; index /= 2, n = n / 2 + n % 2)
		len += index % 2 == 1 || index + 1 < n;
	return len;
}

void rd_tree_path(uint8_t (*leaves)[PR_HASH_LEN], uint64_t n, uint64_t index, uint8_t (*path)[PR_HASH_LEN])
{
	for (; n > 1; index /= 2, n = n / 2 + n % 2) {
		if (index % 2 == 1 || index + 1 < n)
			memcpy(path++, leaves[index ^ 1], PR_HASH_LEN);
		for (uint64_t i = 0; i + 1 < n; i += 2)
			rd_tree_node(leaves[i], leaves[i + 1], leaves[i / 2]);
		if (n % 2 == 1)
			memmove(leaves[n / 2], leaves[n - 1], PR_HASH_LEN);
	}
}

bool rd_tree_leads(const uint8_t leaf[PR_HASH_LEN], uint64_t index, uint64_t n, const uint8_t *path,
	size_t len, const uint8_t root[PR_HASH_LEN])
{
	uint64_t at = index, last = n - 1;
	uint8_t sum[PR_HASH_LEN];

	if (n == 0 || index >= n)
		return false;
	memcpy(sum, leaf, sizeof sum);
	for (size_t i = 0; i < len; i++, path += PR_HASH_LEN) {
		if (last == 0)
			return false;
		if (at % 2 == 1 || at == last) {
			rd_tree_node(path, sum, sum);
			for (; at % 2 == 0 && at > 0; at /= 2)
				last /= 2;
		} else {
			rd_tree_node(sum, path, sum);
		}
		at /= 2;
		last /= 2;
	}
	return last == 0 && memcmp(sum, root, PR_HASH_LEN) == 0;
}

/* ---- Entries ---- */

size_t rd_entry_len(uint64_t n)
{
	return 1 + 8 + 2 * (size_t)PR_HASH_LEN * (1 + rd_tree_depth(n));
}

struct rd_tree_entry rd_entry_at(uint8_t *bytes, uint64_t n)
{
	size_t half = (size_t)PR_HASH_LEN * (1 + rd_tree_depth(n));

	return (struct rd_tree_entry){ .kind = bytes,
		.place = bytes + 1,
		.first = bytes + 9,
		.first_path = bytes + 9 + PR_HASH_LEN,
		.second = bytes + 9 + half,
		.second_path = bytes + 9 + half + PR_HASH_LEN };
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
	uint8_t any = 0;

	for (size_t i = 0; i < len; i++)
		any |= bytes[i];
	return any == 0;
}

/* Is `hash` leaf `index`?  Its path follows it, and then zeros. */
static bool stands(const uint8_t *hash, uint64_t index, uint64_t n, const uint8_t root[PR_HASH_LEN])
{
	unsigned len = rd_tree_path_len(index, n);
	const uint8_t *path = hash + PR_HASH_LEN;
	uint8_t leaf[PR_HASH_LEN];

	rd_tree_leaf(hash, PR_HASH_LEN, leaf);
	return rd_tree_leads(leaf, index, n, path, len, root) &&
	       is_zero(path + (size_t)len * PR_HASH_LEN, (size_t)PR_HASH_LEN * (rd_tree_depth(n) - len));
}

static bool is_out(const uint8_t *first, const uint8_t *second, const uint8_t hash[PR_HASH_LEN],
	uint64_t place, uint64_t n, const uint8_t root[PR_HASH_LEN])
{
	size_t half = (size_t)(second - first);

	if (place > 0 ? memcmp(first, hash, PR_HASH_LEN) >= 0 || !stands(first, place - 1, n, root)
		      : !is_zero(first, half))
		return false;
	return place < n ? memcmp(hash, second, PR_HASH_LEN) < 0 && stands(second, place, n, root)
			 : is_zero(second, half);
}

enum rd_found rd_entry_check(const uint8_t *bytes, size_t len, const uint8_t hash[PR_HASH_LEN], uint64_t n,
	const uint8_t root[PR_HASH_LEN])
{
	if (n == 0 || n >= UINT64_C(1) << RD_TREE_DEPTH_MAX || len != rd_entry_len(n))
		return RD_FOUND_NOT_SAID;
	size_t half = (size_t)PR_HASH_LEN * (1 + rd_tree_depth(n));
	const uint8_t *first = bytes + 9, *second = first + half;
	uint64_t place = cm_get_le64(bytes + 1);

	if (bytes[0] == RD_FOUND_IN && place < n && memcmp(first, hash, PR_HASH_LEN) == 0 &&
		stands(first, place, n, root) && is_zero(second, half))
		return RD_FOUND_IN;
	if (bytes[0] == RD_FOUND_OUT && place <= n && is_out(first, second, hash, place, n, root))
		return RD_FOUND_OUT;
	return RD_FOUND_NOT_SAID;
}
