/* test_sh_leaves.c - the leaves of sealed rounds: every proof of every size checks, they live for their
 * window and no longer, and what is damaged costs proofs alone. */
#include "sh_steps.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rd_sort.h"
#include "sh_leaves.h"

typedef uint8_t hash_t[PR_HASH_LEN];

static const uint8_t round_id[PR_ROUND_ID_LEN] = { 5, 6, 7 };

static struct sh_leaves_place place_of(const struct sh_play *p)
{
	return (struct sh_leaves_place){ p->leaves_dir, SH_PLAY_WINDOW };
}

/* Leaves of n random hashes, given in parts; *root by the tree's own definition over the sorted ones. */
static hash_t *make(const struct sh_leaves_place *place, size_t n, uint8_t *root)
{
	hash_t *hash = malloc(n * sizeof *hash), leaf, want;
	struct sh_leaves_maker *m = NULL;
	struct cm_crew *crew = NULL;
	struct rd_tree t;

	assert_int_equal(cm_crew_new(1 + (unsigned)(n % 4), &crew, &play.err), CM_OK);
	assert_non_null(hash);
	play.rng.fill(play.rng.ctx, hash, n * sizeof *hash);
	if (n > 2)
		memcpy(hash[n / 2], hash[0], sizeof *hash);
	assert_int_equal(sh_leaves_begin(place, round_id, n, 77, &m, &play.err), CM_OK);
	for (size_t at = 0; at < n; at += 1000)
		assert_int_equal(
			sh_leaves_add(m, (const hash_t *)hash + at, n - at < 1000 ? n - at : 1000, &play.err),
			CM_OK);
	assert_int_equal(sh_leaves_end(m, crew, root, &play.err), CM_OK);
	cm_crew_free(crew);
	sh_leaves_maker_free(m);
	rd_sort_hashes(hash, n);
	rd_tree_init(&t);
	for (size_t i = 0; i < n; i++) {
		rd_tree_leaf(hash[i], PR_HASH_LEN, leaf);
		rd_tree_add(&t, leaf);
	}
	rd_tree_root(&t, want);
	assert_memory_equal(root, want, sizeof want);
	return hash;
}

static void prove(struct sh_leaves *l, const uint8_t *hash, const uint8_t *root, enum rd_found want)
{
	static uint8_t entry[PR_ENTRY_MAX];
	size_t len = rd_entry_len(sh_leaves_count(l));

	assert_true(len <= sizeof entry);
	assert_int_equal(sh_leaves_prove(l, hash, entry, &play.err), CM_OK);
	assert_int_equal(rd_entry_check(entry, len, hash, sh_leaves_count(l), root), want);
}

static void proofs_of_every_small_round_and_of_full_and_broken_pages_check(void **state)
{
	static const size_t larger[] = { 63, 64, 65, 127, 128, 129, 255, 256, 257, 8191, 8192, 8193, 16383,
		16384, 16385, 16513, 20000 };
	const struct sh_leaves_place place = place_of(&play);
	const struct sh_leaves_place unkept[] = { { NULL, 0 }, { play.leaves_dir, 0 } };
	hash_t root, other;

	(void)state;
	for (size_t k = 1; k <= 40 + sizeof larger / sizeof larger[0]; k++) {
		size_t n = k <= 40 ? k : larger[k - 41];

		/* The tree is the same where no leaves are kept. */
		free(make(&unkept[k % 2], n, root));
		hash_t *hash = make(&place, n, root);
		struct sh_leaves *l = NULL;

		assert_int_equal(sh_leaves_open(&place, round_id, &l, &play.err), CM_OK);
		assert_int_equal(sh_leaves_count(l), n);
		for (size_t i = 0; i<n; i += n> 300 && i > 2 && i + 300 < n ? 61 : 1) {
			prove(l, hash[i], root, RD_FOUND_IN);
			memcpy(other, hash[i], sizeof other);
			other[PR_HASH_LEN - 1] ^= 1;
			prove(l, other, root, RD_FOUND_OUT);
		}
		memset(other, 0, sizeof other);
		prove(l, other, root, RD_FOUND_OUT);
		memset(other, 0xff, sizeof other);
		prove(l, other, root, RD_FOUND_OUT);
		sh_leaves_close(l);
		free(hash);
	}
}

