/* test_sh_tags.c - who has taken part: tags and counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cr_hash.h"
#include "sh_batch.h"
#include "sh_tags.h"

static struct cm_err err;

/* Uniform tags, as an HMAC gives. */
static struct sh_tag tag_of(uint64_t device, uint64_t answer)
{
	uint8_t in[8], hash[CR_HASH_LEN];
	struct sh_tag t;

	cm_put_le64(in, device);
	cr_sha256(in, sizeof in, hash);
	memcpy(t.tag, hash, SH_TAG_LEN);
	cm_put_le64(in, answer);
	cr_sha256(in, sizeof in, hash);
	memcpy(t.digest, hash, SH_TAG_LEN);
	return t;
}

static void a_tag_is_never_seen_before_it_is_added(void **state)
{
	struct sh_tags t;
	struct sh_tag one = tag_of(1, 1);

	(void)state;
	assert_int_equal(sh_tags_init(&t, 10, &err), CM_OK);
	assert_int_equal(sh_tags_find(&t, &one), SH_SEEN_NEVER);
	sh_tags_add(&t, &one);
	assert_int_equal(sh_tags_find(&t, &one), SH_SEEN_SAME);
	sh_tags_fini(&t);
}

static void the_same_tag_with_another_digest_is_told_apart(void **state)
{
	struct sh_tags t;
	struct sh_tag one = tag_of(1, 1), other = tag_of(1, 2);

	(void)state;
	assert_int_equal(sh_tags_init(&t, 10, &err), CM_OK);
	sh_tags_add(&t, &one);
	assert_int_equal(sh_tags_find(&t, &other), SH_SEEN_OTHER);
	other = one;
	other.digest[SH_TAG_LEN - 1] ^= 1;
	assert_int_equal(sh_tags_find(&t, &other), SH_SEEN_OTHER);
	other = one;
	other.tag[SH_TAG_LEN - 1] ^= 1;
	assert_int_equal(sh_tags_find(&t, &other), SH_SEEN_NEVER);
	sh_tags_fini(&t);
}

static void a_full_set_still_finds_every_tag_and_no_stranger(void **state)
{
	const uint64_t n = 100000;
	struct sh_tags t;

	(void)state;
	assert_int_equal(sh_tags_init(&t, n, &err), CM_OK);
	for (uint64_t i = 0; i < n; i++) {
		struct sh_tag tag = tag_of(i, i);
		sh_tags_add(&t, &tag);
	}
	assert_int_equal(t.n, n);
	for (uint64_t i = 0; i < 2 * n; i++) {
		struct sh_tag tag = tag_of(i, i);
		assert_int_equal(sh_tags_find(&t, &tag), i < n ? SH_SEEN_SAME : SH_SEEN_NEVER);
	}
	sh_tags_fini(&t);
}

static void tags_that_collide_at_the_last_slot_wrap_around(void **state)
{
	struct sh_tags t;
	struct sh_tag tag = { .tag = { 0 } };

	(void)state;
	assert_int_equal(sh_tags_init(&t, 8, &err), CM_OK);
	memset(tag.tag, 0xff, 8);
	for (uint8_t i = 0; i < 8; i++) {
		tag.tag[15] = i;
		tag.digest[0] = i;
		assert_int_equal(sh_tags_find(&t, &tag), SH_SEEN_NEVER);
		sh_tags_add(&t, &tag);
	}
	for (uint8_t i = 0; i < 8; i++) {
		tag.tag[15] = i;
		tag.digest[0] = i;
		assert_int_equal(sh_tags_find(&t, &tag), SH_SEEN_SAME);
	}
	sh_tags_fini(&t);
}

static void counts_grow_and_keep_what_was_counted(void **state)
{
	struct sh_counts c = { 0 };

	(void)state;
	for (uint32_t round = 0; round < 3; round++)
		for (uint64_t i = 0; i < 5000; i++) {
			struct sh_tag tag = tag_of(i, 0);
			struct sh_count *count = sh_counts_at(&c, tag.tag);
			assert_non_null(count);
			assert_int_equal(count->n, round * (uint32_t)i);
			count->n += (uint32_t)i;
		}
	assert_int_equal(c.used, 5000);
	sh_counts_fini(&c);
}

/* Among the 100 devices that came in the order of their numbers, neighbours rise in about half of the 99
 * cases (standard deviation 2.9). */
static void in_no_order(const uint8_t *tags)
{
	unsigned rising = 0, before = 0;

	for (unsigned at = 0; at < 100; at++) {
		unsigned i = 0;
		while (i < 100 && memcmp(tags + at * 32, tag_of(i, 7).tag, SH_TAG_LEN) != 0)
			i++;
		assert_true(i < 100);
		rising += at > 0 && before < i;
		before = i;
	}
	assert_in_range(rising, 30, 69);
}

