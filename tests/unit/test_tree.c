/* test_tree.c - Merkle trees and their proofs: known answers, every index of every small tree, and that no
 * change of a proof turns what it says into its contrary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "rd_sort.h"
#include "rd_tree.h"
#include "seeded.h"

#define MOST 1025u

typedef uint8_t hash_t[PR_HASH_LEN];

static struct cr_rng rng;
static struct cm_err err;

/* MTH and PATH as RFC 6962 defines them, by recursion. */
static size_t split(size_t n)
{
	size_t k = 1;

	while (2 * k < n)
		k *= 2;
	return k;
}

static void mth(hash_t *leaf, size_t n, uint8_t *out)
{
	hash_t left, right;

	if (n == 0) {
		cr_sha256("", 0, out);
	} else if (n == 1) {
		memcpy(out, leaf[0], PR_HASH_LEN);
	} else {
		mth(leaf, split(n), left);
		mth(leaf + split(n), n - split(n), right);
		cr_sha256_spans((const struct cr_span[]){ { "\1", 1 }, { left, 32 }, { right, 32 } }, 3, out);
	}
}

static size_t path(hash_t *leaf, size_t n, size_t index, hash_t *out)
{
	size_t k = n > 1 ? split(n) : 0, len;

	if (n <= 1)
		return 0;
	len = index < k ? path(leaf, k, index, out) : path(leaf + k, n - k, index - k, out);
	mth(index < k ? leaf + k : leaf, index < k ? n - k : k, out[len]);
	return len + 1;
}

/* Sizes 0..40, and powers of two and their neighbours. */
static bool worth_it(size_t n)
{
	return n <= 40 || (n & (n - 1)) == 0 || (n & (n + 1)) == 0 || ((n - 1) & (n - 2)) == 0;
}

