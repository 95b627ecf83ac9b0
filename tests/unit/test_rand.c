/* test_rand.c - the CSPRNG: independence after fork and between threads, exact draws. */
#define _GNU_SOURCE /* _Fork */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm_buf.h"
#include "cr_rand.h"

static struct cr_rng system_rng(void)
{
	struct cm_err err;
	struct cr_rng rng;

	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	return rng;
}

/* An rng that plays back 64-bit words and counts them. */
struct script {
	const uint64_t *word;
	size_t n, at;
};

static void play(void *ctx, void *out, size_t n)
{
	struct script *s = ctx;

	assert_int_equal(n, 8);
	assert_true(s->at < s->n);
	cm_put_le64(out, s->word[s->at++]);
}

static void seeded_is_the_aes256_ctr_keystream(void **state)
{
	/* AES-256 of the zero block under the zero key: H of test case 13 in the GCM specification. */
	static const uint8_t seed[CR_SEED_LEN];
	uint8_t got[16], want[16];
	struct cr_rng rng;
	struct cr_rng_seeded *g = cr_rng_seeded_new(seed, &rng);

	(void)state;
	assert_non_null(g);
	assert_int_equal(cm_unhex("dc95c078a2408989ad48a21492842087", want, 16), CM_OK);
	rng.fill(rng.ctx, got, sizeof got);
	assert_memory_equal(got, want, 16);
	cr_rng_seeded_free(g);
}

static void seeded_does_not_depend_on_how_it_is_cut(void **state)
{
	enum { N = 40000 };
	uint8_t seed[CR_SEED_LEN] = "a seed that is thirty-two bytes";
	uint8_t *whole = malloc(N), *pieces = malloc(N);
	struct cr_rng a, b;
	struct cr_rng_seeded *ga = cr_rng_seeded_new(seed, &a), *gb = cr_rng_seeded_new(seed, &b);

	(void)state;
	assert_true(whole && pieces && ga && gb);
	a.fill(a.ctx, whole, N);
	for (size_t at = 0, n = 1; at < N; at += n, n = n % 977 + 13) {
		if (n > N - at)
			n = N - at;
		b.fill(b.ctx, pieces + at, n);
	}
	assert_memory_equal(whole, pieces, N);
	cr_rng_seeded_free(ga);
	cr_rng_seeded_free(gb);
	free(whole);
	free(pieces);
}

static void other_seeds_give_other_streams(void **state)
{
	uint8_t seed[CR_SEED_LEN] = { 0 };
	struct cr_rng a, b;
	struct cr_rng_seeded *ga = cr_rng_seeded_new(seed, &a), *gb;

	(void)state;
	seed[31] = 1;
	gb = cr_rng_seeded_new(seed, &b);
	assert_true(ga && gb);
	assert_true(cr_rng_u64(&a) != cr_rng_u64(&b));
	cr_rng_seeded_free(ga);
	cr_rng_seeded_free(gb);
}

static void below_maps_words_as_lemire_says(void **state)
{
	/* bound 3: 2^64 mod 3 = 1, so of all words only 0 is refused. */
	static const uint64_t words[] = { 0, 0, UINT64_MAX, UINT64_C(0x5555555555555556),
		UINT64_C(0x5555555555555555) };
	struct script s = { words, 5, 0 };
	struct cr_rng rng = { play, &s };

	(void)state;
	assert_int_equal(cr_rng_below(&rng, 3), 2); /* two refused, then the largest */
	assert_int_equal(s.at, 3);
	assert_int_equal(cr_rng_below(&rng, 3), 1);
	assert_int_equal(cr_rng_below(&rng, 3), 0);
	assert_int_equal(s.at, 5);
}

static void below_refuses_exactly_the_surplus_words(void **state)
{
	/* The product of word w and bound has the low half w for even w, w + 2^63 for odd w (both mod 2^64),
	 * and 2^64 mod bound is 2^63 - 1: the first three words are surplus, the others are not. */
	const uint64_t bound = (UINT64_C(1) << 63) + 1;
	const uint64_t words[] = { 2, bound + 2, bound - 3, bound - 1, 1 };
	struct script s = { words, 5, 0 };
	struct cr_rng rng = { play, &s };

	(void)state;
	assert_int_equal(cr_rng_below(&rng, bound), bound / 2);
	assert_int_equal(s.at, 4);
	assert_int_equal(cr_rng_below(&rng, bound), 0);
}

