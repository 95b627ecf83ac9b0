/* test_an_open.c - opening on several threads, duplicates, messages that do not open. */
#include "an_world.h"

#include <stdlib.h>
#include <string.h>

#include "an_open.h"
#include "encode_in_room.h"
#include "opened.h"
#include "pl_load.h"
#include "rd_tree.h"
#include "spills.h"

#define N 400u

/* Message i holds i mod 5.  A value changes with chance 5e-7, and the generator's seed is fixed: counts are
 * known exactly. */
struct batch {
	struct pl_plan plan;
	struct rd_descriptor d;
	struct cr_key secret;
	struct cr_rng_seeded *generator;
	struct cr_rng rng;
	uint8_t *sealed; /* N of them */
	size_t len;
};

static const char plan[] =
	"name = \"t\"\npopulation = \"t\"\nbudget = { epsilon = 1.0, delta = 1e-6 }\n"
	"rounds = ({ query = \"q\", type = \"histogram\", protocol = \"grr\", field = \"f\",\n"
	"epsilon0 = 16.0, min_reports = 1000, values = [\"a\", \"b\", \"c\", \"d\", \"e\"] })\n";

static void make_batch(struct batch *b)
{
	static const uint8_t seed[CR_SEED_LEN] = { 1 };
	struct cr_hpke_sealer *sealer;
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], record[PT_RECORD_MAX];
	struct cm_err err = { 0 };

	memset(b, 0, sizeof *b);
	b->generator = cr_rng_seeded_new(seed, &b->rng);
	if (pl_plan_parse((const uint8_t *)plan, strlen(plan), "p", NULL, &b->plan, &err) != CM_OK)
		fail_msg("%s", err.msg);
	b->d = (struct rd_descriptor){ .query = b->plan.round[0].query,
		.randomizer = b->plan.round[0].randomizer,
		.messages_per_client = 1,
		.record_len = b->plan.round[0].protocol->device->record_len(&b->plan.round[0].randomizer),
		.suite = CR_HPKE_AES128GCM };
	memset(b->d.hash, 8, sizeof b->d.hash);
	assert_int_equal(cr_hpke_keygen(&b->rng, &b->secret, b->d.hpke_key, &err), CM_OK);
	b->len = rd_sealed_len(&b->d);
	b->sealed = malloc(N * b->len);
	assert_non_null(b->sealed);
	rd_hpke_info(&b->d, info);
	rd_hpke_aad(&b->d, aad);
	assert_int_equal(
		cr_hpke_sealer_new(b->d.suite, b->d.hpke_key, info, sizeof info, &sealer, &err), CM_OK);
	for (size_t i = 0; i < N; i++) {
		const struct qy_value v = { .x = i % 5 };

		encode_in_room(b->d.randomizer.row, &b->d.query, &b->d.randomizer, &v, &b->rng, record);
		assert_int_equal(cr_hpke_seal(sealer, &b->rng, aad, sizeof aad, record, b->d.record_len,
					 b->sealed + i * b->len, &err),
			CM_OK);
	}
	cr_hpke_sealer_free(sealer);
}

static void free_batch(struct batch *b)
{
	free(b->sealed);
	cr_key_fini(&b->secret);
	cr_rng_seeded_free(b->generator);
	pl_plan_fini(&b->plan);
}

/* Make an opener for a batch of so many messages, with so many bytes of memory. */
struct opening {
	struct an_open *open;
	struct spill_calls calls;
	struct spill_fake fake[AN_SPILLS];
	struct rd_spill spill[AN_SPILLS];
};

static struct an_open *opening_init(
	struct opening *o, struct batch *b, unsigned threads, uint64_t messages, size_t bytes)
{
	struct cm_err err = { 0 };

