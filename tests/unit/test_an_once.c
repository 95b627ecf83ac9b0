/* test_an_once.c - of all messages with one key the first counts, as with a set that remembers everything. */
#include "spills.h"

#include "an_once.h"
#include "seeded.h"

#define LEN    48u /* of a message */
#define STREAM 6000u
#define ITEM   (LEN + 4u) /* bytes of an entry in the list of messages set aside */
#define LEAST  1u /* memory so small that every list spills a page at a time, and the filter is one line */

static struct cr_rng rng;

/* A stream of messages in buckets. */
struct stream {
	uint8_t message[STREAM][LEN];
	uint32_t bucket[STREAM]; /* rising */
	size_t n;
};

/* What came of one. */
struct outcome {
	uint8_t counted[STREAM][LEN];
	size_t n, aside;
	uint64_t duplicates;
	struct spill_calls calls;
	enum cm_rc rc;
};

static size_t compare_len;

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, compare_len);
}

static void sort(void *items, size_t n, size_t len)
{
	compare_len = len;
	if (n > 1)
		qsort(items, n, len, by_bytes);
}

static int by_messages(const void *a, const void *b)
{
	return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, LEN);
}

static enum cm_rc take_bucket(struct an_once *o, const uint8_t **m, size_t n, struct outcome *out)
{
	struct cm_err err;
	size_t now = 0;
	enum cm_rc rc;

	qsort(m, n, sizeof *m, by_messages);
	rc = an_once_bucket(o, m, n, &now, &err);
	for (size_t i = 0; rc == CM_OK && i < now; i++)
		memcpy(out->counted[out->n++], m[i], LEN);
	return rc;
}

static enum cm_rc take_all(struct an_once *o, const struct stream *s, struct outcome *out)
{
	static const uint8_t *m[STREAM];
	struct cm_err err;
	enum cm_rc rc = CM_OK;

	for (size_t at = 0; rc == CM_OK && at < s->n;) {
		size_t n = 0;

		while (at + n < s->n && s->bucket[at + n] == s->bucket[at]) {
			m[n] = s->message[at + n];
			n++;
		}
		rc = take_bucket(o, m, n, out);
		at += n;
	}
	size_t now = out->n;
	if (rc == CM_OK)
		rc = an_once_done(o, &err);
	while (rc == CM_OK && (rc = an_once_next(o, out->counted[out->n], &err)) == CM_OK)
		out->n++;
	out->aside = out->n - now;
	out->duplicates = an_once_duplicates(o);
	return rc == CM_EMORE ? CM_OK : rc;
}

static void play(
	const struct stream *s, size_t bytes, uint64_t messages, unsigned fails_at, struct outcome *out)
{
	struct spill_fake counted, aside;
	struct an_once *o = NULL;
	struct cm_err err;

	*out = (struct outcome){ .calls = { .fails_at = fails_at, .lock = PTHREAD_MUTEX_INITIALIZER } };
	spill_init(&counted, &out->calls);
	spill_init(&aside, &out->calls);
	const struct an_once_conf conf = { LEN, messages, bytes, &counted.spill, &aside.spill };
	assert_int_equal(an_once_new(&conf, &o, &err), CM_OK);
	out->rc = take_all(o, s, out);
	an_once_free(o);
	spill_fini(&counted);
	spill_fini(&aside);
	sort(out->counted, out->n, LEN);
}

/* key || bucket || rest of a message: that order is the one in which a set would see them. */
static size_t a_set(const struct stream *s, uint8_t (*counted)[LEN])
{
	static uint8_t item[STREAM][ITEM];
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		memcpy(item[i], s->message[i], AN_ONCE_KEY);
		cm_put_be32(item[i] + AN_ONCE_KEY, s->bucket[i]);
		memcpy(item[i] + AN_ONCE_KEY + 4, s->message[i] + AN_ONCE_KEY, LEN - AN_ONCE_KEY);
	}
	sort(item, s->n, ITEM);
	for (size_t i = 0; i < s->n; i++) {
		if (i > 0 && memcmp(item[i], item[i - 1], AN_ONCE_KEY) == 0)
			continue;
		memcpy(counted[n], item[i], AN_ONCE_KEY);
		memcpy(counted[n++] + AN_ONCE_KEY, item[i] + AN_ONCE_KEY + 4, LEN - AN_ONCE_KEY);
	}
	sort(counted, n, LEN);
	return n;
}

static void as_with_a_set(const struct stream *s, size_t bytes, uint64_t messages, struct outcome *out)
{
	static uint8_t want[STREAM][LEN];
	size_t n = a_set(s, want);

	play(s, bytes, messages, 0, out);
	assert_int_equal(out->rc, CM_OK);
	assert_int_equal(out->n, n);
	assert_int_equal(out->duplicates, s->n - n);
	assert_memory_equal(out->counted, want, n * LEN);
}