static void roots_are_those_of_certificate_transparencys_own_tests(void **state)
{
	static const struct {
		const char *leaf;
		size_t len;
		const char *root; /* of the leaves so far */
	} row[] = {
		{ "", 0, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d" },
		{ "\x00", 1, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125" },
		{ "\x10", 1, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77" },
		{ "\x20\x21", 2, "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7" },
		{ "\x30\x31", 2, "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4" },
		{ "\x40\x41\x42\x43", 4, "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef" },
		{ "\x50\x51\x52\x53\x54\x55\x56\x57", 8,
			"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c" },
		{ "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16,
			"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328" },
	};
	struct rd_tree t;
	hash_t got;
	char hex[2 * PR_HASH_LEN + 1];

	(void)state;
	rd_tree_init(&t);
	rd_tree_root(&t, got);
	cm_hex(got, sizeof got, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		rd_tree_leaf(row[i].leaf, row[i].len, got);
		rd_tree_add(&t, got);
		rd_tree_root(&t, got);
		cm_hex(got, sizeof got, hex);
		assert_string_equal(hex, row[i].root);
	}
}

/* A tree of up to three ranges, cut at any two places, has the root of RFC 6962's definition. */
static void ranges_side_by_side_are_the_tree_of_all_their_leaves(void **state)
{
	enum { N = 37 };
	static hash_t leaf[N];
	hash_t root, want;

	(void)state;
	rng.fill(rng.ctx, leaf[0], sizeof leaf);
	for (size_t n = 0; n <= N; n++)
		for (size_t a = 0; a <= n; a++)
			for (size_t b = a; b <= n; b++) {
				const size_t cut[] = { 0, a, b, n };
				struct rd_tree t;

				rd_tree_init(&t);
				for (size_t k = 0; k < 3; k++) {
					struct rd_range r;

					rd_range_init(&r, cut[k]);
					for (size_t i = cut[k]; i < cut[k + 1]; i++)
						rd_range_add(&r, leaf[i]);
					assert_int_equal(r.end, cut[k + 1]);
					rd_tree_append(&t, &r);
				}
				assert_int_equal(t.n, n);
				rd_tree_root(&t, root);
				mth(leaf, n, want);
				assert_memory_equal(root, want, PR_HASH_LEN);
			}
}

static void every_path_of_every_small_tree_is_rfc_6962s_and_leads_from_its_place_alone(void **state)
{
	static hash_t leaf[MOST], work[MOST], want[RD_TREE_DEPTH_MAX], got[RD_TREE_DEPTH_MAX + 1];
	struct rd_tree t;
	hash_t root, other;

	(void)state;
	rd_tree_init(&t);
	for (size_t n = 1; n <= MOST; n++) {
		rng.fill(rng.ctx, leaf[n - 1], PR_HASH_LEN);
		rd_tree_add(&t, leaf[n - 1]);
		if (!worth_it(n))
			continue;
		rd_tree_root(&t, root);
		mth(leaf, n, other);
		assert_memory_equal(root, other, PR_HASH_LEN);
		for (size_t i = 0; i < n; i++) {
			size_t len = path(leaf, n, i, want);

			memcpy(work, leaf, n * sizeof *leaf);
			rd_tree_path(work, n, i, got);
			assert_int_equal(rd_tree_path_len(i, n), len);
			assert_true(len <= rd_tree_depth(n));
			if (len > 0)
				assert_memory_equal(got, want, len * sizeof *got);
			assert_true(rd_tree_leads(leaf[i], i, n, got[0], len, root));
			assert_false(rd_tree_leads(leaf[i], i + 1, n, got[0], len, root));
			assert_false(rd_tree_leads(leaf[i], i ^ 1, n, got[0], len, root));
			assert_false(rd_tree_leads(leaf[i], n, n, got[0], len, root));
			assert_false(rd_tree_leads(leaf[(i + 1) % n], i, n, got[0], len, root) && n > 1);
			assert_false(len > 0 && rd_tree_leads(leaf[i], i, n, got[0], len - 1, root));
			assert_false(rd_tree_leads(leaf[i], i, n, got[0], len + 1, root));
			if (len > 0) {
				got[i % len][i % PR_HASH_LEN] ^= 1;
				assert_false(rd_tree_leads(leaf[i], i, n, got[0], len, root));
			}
		}
	}
	assert_false(rd_tree_leads(leaf[0], 0, 0, NULL, 0, root));
}

/* ---- entries ---- */

/* The entry of an honest shuffler, from the definitions alone. */
static void make_entry(hash_t *hash, size_t n, const uint8_t *wanted, uint8_t *out)
{
	static hash_t leaf[MOST];
	struct rd_tree_entry e = rd_entry_at(out, n);
	hash_t way[RD_TREE_DEPTH_MAX];
	size_t place = 0;
	bool in;

	memset(out, 0, rd_entry_len(n));
	for (size_t i = 0; i < n; i++) {
		rd_tree_leaf(hash[i], PR_HASH_LEN, leaf[i]);
		place += memcmp(hash[i], wanted, PR_HASH_LEN) < 0;
	}
	in = place < n && memcmp(hash[place], wanted, PR_HASH_LEN) == 0;
	*e.kind = in ? 1 : 2;
	cm_put_le64(e.place, place);
	if (in || place > 0) {
		size_t i = in ? place : place - 1;

		memcpy(e.first, hash[i], PR_HASH_LEN);
		memcpy(e.first_path, way, path(leaf, n, i, way) * PR_HASH_LEN);
	}
	if (!in && place < n) {
		memcpy(e.second, hash[place], PR_HASH_LEN);
		memcpy(e.second_path, way, path(leaf, n, place, way) * PR_HASH_LEN);
	}
}

/* n sorted hashes, some of them there twice or three times; and their root. */
static void draw(hash_t *hash, size_t n, uint8_t *root)
{
	static hash_t leaf[MOST];

	for (size_t i = 0; i < n; i++) {
		rng.fill(rng.ctx, hash[i], PR_HASH_LEN);
		if (i > 0 && cr_rng_below(&rng, 4) == 0)
			memcpy(hash[i], hash[cr_rng_below(&rng, i)], PR_HASH_LEN);
	}
	rd_sort_hashes(hash, n);
	for (size_t i = 0; i < n; i++)
		rd_tree_leaf(hash[i], PR_HASH_LEN, leaf[i]);
	mth(leaf, n, root);
}

/* A hash that is not there: a neighbour of one, or the least and greatest there can be. */
static void absent(hash_t *hash, size_t n, size_t i, uint8_t *out)
{
	memset(out, i % 5 == 0 ? 0xff : 0, PR_HASH_LEN);
	if (i % 5 > 1) {
		memcpy(out, hash[i % n], PR_HASH_LEN);
		out[PR_HASH_LEN - 1] ^= 1;
	}
}

static void entries_say_what_is_so_of_every_leaf_and_every_gap(void **state)
{
	static hash_t hash[MOST];
	static uint8_t entry[PR_ENTRY_MAX];
	hash_t root, out;

	(void)state;
	for (size_t n = 1; n <= 130; n++) {
		if (!worth_it(n))
			continue;
		draw(hash, n, root);
		for (size_t i = 0; i < n; i++) {
			size_t len = rd_entry_len(n);

			make_entry(hash, n, hash[i], entry);
			assert_int_equal(rd_entry_check(entry, len, hash[i], n, root), RD_FOUND_IN);
			assert_int_equal(rd_entry_check(entry, len - 1, hash[i], n, root), RD_FOUND_NOT_SAID);
			/* The entry of another hash says nothing of this one. */
			absent(hash, n, i, out);
			assert_int_equal(rd_entry_check(entry, len, out, n, root), RD_FOUND_NOT_SAID);
			make_entry(hash, n, out, entry);
			assert_int_equal(rd_entry_check(entry, len, out, n, root), RD_FOUND_OUT);
			for (size_t k = 0; k < n; k++)
				assert_int_equal(
					rd_entry_check(entry, len, hash[k], n, root), RD_FOUND_NOT_SAID);
		}
	}
	assert_int_equal(rd_entry_check(entry, rd_entry_len(0), out, 0, root), RD_FOUND_NOT_SAID);
}

static void no_bit_of_an_entry_can_be_changed(void **state)
{
	static hash_t hash[MOST];
	static uint8_t entry[PR_ENTRY_MAX];
	hash_t root, out;

	(void)state;
	for (size_t n = 1; n <= 17; n++) {
		draw(hash, n, root);
		for (size_t i = 0; i < 2 * n; i++) {
			memcpy(out, hash[i / 2], sizeof out);
			if (i % 2 == 1)
				absent(hash, n, i / 2 + 2, out);
			make_entry(hash, n, out, entry);
			for (size_t bit = 0; bit < 8 * rd_entry_len(n); bit++) {
				entry[bit / 8] ^= (uint8_t)(1u << bit % 8);
				enum rd_found found = rd_entry_check(entry, rd_entry_len(n), out, n, root);
				/* For a hash that occurs twice, either place is right. */
				if (i % 2 == 1 || found != RD_FOUND_IN)
					assert_int_equal(found, RD_FOUND_NOT_SAID);
				entry[bit / 8] ^= (uint8_t)(1u << bit % 8);
			}
		}
	}
}

/* To convict an honest shuffler a client would have to show leaf `place - 1` below its message and leaf
 * `place` above it.  All pairs of true leaves and places are tried. */
static void no_two_leaves_of_a_sorted_tree_enclose_one_of_its_own(void **state)
{
	static hash_t hash[MOST], leaf[MOST];
	static uint8_t entry[PR_ENTRY_MAX];
	hash_t root, way[RD_TREE_DEPTH_MAX];

	(void)state;
	for (size_t n = 1; n <= 9; n++) {
		draw(hash, n, root);
		for (size_t i = 0; i < n; i++)
			rd_tree_leaf(hash[i], PR_HASH_LEN, leaf[i]);
		for (size_t a = 0; a <= n; a++)
			for (size_t b = 0; b <= n; b++)
				for (uint64_t place = 0; place <= n + 1; place++) {
					struct rd_tree_entry e = rd_entry_at(entry, n);

					memset(entry, 0, rd_entry_len(n));
					*e.kind = RD_FOUND_OUT;
					cm_put_le64(e.place, place);
					if (a < n) {
						memcpy(e.first, hash[a], PR_HASH_LEN);
						memcpy(e.first_path, way,
							path(leaf, n, a, way) * PR_HASH_LEN);
					}
					if (b < n) {
						memcpy(e.second, hash[b], PR_HASH_LEN);
						memcpy(e.second_path, way,
							path(leaf, n, b, way) * PR_HASH_LEN);
					}
					for (size_t i = 0; i < n; i++)
						assert_int_not_equal(rd_entry_check(entry, rd_entry_len(n),
									     hash[i], n, root),
							RD_FOUND_OUT);
				}
	}
}

/* ---- sorting ---- */

static uint8_t spilled[64][RD_SORT_PAGE_BYTES];

static enum cm_rc put(void *ctx, uint64_t page, const void *bytes, size_t len, struct cm_err *e)
{
	(void)e;
	assert_true(len == RD_SORT_PAGE_BYTES && page < 64 && page == (*(uint64_t *)ctx)++);
	memcpy(spilled[page], bytes, RD_SORT_PAGE_BYTES);
	return CM_OK;
}

static enum cm_rc get(void *ctx, uint64_t page, void *bytes, size_t len, struct cm_err *e)
{
	(void)e;
	assert_true(len == RD_SORT_PAGE_BYTES && page < *(uint64_t *)ctx);
	memcpy(bytes, spilled[page], RD_SORT_PAGE_BYTES);
	return CM_OK;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, PR_HASH_LEN);
}

/* Items as honest parties make them, and as they might be chosen to make a sort slow or wrong. */
static void draw_item(uint8_t *item, size_t len, size_t i, unsigned kind)
{
	rng.fill(rng.ctx, item, len);
	if (kind == 1)
		memset(item, 0x5a, 4); /* one beginning */
	else if (kind == 2)
		memset(item, cr_rng_below(&rng, 2) ? 0xff : 0, 4); /* the least and the greatest */
	else if (kind == 3 && i > 0)
		memset(item, 0, len < 20 ? len : 20); /* one far from all others, which are nearly equal */
	else if (kind == 4)
		cm_put_be32(item, (uint32_t)i); /* sorted */
	else if (kind == 5)
		cm_put_be32(item, UINT32_MAX - (uint32_t)(i / 3)); /* falling, in threes */
	else if (kind == 6)
		memset(item, 7, len); /* equal */
}

static size_t item_len;

static int by_item(const void *a, const void *b)
{
	return memcmp(a, b, item_len);
}

static void items_of_any_beginnings_and_lengths_are_sorted(void **state)
{
	static const size_t lens[] = { 4, 16, 32, 64, 65, 200 }, sizes[] = { 2, 63, 64, 65, 1000, 20000 };
	static uint8_t item[20000 * 200];

	(void)state;
	for (size_t l = 0; l < sizeof lens / sizeof *lens; l++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (unsigned kind = 0; kind < 7; kind++) {
				size_t n = sizes[k], len = lens[l];
				struct rd_sort *s = rd_sort_new(len, n, NULL);
				const uint8_t *next;

				assert_non_null(s);
				for (size_t i = 0; i < n; i++)
					draw_item(item + i * len, len, i, kind);
				assert_int_equal(rd_sort_add(s, item, n, &err), CM_OK);
				assert_int_equal(rd_sort_done(s, &err), CM_OK);
				item_len = len;
				qsort(item, n, len, by_item);
				for (size_t i = 0; i < n; i++) {
					assert_int_equal(rd_sort_next(s, &next, &err), CM_OK);
					assert_memory_equal(next, item + i * len, len);
				}
				rd_sort_free(s);
			}
}

static void hashes_come_out_sorted_whether_they_fit_or_are_spilled(void **state)
{
	static hash_t hash[6000];
	static const size_t sizes[] = { 0, 1, 127, 128, 129, 1023, 1024, 1025, 2048, 3000, 6000 };

	(void)state;
	for (size_t k = 0; k < 2 * sizeof sizes / sizeof sizes[0]; k++) {
		uint64_t pages = 0;
		const struct rd_spill spill = { &pages, put, get };
		size_t n = sizes[k / 2], at = 0;
		struct rd_sort *s = rd_sort_new(PR_HASH_LEN, 1024, k % 2 ? &spill : NULL);
		const uint8_t *next;

		assert_non_null(s);
		for (size_t i = 0; i < n; i++) {
			rng.fill(rng.ctx, hash[i], PR_HASH_LEN);
			if (i % 7 == 3)
				memcpy(hash[i], hash[i / 2], PR_HASH_LEN);
		}
		while (at < n) {
			size_t part = cr_rng_below(&rng, 700) + 1;

			part = part < n - at ? part : n - at;
			assert_int_equal(rd_sort_add(s, hash + at, part, &err), CM_OK);
			at += part;
		}
		qsort(hash, n, sizeof *hash, by_bytes);
		assert_int_equal(rd_sort_done(s, &err), CM_OK);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(rd_sort_next(s, &next, &err), CM_OK);
			assert_memory_equal(next, hash[i], PR_HASH_LEN);
		}
		assert_int_equal(rd_sort_next(s, &next, &err), CM_EMORE);
		assert_int_equal(rd_sort_next(s, &next, &err), CM_EMORE);
		assert_int_equal(pages, k % 2 ? n / 1024 * 8 : 0);
		rd_sort_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_are_those_of_certificate_transparencys_own_tests),
		cmocka_unit_test(ranges_side_by_side_are_the_tree_of_all_their_leaves),
		cmocka_unit_test(every_path_of_every_small_tree_is_rfc_6962s_and_leads_from_its_place_alone),
		cmocka_unit_test(entries_say_what_is_so_of_every_leaf_and_every_gap),
		cmocka_unit_test(no_bit_of_an_entry_can_be_changed),
		cmocka_unit_test(no_two_leaves_of_a_sorted_tree_enclose_one_of_its_own),
		cmocka_unit_test(items_of_any_beginnings_and_lengths_are_sorted),
		cmocka_unit_test(hashes_come_out_sorted_whether_they_fit_or_are_spilled),
	};

	return RUN_SEEDED(tests, &rng, "tree");
}