/* A tag row read back gives the set that was written. */
static void a_tag_row_reads_back_and_has_nothing_of_the_order_of_arrival(void **state)
{
	struct cm_buf row[2];
	struct sh_tags t;
	struct sh_counts c = { 0 };
	uint8_t message[4] = { 1, 2, 3, 4 };
	struct cr_rng rng;

	(void)state;
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	for (unsigned way = 0; way < 2; way++) {
		struct sh_batch b;
		sh_batch_init(&b, sizeof message, 1 << 20);
		assert_int_equal(sh_batch_reserve(&b, 100, 1, &err), CM_OK);
		for (uint64_t i = 0; i < 100; i++) {
			struct sh_tag tag = tag_of(i, 7);
			struct sh_count count = { .n = 1 };
			memcpy(count.tag, tag_of(i % 3, 0).tag, SH_TAG_LEN);
			sh_batch_add(&b, &tag, message, sizeof message);
			assert_int_equal(sh_batch_reserve(&b, 1, 1, &err), CM_OK);
			sh_batch_count(&b, &count);
		}
		cm_buf_init(&row[way], 1 << 20);
		assert_int_equal(sh_batch_tag_row(&b, &rng, &row[way], &err), CM_OK);
		sh_batch_fini(&b);
	}
	assert_int_equal(row[0].len, row[1].len);
	/* One order of arrival, two orders of tags; the counts are sorted. */
	assert_memory_not_equal(row[0].data, row[1].data, 8 + 100 * 32);
	assert_memory_equal(row[0].data + 8 + 100 * 32, row[1].data + 8 + 100 * 32, 3 * 20);
	in_no_order(row[0].data + 8);
	assert_int_equal(row[0].len, 8 + 100 * 32 + 3 * 20); /* three certificates, merged */

	assert_int_equal(sh_tags_init(&t, 100, &err), CM_OK);
	assert_int_equal(sh_batch_tag_row_load(row[0].data, row[0].len, &t, &c, &err), CM_OK);
	for (uint64_t i = 0; i < 100; i++) {
		struct sh_tag tag = tag_of(i, 7);
		assert_int_equal(sh_tags_find(&t, &tag), SH_SEEN_SAME);
	}
	assert_int_equal(sh_counts_at(&c, tag_of(0, 0).tag)->n, 34);
	assert_int_equal(sh_counts_at(&c, tag_of(2, 0).tag)->n, 33);
	/* The same row again would be every device twice. */
	assert_int_equal(sh_batch_tag_row_load(row[0].data, row[0].len, &t, &c, &err), CM_EDATA);
	sh_tags_fini(&t);
	sh_counts_fini(&c);
	cm_buf_fini(&row[0]);
	cm_buf_fini(&row[1]);
}

static void a_tag_row_of_a_wrong_length_or_too_many_tags_is_refused(void **state)
{
	struct sh_tags t;
	struct sh_counts c = { 0 };
	uint8_t row[8 + 32 + 20] = { 1, 0, 0, 0, 1 };

	(void)state;
	memset(row + 8, 5, sizeof row - 8);
	assert_int_equal(sh_tags_init(&t, 1, &err), CM_OK);
	for (size_t len = 0; len < sizeof row; len++)
		assert_int_equal(sh_batch_tag_row_load(row, len, &t, &c, &err), CM_EDATA);
	row[0] = 255;
	row[3] = 255;
	assert_int_equal(sh_batch_tag_row_load(row, sizeof row, &t, &c, &err), CM_EDATA);
	row[0] = 1;
	row[3] = 0;
	assert_int_equal(sh_batch_tag_row_load(row, sizeof row, &t, &c, &err), CM_OK);
	memset(row + 8, 6, 32);
	assert_int_equal(sh_batch_tag_row_load(row, sizeof row, &t, &c, &err), CM_EDATA); /* most is 1 */
	sh_tags_fini(&t);
	sh_counts_fini(&c);
}

/* Whoever has the round's box key can store such a row: it ends no process. */
static void a_tag_row_with_a_tag_of_zeros_is_refused(void **state)
{
	(void)state;
	for (int what = 0; what < 2; what++) {
		struct sh_tags t;
		struct sh_counts c = { 0 };
		uint8_t row[8 + 32 + 20] = { 1, 0, 0, 0, 1 };

		memset(row + 8, 5, sizeof row - 8);
		memset(row + (what ? 8 : 40), 0, SH_TAG_LEN);
		assert_int_equal(sh_tags_init(&t, 1, &err), CM_OK);
		assert_int_equal(sh_batch_tag_row_load(row, sizeof row, &t, &c, &err), CM_EDATA);
		sh_tags_fini(&t);
		sh_counts_fini(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tag_is_never_seen_before_it_is_added),
		cmocka_unit_test(the_same_tag_with_another_digest_is_told_apart),
		cmocka_unit_test(a_full_set_still_finds_every_tag_and_no_stranger),
		cmocka_unit_test(tags_that_collide_at_the_last_slot_wrap_around),
		cmocka_unit_test(counts_grow_and_keep_what_was_counted),
		cmocka_unit_test(a_tag_row_reads_back_and_has_nothing_of_the_order_of_arrival),
		cmocka_unit_test(a_tag_row_of_a_wrong_length_or_too_many_tags_is_refused),
		cmocka_unit_test(a_tag_row_with_a_tag_of_zeros_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