/* A key out of few: the bytes that choose the line say which, those that choose the bits are equal for all,
 * so in a filter of one line each looks like every other. */
static void few_keys(uint8_t message[LEN], unsigned key, unsigned body)
{
	memset(message, 0, LEN);
	message[0] = (uint8_t)key;
	message[LEN - 1] = (uint8_t)body;
}

static void every_small_stream_counts_the_first_of_each_key(void **state)
{
	static struct stream s;
	static struct outcome out;
	unsigned aside = 0;

	(void)state;
	/* Five messages of two keys and two bodies, in up to three buckets. */
	for (unsigned which = 0; which < 1024; which++)
		for (unsigned cuts = 0; cuts < 16; cuts++) {
			s.n = 5;
			for (unsigned i = 0; i < 5; i++) {
				few_keys(s.message[i], which >> 2 * i & 1, which >> (2 * i + 1) & 1);
				s.bucket[i] = i == 0 ? 0 : s.bucket[i - 1] + (cuts >> (i - 1) & 1);
			}
			as_with_a_set(&s, LEAST, 5, &out);
			aside += out.aside > 0;
		}
	/* The second key never counts at once. */
	assert_true(aside > 16 * 900);
}

static void draw(struct stream *s, size_t n, unsigned keys, unsigned buckets)
{
	s->n = n;
	for (size_t i = 0; i < n; i++) {
		uint64_t key = cr_rng_below(&rng, keys);

		for (size_t j = 0; j < LEN; j++) /* spread over all bytes, as keys are */
			s->message[i][j] =
				(uint8_t)((key + 1) * (2 * j + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
		s->message[i][LEN - 1] = (uint8_t)cr_rng_below(&rng, 3);
		s->message[i][20] = (uint8_t)cr_rng_below(&rng, 2); /* the rest of a key */
		s->bucket[i] = (uint32_t)(i * buckets / n);
	}
}

static void streams_with_many_duplicates_within_and_between_buckets(void **state)
{
	static struct stream s;
	static struct outcome out;
	static const unsigned keys[] = { 1, 2, 50, 1000, 6000, 1000000 }, buckets[] = { 1, 40, 300 };
	static const size_t bytes[] = { LEAST, 2000, 40000, 4u << 20 };

	(void)state;
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
		for (size_t b = 0; b < sizeof buckets / sizeof *buckets; b++) {
			draw(&s, STREAM, keys[k], buckets[b]);
			for (size_t m = 0; m < sizeof bytes / sizeof *bytes; m++) {
				as_with_a_set(&s, bytes[m], s.n, &out);
				if (bytes[m] != 40000)
					assert_int_equal(out.calls.puts > 0, bytes[m] < 40000);
			}
			/* The number in a manifest decides only the size of the filter. */
			as_with_a_set(&s, 2000, 1, &out);
			as_with_a_set(&s, 2000, UINT64_MAX, &out);
		}
}

/* The filter of 16 bits a message: with random keys less than one in a thousand is set aside. */
static void what_fits_stays_in_memory_and_hardly_a_key_looks_like_others(void **state)
{
	static struct stream s;
	static struct outcome out;

	(void)state;
	draw(&s, STREAM, 1, 100);
	for (size_t i = 0; i < s.n; i++)
		rng.fill(rng.ctx, s.message[i], LEN);
	as_with_a_set(&s, 1u << 20, s.n, &out);
	assert_int_equal(out.calls.puts + out.calls.gets, 0);
	assert_true(out.aside < STREAM / 1000);
}

static void every_failure_of_a_spill_is_told(void **state)
{
	static struct stream s;
	static struct outcome out;
	unsigned calls, k;

	(void)state;
	draw(&s, 3000, 1000, 60);
	as_with_a_set(&s, LEAST, s.n, &out);
	calls = out.calls.puts + out.calls.gets;
	assert_true(out.calls.puts > 20 && out.calls.gets > 20);
	for (k = 1; k <= calls; k++) {
		play(&s, LEAST, s.n, k, &out);
		assert_int_equal(out.rc, CM_EIO);
		assert_int_equal(out.calls.puts + out.calls.gets, k);
	}
	play(&s, LEAST, s.n, k, &out);
	assert_int_equal(out.rc, CM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_small_stream_counts_the_first_of_each_key),
		cmocka_unit_test(streams_with_many_duplicates_within_and_between_buckets),
		cmocka_unit_test(what_fits_stays_in_memory_and_hardly_a_key_looks_like_others),
		cmocka_unit_test(every_failure_of_a_spill_is_told),
	};

	return RUN_SEEDED(tests, &rng, "once");
}
