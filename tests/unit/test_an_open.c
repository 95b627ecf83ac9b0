/* test_an_open.c - opening on several threads, duplicates, messages that do not open. */
#include "an_world.h"

#include <stdlib.h>
#include <string.h>

#include "an_open.h"

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

		b->d.randomizer.row->encode(&b->d.query, &b->d.randomizer, &v, &b->rng, record);
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

static struct an_open *opener(struct batch *b, unsigned threads)
{
	struct an_open *o = NULL;
	struct cm_err err = { 0 };

	if (an_open_new(&b->d, &b->secret, threads, UINT64_MAX, &b->rng, &o, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return o;
}

static void every_message_is_counted_once_on_any_number_of_threads(void **state)
{
	struct batch b;
	struct cm_err err = { 0 };

	(void)state;
	make_batch(&b);
	for (unsigned threads = 1; threads <= 9; threads += 4) {
		struct an_open *o = opener(&b, threads);

		assert_int_equal(an_open_bucket(o, b.sealed, 0, &err), CM_OK);
		assert_int_equal(an_open_bucket(o, b.sealed, 150, &err), CM_OK);
		assert_int_equal(an_open_bucket(o, b.sealed + 150 * b.len, N - 150, &err), CM_OK);
		for (uint32_t i = 0; i < 5; i++)
			assert_int_equal(an_open_tally(o)->count[i], N / 5);
		assert_int_equal(an_open_tally(o)->counted, N);
		assert_int_equal(an_open_tally(o)->bad, 0);
		an_open_free(o);
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
	o = opener(&b, 2);
	assert_int_equal(an_open_bucket(o, b.sealed, 200, &err), CM_OK);
	assert_int_equal(an_open_tally(o)->duplicates, 1);
	assert_int_equal(an_open_bucket(o, b.sealed + 200 * b.len, 200, &err), CM_OK);
	assert_int_equal(an_open_tally(o)->duplicates, 2);
	assert_int_equal(an_open_tally(o)->counted, N - 2);
	assert_int_equal(an_open_bucket(o, b.sealed, N, &err), CM_OK); /* the whole batch again */
	assert_int_equal(an_open_tally(o)->counted, N - 2);
	an_open_free(o);
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
		assert_int_equal(an_open_bucket(o, b.sealed, N, &err), CM_OK);
		counted[turn] = an_open_tally(o)->counted;
		assert_int_equal(an_open_tally(o)->duplicates, 1);
		memcpy(swap, b.sealed, b.len);
		memcpy(b.sealed, b.sealed + b.len, b.len);
		memcpy(b.sealed + b.len, swap, b.len);
		free(swap);
		an_open_free(o);
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
	assert_int_equal(an_open_bucket(o, b.sealed, N, &err), CM_OK);
	assert_int_equal(an_open_tally(o)->bad, b.len);
	assert_int_equal(an_open_tally(o)->counted, N - b.len);
	an_open_free(o);
	free_batch(&b);
}

static void messages_of_another_round_are_bad(void **state)
{
	struct batch b;
	struct cm_err err = { 0 };
	struct an_open *o;

	(void)state;
	make_batch(&b);
	b.d.hash[0] ^= 1; /* the descriptor is in info and aad */
	o = opener(&b, 2);
	assert_int_equal(an_open_bucket(o, b.sealed, N, &err), CM_OK);
	assert_int_equal(an_open_tally(o)->bad, N);
	an_open_free(o);
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
	assert_int_equal(an_open_bucket(o, b.sealed, N, &err), CM_OK);
	assert_int_equal(an_open_tally(o)->bad, 2);
	an_open_free(o);
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

static void the_set_remembers_every_key_it_was_shown(void **state)
{
	static const uint8_t seed[CR_SEED_LEN] = { 2 };
	struct cr_rng rng;
	struct cr_rng_seeded *g = cr_rng_seeded_new(seed, &rng);
	struct cm_err err = { 0 };
	struct an_seen s;
	bool again;

	(void)state;
	an_seen_init(&s, &rng);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < 20000; i++) { /* key 0 is all zeros: the free slot's mark */
			uint8_t enc[32] = { (uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16) };

			assert_int_equal(an_seen_add(&s, enc, &again, &err), CM_OK);
			assert_int_equal(again, pass == 1);
		}
	assert_true(s.room * 16 <= 20000 * 43 + 16384);
	an_seen_fini(&s);
	cr_rng_seeded_free(g);
}

static void a_dropped_message_takes_its_share_of_a_report_with_it(void **state)
{
	const struct an_tally t = { .counted = 299 };

	(void)state;
	assert_int_equal(an_tally_reports(&t, 299, 299, 1), 299);
	assert_int_equal(an_tally_reports(&t, 300, 300, 1), 299);
	assert_int_equal(an_tally_reports(&t, 300, 100, 3), 99);
	/* Of them 200 by the shuffler. */
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
		cmocka_unit_test(a_repeated_encapsulation_counts_once_within_and_across_buckets),
		cmocka_unit_test(the_order_of_arrival_in_a_bucket_changes_nothing),
		cmocka_unit_test(altered_messages_are_bad_wherever_the_bit_is),
		cmocka_unit_test(messages_of_another_round_are_bad),
		cmocka_unit_test(low_order_points_are_bad_messages),
		cmocka_unit_test(records_outside_the_alphabet_are_bad),
		cmocka_unit_test(the_set_remembers_every_key_it_was_shown),
		cmocka_unit_test(a_dropped_message_takes_its_share_of_a_report_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
