/* test_sh_window.c - a bucket that was read ahead is what a reading of it alone gives, whatever was written
 * between. */
#include "sh_play.h"

#include <string.h>

#include "sh_vault.h"

#define LEN     16u
#define BUCKETS 64u
#define STEPS   3000u

static struct sh_play play;
static struct sh_vault vault;
static struct cr_rng rng;
static struct cm_err err;
static uint64_t number;

static void write_some(size_t devices, const uint32_t *bucket)
{
	struct sh_batch b;
	struct sh_tag tag = { .digest = { 0 } };
	uint8_t message[LEN] = { 0 };

	sh_batch_init(&b, LEN, 1u << 20);
	assert_int_equal(sh_batch_reserve(&b, devices, 1, &err), CM_OK);
	for (size_t i = 0; i < devices; i++) {
		cm_put_le64(message, ++number);
		cm_put_le64(tag.tag, number);
		sh_batch_add(&b, &tag, message, LEN);
	}
	assert_int_equal(bucket ? sh_vault_replace(&vault, *bucket, &b, &rng, &err)
				: sh_vault_commit(&vault, &b, &rng, &err),
		CM_OK);
	sh_batch_fini(&b);
}

/* Read a bucket with and without what was read ahead. */
static void compare(uint32_t bucket, bool after_others)
{
	struct cm_buf ahead, alone;

	cm_buf_init(&ahead, SIZE_MAX / 4);
	cm_buf_init(&alone, SIZE_MAX / 4);
	if (after_others) {
		assert_int_equal(cm_buf_put(&ahead, "0123456789abcdef", LEN), CM_OK);
		assert_int_equal(cm_buf_put(&alone, "0123456789abcdef", LEN), CM_OK);
	}
	assert_int_equal(sh_vault_read(&vault, bucket, &ahead, &err), CM_OK);
	struct sh_window keep = vault.window;
	vault.window = (struct sh_window){ 0 };
	assert_int_equal(sh_vault_read(&vault, bucket, &alone, &err), CM_OK);
	assert_true(bucket + 1 == BUCKETS || vault.window.end == bucket + 1); /* no other bucket */
	struct sh_window one = vault.window;
	vault.window = keep;
	for (uint32_t i = 0; i < one.room; i++)
		cm_buf_fini(&one.bucket[i]);
	free(one.bucket);
	assert_int_equal(ahead.len, alone.len);
	assert_memory_equal(ahead.data, alone.data, alone.len);
	cm_buf_fini(&ahead);
	cm_buf_fini(&alone);
}

static void a_bucket_read_ahead_is_what_it_is_alone(void **state)
{
	const uint8_t round_id[PR_ROUND_ID_LEN] = { 7 };
	uint32_t next = 0;
	bool together = false;

	(void)state;
	sh_play_init(&play);
	assert_int_equal(sh_play_store_open(&play), CM_OK);
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	assert_int_equal(
		sh_vault_create(&vault, &play.store, play.key_dir, round_id, BUCKETS, LEN, &rng, &err),
		CM_OK);
	write_some(SH_RUN_LEAST, NULL); /* a run */
	write_some(1000, NULL);
	write_some(2 * SH_RUN_LEAST, NULL);
	for (unsigned step = 0; step < STEPS; step++) {
		uint32_t bucket = (uint32_t)cr_rng_below(&rng, BUCKETS);
		switch (cr_rng_below(&rng, 32)) {
		case 0: /* the bucket that was read last, one that follows, any */
			write_some(cr_rng_below(&rng, 5), &bucket);
			break;
		case 1:
			bucket = next < BUCKETS ? next : 0;
			write_some(3, &bucket);
			break;
		case 2:
			write_some(cr_rng_below(&rng, 100), NULL);
			break;
		case 3:
			next = bucket;
			break;
		default:
			next = next < BUCKETS ? next : 0;
			compare(next++, cr_rng_below(&rng, 4) == 0);
			together |= vault.window.end > vault.window.first + 4;
		}
	}
	assert_true(together); /* several were read at once, or nothing was shown */
	sh_vault_close(&vault);
	play.store.close(play.store.ctx);
	play.store = (struct sh_store){ 0 };
	sh_play_fini(&play);
}

/* Or whoever holds an intake could store a row that says the dummies are there. */
static void what_an_intake_is_lent_does_not_make_the_shufflers_own_tags(void **state)
{
	const uint8_t round_id[PR_ROUND_ID_LEN] = { 8 }, key_hash[32] = { 1 },
		      pseudonym[PR_PSEUDONYM_LEN] = { 2 };
	uint8_t mine[SH_TAG_LEN], theirs[SH_TAG_LEN];
	struct sh_vault_keys keys;

	(void)state;
	sh_play_init(&play);
	assert_int_equal(sh_play_store_open(&play), CM_OK);
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	assert_int_equal(
		sh_vault_create(&vault, &play.store, play.key_dir, round_id, BUCKETS, LEN, &rng, &err),
		CM_OK);
	assert_int_equal(sh_vault_lend(play.key_dir, round_id, &keys, &err), CM_OK);
	struct sh_vault lent = { .tag = keys.tag }; /* as sh_vault_join has it */
	memcpy(lent.round_id, round_id, sizeof round_id);
	sh_vault_tag(&vault, key_hash, pseudonym, mine);
	sh_vault_tag(&lent, key_hash, pseudonym, theirs);
	assert_memory_equal(mine, theirs, sizeof mine);
	sh_vault_dummies(&vault, mine);
	sh_vault_dummies(&lent, theirs);
	assert_memory_not_equal(mine, theirs, sizeof mine);
	sh_vault_capped(&vault, mine);
	sh_vault_capped(&lent, theirs);
	assert_memory_not_equal(mine, theirs, sizeof mine);
	sh_vault_keys_fini(&keys);
	sh_vault_close(&vault);
	play.store.close(play.store.ctx);
	play.store = (struct sh_store){ 0 };
	sh_play_fini(&play);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_read_ahead_is_what_it_is_alone),
		cmocka_unit_test(what_an_intake_is_lent_does_not_make_the_shufflers_own_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