/* One run more than memory holds: the rest is spilled, encrypted, into a file without a name. */
static void a_round_that_does_not_fit_in_memory_is_sorted_all_the_same(void **state)
{
	const struct sh_leaves_place place = place_of(&play);
	size_t n = RD_SORT_RUN + 130;
	struct sh_leaves *l = NULL;
	hash_t root, *hash = make(&place, n, root);

	(void)state;
	assert_int_equal(sh_leaves_open(&place, round_id, &l, &play.err), CM_OK);
	for (size_t i = 0; i < n; i += 10007)
		prove(l, hash[i], root, RD_FOUND_IN);
	prove(l, hash[n - 1], root, RD_FOUND_IN);
	sh_leaves_close(l);
	free(hash);
}

static unsigned files(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	assert_int_equal(closedir(d), 0);
	return n;
}

static void a_damaged_or_shortened_file_and_a_lost_key_are_noticed(void **state)
{
	const struct sh_leaves_place place = place_of(&play);
	struct sh_leaves *l = NULL;
	hash_t root, *hash = make(&place, 300, root);
	uint8_t entry[PR_ENTRY_MAX], byte;
	char path[160], id[2 * PR_ROUND_ID_LEN + 1];

	(void)state;
	cm_hex(round_id, PR_ROUND_ID_LEN, id);
	(void)snprintf(path, sizeof path, "%s/%s.leaves", play.leaves_dir, id);
	for (off_t at = 0; at < 4000; at += 9) { /* header and first page */
		int fd = open(path, O_RDWR);

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 4;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		enum cm_rc rc = sh_leaves_open(&place, round_id, &l, &play.err);
		if (rc == CM_OK) {
			rc = sh_leaves_prove(l, hash[0], entry, &play.err);
			sh_leaves_close(l);
		}
		if (rc != CM_EDATA && !(at >= 24 && at < 32)) /* eight bytes are not used */
			fail_msg("byte %ld: %d", (long)at, rc);
		byte ^= 4;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_int_equal(close(fd), 0);
	}
	assert_int_equal(truncate(path, 3000), 0);
	assert_int_equal(sh_leaves_open(&place, round_id, &l, &play.err), CM_OK);
	assert_int_equal(sh_leaves_prove(l, hash[0], entry, &play.err), CM_EDATA);
	sh_leaves_close(l);
	(void)snprintf(path, sizeof path, "%s/%s-leaves.key", play.leaves_dir, id);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sh_leaves_open(&place, round_id, &l, &play.err), CM_ENOINPUT);
	assert_int_equal(sh_leaves_erase(&place, round_id, &play.err), CM_OK);
	assert_int_equal(files(play.leaves_dir), 0);
	free(hash);
}

/* ---- through the core ---- */

static enum cm_rc ask(const hash_t *hashes, struct cm_buf *out)
{
	return sh_core_prove(play.core, play.d.round_id, PR_ROUND_ID_LEN, hashes, out, &play.no, &play.err);
}