	*o = (struct opening){ .calls = { .shared = true, .lock = PTHREAD_MUTEX_INITIALIZER } };
	for (size_t i = 0; i < AN_SPILLS; i++) {
		spill_init(&o->fake[i], &o->calls);
		o->spill[i] = o->fake[i].spill;
	}
	const struct an_open_conf conf = { &b->d, &b->secret, threads, messages, bytes, o->spill };
	if (an_open_new(&conf, &o->open, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return o->open;
}

static void opening_fini(struct opening *o)
{
	an_open_free(o->open);
	for (size_t i = 0; i < AN_SPILLS; i++)
		spill_fini(&o->fake[i]);
}

static struct opening held;

static struct an_open *opener(struct batch *b, unsigned threads)
{
	return opening_init(&held, b, threads, N, 1u << 20);
}

static void every_message_is_counted_once_on_any_number_of_threads(void **state)
{
	struct batch b;
	struct cm_err err = { 0 };

	(void)state;
	make_batch(&b);
	for (unsigned threads = 1; threads <= 9; threads += 4) {
		struct an_open *o = opener(&b, threads);

		assert_int_equal(open_bucket(o, b.sealed, 0, b.len, &err), CM_OK);
		assert_int_equal(open_bucket(o, b.sealed, 150, b.len, &err), CM_OK);
		assert_int_equal(open_bucket(o, b.sealed + 150 * b.len, N - 150, b.len, &err), CM_OK);
		for (uint32_t i = 0; i < 5; i++)
			assert_int_equal(an_open_tally(o)->count[i], N / 5);
		assert_int_equal(an_open_tally(o)->counted, N);
		assert_int_equal(an_open_tally(o)->bad, 0);
		opening_fini(&held);
	}
	free_batch(&b);
}

/* A root is that of the messages in any order, on any number of threads; another opens nothing. */
static void a_bucket_with_another_root_is_not_opened(void **state)
{
	uint8_t root[PR_HASH_LEN], wrong[PR_HASH_LEN];
	struct cm_err err = { 0 };
	struct batch b;
	bool right;

	(void)state;
	make_batch(&b);
	bucket_root(b.sealed, 150, b.len, root);
	memcpy(wrong, root, sizeof wrong);
	wrong[PR_HASH_LEN - 1] ^= 1;
	for (unsigned threads = 1; threads <= 17; threads += 4) {
		struct an_open *o = opener(&b, threads);
		assert_int_equal(an_open_bucket(o, b.sealed, 150, wrong, &right, &err), CM_OK);
		assert_false(right);
		/* A bucket has one message more, or one less. */
		assert_int_equal(an_open_bucket(o, b.sealed, 151, root, &right, &err), CM_OK);
		assert_false(right);
		assert_int_equal(an_open_bucket(o, b.sealed, 149, root, &right, &err), CM_OK);
		assert_false(right);
		assert_int_equal(an_open_tally(o)->counted + an_open_tally(o)->bad, 0);
		assert_int_equal(an_open_bucket(o, b.sealed, 150, root, &right, &err), CM_OK);
		assert_true(right);
		assert_int_equal(open_bucket(o, b.sealed + 150 * b.len, N - 150, b.len, &err), CM_OK);
		assert_int_equal(an_open_tally(o)->counted, N);
		assert_int_equal(an_open_tally(o)->duplicates, 0);
		opening_fini(&held);
	}
	free_batch(&b);
}

static void a_repeated_encapsulation_counts_once_within_and_across_buckets(void **state)
{
	struct batch b;
	struct cm_err err = { 0 };
	struct an_open *o;

	(void)state;
	make_batch(&b);
	memcpy(b.sealed + 7 * b.len, b.sealed + 2 * b.len, b.len);
	memcpy(b.sealed + 300 * b.len, b.sealed, b.len);
	/* Then the whole batch comes again. */
	o = opening_init(&held, &b, 2, 2 * N, 1u << 20);
	assert_int_equal(open_bucket(o, b.sealed, 200, b.len, &err), CM_OK);
	assert_int_equal(open_bucket(o, b.sealed + 200 * b.len, 200, b.len, &err), CM_OK);
	assert_int_equal(open_bucket(o, b.sealed, N, b.len, &err), CM_OK);
	assert_int_equal(an_open_tally(o)->duplicates, N + 2);
	assert_int_equal(an_open_tally(o)->counted, N - 2);
	assert_int_equal(held.calls.puts, 0);
	opening_fini(&held);
	free_batch(&b);
}

/* Same key, other ciphertext: one of the two counts, whichever comes first in byte order. */
static void the_order_of_arrival_in_a_bucket_changes_nothing(void **state)
{
	struct batch b;
	struct cm_err err = { 0 };
	uint64_t counted[2];

	(void)state;
	make_batch(&b);
	memcpy(b.sealed + b.len, b.sealed, b.len);
	b.sealed[2 * b.len - 1] ^= 0xff; /* a copy that does not open */
	for (int turn = 0; turn < 2; turn++) {
		struct an_open *o = opener(&b, 2);
		uint8_t *swap = malloc(b.len);

		assert_non_null(swap);
		assert_int_equal(open_bucket(o, b.sealed, N, b.len, &err), CM_OK);
		counted[turn] = an_open_tally(o)->counted;
		assert_int_equal(an_open_tally(o)->duplicates, 1);
		memcpy(swap, b.sealed, b.len);
		memcpy(b.sealed, b.sealed + b.len, b.len);
		memcpy(b.sealed + b.len, swap, b.len);
		free(swap);
		opening_fini(&held);
	}
	assert_int_equal(counted[0], counted[1]);
	free_batch(&b);
}

static void altered_messages_are_bad_wherever_the_bit_is(void **state)
{
	struct batch b;
	struct cm_err err = { 0 };
	struct an_open *o;

	(void)state;
	make_batch(&b);
	for (size_t i = 0; i < b.len; i++)
		b.sealed[i * b.len + i] ^= 1;
	o = opener(&b, 2);
	assert_int_equal(open_bucket(o, b.sealed, N, b.len, &err), CM_OK);
	assert_int_equal(an_open_tally(o)->bad, b.len);
	assert_int_equal(an_open_tally(o)->counted, N - b.len);
	opening_fini(&held);
	free_batch(&b);
}

static void messages_of_another_round_are_bad(void **state)
{
	struct batch b;
	struct cm_err err = { 0 };
	struct an_open *o;

	(void)state;
	make_batch(&b);
	b.d.hash[0] ^= 1; /* info and aad contain the descriptor */
	o = opener(&b, 2);
	assert_int_equal(open_bucket(o, b.sealed, N, b.len, &err), CM_OK);
	assert_int_equal(an_open_tally(o)->bad, N);
	opening_fini(&held);
	free_batch(&b);
}

/* RFC 7748: a low-order point gives the zero secret; it must not open anything, nor stop the batch. */
static void low_order_points_are_bad_messages(void **state)
{
	struct batch b;
	struct cm_err err = { 0 };
	struct an_open *o;

	(void)state;
	make_batch(&b);
	memset(b.sealed, 0, 32);
	memset(b.sealed + b.len, 0, 32);
	b.sealed[b.len] = 1;
	o = opener(&b, 1);
	assert_int_equal(open_bucket(o, b.sealed, N, b.len, &err), CM_OK);
	assert_int_equal(an_open_tally(o)->bad, 2);
	opening_fini(&held);
	free_batch(&b);
}

static void records_outside_the_alphabet_are_bad(void **state)
{
	struct batch b;
	struct cm_err err = { 0 };
	struct an_tally t;
	uint8_t record[PT_RECORD_MAX];

	(void)state;
	make_batch(&b);
	memset(record, 0xff, sizeof record);
	assert_int_equal(an_tally_init(&t, b.d.randomizer.mixbins.bins, &err), CM_OK);
	assert_int_equal(an_tally_record(&t, &b.d.randomizer, record, &err), CM_OK);
	assert_int_equal(t.bad, 1);
	assert_int_equal(t.counted, 0);
	an_tally_fini(&t);
	free_batch(&b);
}

/* ---- beside memory ---- */

/* Opens the batch in buckets of `each`, the bucket `first` before the others.  Returns the fault. */
static enum cm_rc in_buckets(struct an_open *o, const struct batch *b, size_t each, size_t first)
{
	struct cm_err err = { 0 };
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < N / each; i++) {
		size_t k = i == 0 ? first : i <= first ? i - 1 : i;

		rc = open_bucket(o, b->sealed + k * each * b->len, each, b->len, &err);
	}
	return rc;
}

/* Repeats messages within and between buckets.  Some repeats do not open and come first in byte order. */
static void repeat(struct batch *b)
{
	for (size_t i = 0; i < N; i += 3) {
		size_t from = (i * 7 + i / 90) % (N / 2);

		memmove(b->sealed + i * b->len, b->sealed + from * b->len, b->len);
		if (i % 4 == 0)
			memset(b->sealed + i * b->len + 32, 0, 3);
	}
}

/* The root of the tree over the hashes of all messages, by the functions that the shuffler's tests hold. */
static void root_of(const struct batch *b, uint8_t root[PR_HASH_LEN])
{
	static uint8_t hash[N][PR_HASH_LEN];
	struct rd_tree tree;
	uint8_t leaf[PR_HASH_LEN];

	for (size_t i = 0; i < N; i++)
		cr_sha256(b->sealed + i * b->len, b->len, hash[i]);
	rd_sort_hashes(hash, N);
	rd_tree_init(&tree);
	for (size_t i = 0; i < N; i++) {
		rd_tree_leaf(hash[i], PR_HASH_LEN, leaf);
		rd_tree_add(&tree, leaf);
	}
	rd_tree_root(&tree, root);
}

static void the_same_as_tally(const struct an_tally *got, const struct an_tally *want)
{
	assert_int_equal(got->counted, want->counted);
	assert_int_equal(got->bad, want->bad);
	assert_int_equal(got->duplicates, want->duplicates);
	assert_int_equal(got->counted + got->bad + got->duplicates, N);
	for (uint32_t i = 0; i < want->counts; i++)
		assert_int_equal(got->count[i], want->count[i]);
}

/* Memory of one byte: a list of more than a page of a share goes to its spill. */
static void a_batch_beyond_memory_has_the_counts_and_the_root_of_one_within(void **state)
{
	static struct opening little;
	struct batch b;
	uint8_t root[PR_HASH_LEN];
	uint64_t bad = 0;

	(void)state;
	make_batch(&b);
	repeat(&b);
	root_of(&b, root);
	for (size_t each = 200; N % each == 0; each /= 2) /* 200, 100, 50, 25 */
		for (size_t first = 0; first < N / each; first += 3) {
			unsigned threads = 1 + (unsigned)first % 4;
			struct an_open *o = opener(&b, 1), *beyond = opening_init(&little, &b, threads, N, 1);

			assert_null(an_open_root(beyond));
			assert_int_equal(in_buckets(o, &b, each, first), CM_OK);
			assert_int_equal(in_buckets(beyond, &b, each, first), CM_OK);
			assert_true(an_open_tally(o)->duplicates > 50);
			bad += an_open_tally(o)->bad;
			the_same_as_tally(an_open_tally(beyond), an_open_tally(o));
			assert_memory_equal(an_open_root(o), root, PR_HASH_LEN);
			assert_memory_equal(an_open_root(beyond), root, PR_HASH_LEN);
			assert_int_equal(held.calls.puts, 0);
			assert_true(threads > 3 || little.fake[AN_SPILL_HASHES].pages > 0);
			assert_true(threads > 1 || little.fake[AN_SPILL_ASIDE].pages > 0);
			opening_fini(&little);
			opening_fini(&held);
		}
	assert_true(bad > 20);
	free_batch(&b);
}

/* Also where threads outnumber shares, and where all keys fall into one share. */
static void no_number_of_threads_changes_what_comes_out(void **state)
{
	struct batch b;
	uint8_t root[PR_HASH_LEN];

	(void)state;
	for (unsigned steered = 0; steered < 2; steered++) {
		make_batch(&b);
		repeat(&b);
		for (size_t i = 0; steered && i < N; i++)
			memset(b.sealed + i * b.len, 0xff, 3); /* a key that nobody has, in the last share */
		root_of(&b, root);
		struct an_open *one = opener(&b, 1);

		assert_int_equal(in_buckets(one, &b, 50, 3), CM_OK);
		for (unsigned threads = 2; threads <= 40; threads += threads < 8 ? 1 : 8) {
			static struct opening other;
			struct an_open *o = opening_init(&other, &b, threads, N, threads % 3);

			assert_int_equal(in_buckets(o, &b, 50, 3), CM_OK);
			the_same_as_tally(an_open_tally(o), an_open_tally(one));
			assert_memory_equal(an_open_root(o), root, PR_HASH_LEN);
			opening_fini(&other);
		}
		assert_int_equal(an_open_tally(one)->counted > 0, !steered);
		opening_fini(&held);
		free_batch(&b);
	}
}

static void a_spill_that_fails_ends_the_opening(void **state)
{
	struct batch b;
	unsigned calls = 0;

	(void)state;
	make_batch(&b);
	repeat(&b);
	for (unsigned k = 0; k <= calls; k++) {
		struct an_open *o = opening_init(&held, &b, 1 + k % 3, N, 1);

		held.calls.fails_at = k;
		if (in_buckets(o, &b, 100, 0) == CM_OK)
			assert_true(k == 0 || held.calls.puts + held.calls.gets < k);
		else
			assert_int_equal(held.calls.fails_at, k);
		if (k == 0)
			calls = held.calls.puts + held.calls.gets;
		opening_fini(&held);
	}
	assert_true(calls > 10);
	free_batch(&b);
}

static void a_dropped_message_takes_its_share_of_a_report_with_it(void **state)
{
	const struct an_tally t = { .counted = 299 };

	(void)state;
	assert_int_equal(an_tally_reports(&t, 299, 299, 1), 299);
	assert_int_equal(an_tally_reports(&t, 300, 300, 1), 299);
	assert_int_equal(an_tally_reports(&t, 300, 100, 3), 99);
	/* 200 of them are from the shuffler. */
	assert_int_equal(an_tally_reports(&t, 302, 34, 3), 33);
	assert_int_equal(an_tally_reports(&t, 300, 1, 1), 0);
	assert_int_equal(an_tally_reports(&t, 400, 1, 1), 0);
	/* The shuffler released fewer than were sent. */
	assert_int_equal(an_tally_reports(&t, 300, 400, 1), 399);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_is_counted_once_on_any_number_of_threads),
		cmocka_unit_test(a_bucket_with_another_root_is_not_opened),
		cmocka_unit_test(a_repeated_encapsulation_counts_once_within_and_across_buckets),
		cmocka_unit_test(the_order_of_arrival_in_a_bucket_changes_nothing),
		cmocka_unit_test(altered_messages_are_bad_wherever_the_bit_is),
		cmocka_unit_test(messages_of_another_round_are_bad),
		cmocka_unit_test(low_order_points_are_bad_messages),
		cmocka_unit_test(records_outside_the_alphabet_are_bad),
		cmocka_unit_test(a_batch_beyond_memory_has_the_counts_and_the_root_of_one_within),
		cmocka_unit_test(no_number_of_threads_changes_what_comes_out),
		cmocka_unit_test(a_spill_that_fails_ends_the_opening),
		cmocka_unit_test(a_dropped_message_takes_its_share_of_a_report_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