static void below_one_is_always_zero_and_needs_one_draw(void **state)
{
	const uint64_t words[] = { 0, UINT64_MAX };
	struct script s = { words, 2, 0 };
	struct cr_rng rng = { play, &s };

	(void)state;
	assert_int_equal(cr_rng_below(&rng, 1), 0);
	assert_int_equal(cr_rng_below(&rng, 1), 0);
	assert_int_equal(s.at, 2);
}

static void below_is_uniform(void **state)
{
	/* Chi-square, 9 degrees of freedom; 79 is passed by chance once in 10^12 runs. */
	enum { BINS = 10, DRAWS = 200000 };
	struct cr_rng rng = system_rng();
	unsigned count[BINS] = { 0 };
	double chi = 0;

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		uint64_t v = cr_rng_below(&rng, BINS);

		assert_true(v < BINS);
		count[v]++;
	}
	for (int i = 0; i < BINS; i++) {
		double d = count[i] - (double)DRAWS / BINS;

		chi += d * d / ((double)DRAWS / BINS);
	}
	assert_true(chi < 79);
}

static void bernoulli_compares_the_word_with_the_threshold(void **state)
{
	const uint64_t words[] = { 0, 0, 41, 42, UINT64_MAX, UINT64_MAX - 1 };
	struct script s = { words, 6, 0 };
	struct cr_rng rng = { play, &s };

	(void)state;
	assert_int_equal(cr_rng_bernoulli(&rng, 0), 0);
	assert_int_equal(cr_rng_bernoulli(&rng, 1), 1);
	assert_int_equal(cr_rng_bernoulli(&rng, 42), 1);
	assert_int_equal(cr_rng_bernoulli(&rng, 42), 0);
	assert_int_equal(cr_rng_bernoulli(&rng, UINT64_MAX), 0);
	assert_int_equal(cr_rng_bernoulli(&rng, UINT64_MAX), 1);
}