static void proofs_are_given_from_the_seal_to_the_end_of_the_window_across_restarts_and_settling(void **state)
{
	hash_t hashes[PR_PROOF_HASHES];
	uint8_t message[PR_SEALED_MAX];
	struct cm_buf out;

	(void)state;
	cm_buf_init(&out, PR_FRAME_MAX);
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 100, .target = 200 });
	size_t len = rd_sealed_len(&play.d);
	for (size_t i = 0; i < PR_PROOF_HASHES; i++) {
		sh_play_message(i < 30 ? i : 1000 + i, 0, message, len);
		cr_sha256(message, len, hashes[i]);
	}
	steps_refused(ask((const hash_t *)hashes, &out), ERROR(BUSY));
	steps_accepted(1, 0, 150);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	for (unsigned step = 0; step < 4; step++) {
		size_t each = rd_entry_len(150);

		assert_int_equal(ask((const hash_t *)hashes, &out), CM_OK);
		assert_int_equal(out.len, PR_PROOF_HASHES * each);
		for (size_t i = 0; i < PR_PROOF_HASHES; i++)
			assert_int_equal(
				rd_entry_check(out.data + i * each, each, hashes[i], 150, play.manifest.tree),
				i < 30 ? RD_FOUND_IN : RD_FOUND_OUT);
		if (step == 0)
			steps_restart();
		if (step == 1) {
			sh_play_charge(&play);
			assert_int_equal(sh_play_release(&play), CM_OK);
			assert_int_equal(sh_play_settle(&play), CM_OK);
		}
		if (step == 2) {
			steps_restart();
			assert_int_equal(
				sh_core_expire(play.core, play.now_ms + SH_PLAY_WINDOW - 1, &play.err),
				CM_OK);
		}
	}
	assert_int_equal(sh_core_wait_ms(play.core, play.now_ms), SH_PLAY_WINDOW);
	assert_int_equal(sh_core_expire(play.core, play.now_ms + SH_PLAY_WINDOW, &play.err), CM_OK);
	steps_refused(ask((const hash_t *)hashes, &out), ERROR(NOT_FOUND));
	assert_int_equal(files(play.leaves_dir), 0);
	assert_int_equal(files(play.key_dir), 0);
	assert_int_equal(sh_core_wait_ms(play.core, play.now_ms), -1);
	cm_buf_fini(&out);
}

static void a_void_or_cancelled_round_has_no_leaves(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 100 });
	steps_accepted(1, 0, 99);
	sh_play_deadline(&play);
	assert_int_equal(files(play.leaves_dir), 0);
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_accepted(1, 0, 99);
	sh_play_work(&play);
	steps_void();
	sh_play_deadline(&play);
	assert_int_equal(files(play.leaves_dir), 0);
	assert_int_equal(files(play.key_dir), 0);
}

/* A client that finds two submissions with one digest would have a receipt for one that is not stored. */
static void what_a_submission_is_known_by_is_keyed(void **state)
{
	struct sh_vault a = { .tag = { { 1 } } }, b = { .tag = { { 2 } } };
	uint8_t name[PR_PSEUDONYM_LEN] = { 1 }, sealed[64] = { 2 }, x[SH_TAG_LEN], y[SH_TAG_LEN];

	(void)state;
	sh_vault_digest(&a, name, sealed, sizeof sealed, x);
	sh_vault_digest(&b, name, sealed, sizeof sealed, y);
	assert_memory_not_equal(x, y, sizeof x);
	sh_vault_digest(&a, name, sealed, sizeof sealed, y);
	assert_memory_equal(x, y, sizeof x);
	name[31] ^= 1;
	sh_vault_digest(&a, name, sealed, sizeof sealed, y);
	assert_memory_not_equal(x, y, sizeof x);
	name[31] ^= 1;
	sealed[63] ^= 1;
	sh_vault_digest(&a, name, sealed, sizeof sealed, y);
	assert_memory_not_equal(x, y, sizeof x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(proofs_of_every_small_round_and_of_full_and_broken_pages_check),
		STEPS_TEST(a_round_that_does_not_fit_in_memory_is_sorted_all_the_same),
		STEPS_TEST(a_damaged_or_shortened_file_and_a_lost_key_are_noticed),
		STEPS_TEST(
			proofs_are_given_from_the_seal_to_the_end_of_the_window_across_restarts_and_settling),
		STEPS_TEST(a_void_or_cancelled_round_has_no_leaves),
		STEPS_TEST(what_a_submission_is_known_by_is_keyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