static int compare16(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

static void no_block_of_output_comes_twice(void **state)
{
	/* 3 MiB: over many refills and two reseedings. */
	enum { BLOCKS = 3 * 65536 };
	struct cr_rng rng = system_rng();
	uint8_t(*block)[16] = malloc(BLOCKS * sizeof *block);

	(void)state;
	assert_non_null(block);
	for (size_t i = 0; i < BLOCKS; i += 3)
		rng.fill(rng.ctx, block[i], 3 * sizeof *block);
	qsort(block, BLOCKS, sizeof *block, compare16);
	for (size_t i = 1; i < BLOCKS; i++)
		assert_memory_not_equal(block[i - 1], block[i], 16);
	free(block);
}

static void draw_in_child(const struct cr_rng *rng, int fd)
{
	uint64_t words[4];
	uint8_t bytes[32];

	for (int i = 0; i < 4; i++)
		words[i] = cr_rng_u64(rng);
	memcpy(bytes, words, sizeof bytes);
	_exit(write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes ? 0 : 1);
}

static void parent_and_children_differ_after_fork(void **state)
{
	struct cr_rng rng = system_rng();
	uint8_t drawn[3][32];
	int status;

	(void)state;
	rng.fill(rng.ctx, drawn[0], 1); /* so that there is a part of a block to inherit */
	for (int i = 0; i < 2; i++) {
		int fds[2];
		pid_t child;

		assert_int_equal(pipe(fds), 0);
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			draw_in_child(&rng, fds[1]);
		assert_int_equal(read(fds[0], drawn[i], 32), 32);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		(void)close(fds[0]);
		(void)close(fds[1]);
	}
	rng.fill(rng.ctx, drawn[2], 32);
	assert_memory_not_equal(drawn[0], drawn[1], 32);
	assert_memory_not_equal(drawn[0], drawn[2], 32);
	assert_memory_not_equal(drawn[1], drawn[2], 32);
}

/* The numbers that a copy of this process draws if nobody has told it that it is one, as in a cloned virtual
 * machine: numbers of the work under way, a nonce, a key, and numbers of the next work. */
struct drawn {
	uint64_t numbers[4], next[4];
	uint8_t nonce[12], key[32];
};

static struct drawn draw_in_copy(const struct cr_rng *rng)
{
	struct drawn d = { .numbers = { 0 } };
	int status, fds[2];
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = _Fork(); /* without the handlers that see a fork */
	assert_true(child >= 0);
	if (child == 0) {
		struct cr_rng again;

		for (int i = 0; i < 4; i++)
			d.numbers[i] = cr_rng_u64(rng);
		rng->fill(rng->ctx, d.nonce, sizeof d.nonce);
		rng->fill(rng->ctx, d.key, sizeof d.key);
		again = system_rng();
		for (int i = 0; i < 4; i++)
			d.next[i] = cr_rng_u64(&again);
		_exit(write(fds[1], &d, sizeof d) == (ssize_t)sizeof d ? 0 : 1);
	}
	assert_int_equal(read(fds[0], &d, sizeof d), sizeof d);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
	return d;
}

static void copies_of_a_machine_share_no_key_no_nonce_and_no_later_number(void **state)
{
	struct cr_rng rng = system_rng();

	(void)state;
	(void)cr_rng_u64(&rng);
	struct drawn a = draw_in_copy(&rng), b = draw_in_copy(&rng);
	/* The two are copies, so the buffered numbers of the work under way are the same. */
	assert_memory_equal(a.numbers, b.numbers, sizeof a.numbers);
	assert_memory_not_equal(a.nonce, b.nonce, sizeof a.nonce);
	assert_memory_not_equal(a.key, b.key, sizeof a.key);
	assert_memory_not_equal(a.next, b.next, sizeof a.next);
}

#define NUMBERS 1500u /* across a refill, and before the next seed */

static void draw_numbers_in_copy(const struct cr_rng *rng, bool at_once, uint64_t out[NUMBERS])
{
	int status, fds[2];
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = _Fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (at_once)
			cr_rng_u64s(rng, out, NUMBERS);
		for (size_t i = 0; !at_once && i < NUMBERS; i++)
			out[i] = cr_rng_u64(rng);
		_exit(write(fds[1], out, NUMBERS * sizeof *out) == (ssize_t)(NUMBERS * sizeof *out) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(fds[0], out, NUMBERS * sizeof *out), NUMBERS * sizeof *out);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void numbers_drawn_together_are_those_drawn_one_by_one(void **state)
{
	static const uint8_t seed[CR_SEED_LEN] = "numbers";
	static uint64_t together[NUMBERS], alone[NUMBERS];
	struct cr_rng rng = system_rng(), seeded;
	struct cr_rng_seeded *g = cr_rng_seeded_new(seed, &seeded);

	(void)state;
	(void)cr_rng_u64(&rng);
	draw_numbers_in_copy(&rng, true, together);
	draw_numbers_in_copy(&rng, false, alone);
	assert_memory_equal(together, alone, sizeof alone);
	assert_non_null(g);
	cr_rng_u64s(&seeded, together, NUMBERS);
	cr_rng_seeded_free(g);
	g = cr_rng_seeded_new(seed, &seeded);
	assert_non_null(g);
	for (size_t i = 0; i < NUMBERS; i++)
		assert_true(cr_rng_u64(&seeded) == together[i]);
	cr_rng_seeded_free(g);
}

static void *draw_in_thread(void *out)
{
	struct cm_err err;
	struct cr_rng rng;

	if (cr_rng_system(&rng, &err) != CM_OK)
		return out;
	for (int i = 0; i < 1000; i++)
		rng.fill(rng.ctx, out, 32);
	return NULL;
}

static void threads_differ(void **state)
{
	uint8_t drawn[4][32];
	pthread_t thread[4];
	void *failed;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, draw_in_thread, drawn[i]), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			assert_memory_not_equal(drawn[i], drawn[j], 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeded_is_the_aes256_ctr_keystream),
		cmocka_unit_test(seeded_does_not_depend_on_how_it_is_cut),
		cmocka_unit_test(other_seeds_give_other_streams),
		cmocka_unit_test(below_maps_words_as_lemire_says),
		cmocka_unit_test(below_refuses_exactly_the_surplus_words),
		cmocka_unit_test(below_one_is_always_zero_and_needs_one_draw),
		cmocka_unit_test(below_is_uniform),
		cmocka_unit_test(bernoulli_compares_the_word_with_the_threshold),
		cmocka_unit_test(no_block_of_output_comes_twice),
		cmocka_unit_test(parent_and_children_differ_after_fork),
		cmocka_unit_test(numbers_drawn_together_are_those_drawn_one_by_one),
		cmocka_unit_test(copies_of_a_machine_share_no_key_no_nonce_and_no_later_number),
		cmocka_unit_test(threads_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
