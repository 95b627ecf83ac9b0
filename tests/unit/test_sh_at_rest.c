/* test_sh_at_rest.c - what lies on the disk of a shuffler: no message, identity, tag or order can be read
 * there. */
#include "sh_steps.h"

#include <dirent.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

/* Is this string of bytes in any file of the folder, or of a folder in it? */
static bool on_disk(const char *folder, const void *bytes, size_t n)
{
	DIR *dir = opendir(folder);
	bool found = false;
	char path[512];

	assert_non_null(dir);
	for (struct dirent *e; !found && (e = readdir(dir));) {
		struct stat st;
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		assert_int_equal(stat(path, &st), 0);
		if (S_ISDIR(st.st_mode)) {
			found = on_disk(path, bytes, n);
			continue;
		}
		FILE *f = fopen(path, "rb");
		uint8_t *all = malloc((size_t)st.st_size + 1);
		assert_true(f && all);
		size_t len = fread(all, 1, (size_t)st.st_size, f);
		for (size_t i = 0; !found && i + n <= len; i++)
			found = memcmp(all + i, bytes, n) == 0;
		free(all);
		(void)fclose(f);
	}
	(void)closedir(dir);
	return found;
}

static void neither_messages_nor_identities_nor_tags_are_readable_at_rest(void **state)
{
	uint8_t message[PR_SEALED_MAX], pseudonym[PR_PSEUDONYM_LEN], key_hash[32], tag[SH_TAG_LEN];
	char canary[] = "canary-on-the-disk";

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	struct sh_round *r = sh_core_collecting(play.core);
	size_t len = rd_sealed_len(&play.d);
	steps_accepted(1, 0, 500);
	memset(message, 'x', sizeof message);
	memcpy(message, canary, sizeof canary);
	memset(pseudonym, 'p', sizeof pseudonym);
	memset(key_hash, 'k', sizeof key_hash);
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = 1 };
	memcpy(who.key_hash, key_hash, 32);
	const struct sh_submit s = { &who, pseudonym, sizeof pseudonym, message, len, pseudonym,
		sizeof pseudonym, NULL, NULL };
	assert_int_equal(sh_core_submit(play.core, play.d.round_id, PR_ROUND_ID_LEN, &s, play.now_ms,
				 &receipt, &play.no, &play.err),
		CM_OK);
	sh_vault_tag(&r->vault, key_hash, pseudonym, tag);
	sh_play_work(&play);
	/* Check that the search finds something: the descriptor lies in state.db as it came. */
	assert_true(on_disk(play.dir, play.descriptor.data, 64));
	assert_false(on_disk(play.dir, canary, sizeof canary - 1));
	assert_false(on_disk(play.dir, pseudonym, 16));
	assert_false(on_disk(play.dir, key_hash, 16));
	assert_false(on_disk(play.dir, tag, 8));
	sh_play_message(3, 0, message, len);
	assert_false(on_disk(play.dir, message, 24));
	sh_play_deadline(&play);
	assert_false(on_disk(play.dir, message, 24));
}

/* The same must hold after the release. */
static void what_is_stored_is_in_no_order_of_arrival(void **state)
{
	enum { N = 400 };
	static uint8_t sent[N][PR_SEALED_MAX];
	size_t len, before = 0;
	unsigned rising = 0, pairs = 0;
	struct cm_buf out;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_accepted(1, 0, N);
	sh_play_work(&play);
	struct sh_round *r = sh_core_collecting(play.core);
	len = rd_sealed_len(&play.d);
	for (uint64_t i = 0; i < N; i++)
		sh_play_message(i, 0, sent[i], len);
	cm_buf_init(&out, 1u << 20);
	for (uint32_t b = 0; b < r->vault.buckets; b++) {
		out.len = 0;
		assert_int_equal(sh_vault_read(&r->vault, b, &out, &play.err), CM_OK);
		for (size_t at = 0; at < out.len; at += len) {
			size_t i = 0;

			while (i < N && memcmp(sent[i], out.data + at, len) != 0)
				i++;
			assert_true(i < N);
			pairs += at > 0;
			rising += at > 0 && before < i;
			before = i;
		}
	}
	cm_buf_fini(&out);
	/* Half of the neighbours in a bucket, of standard deviation 6 at most. */
	assert_true(pairs >= N - 16);
	assert_in_range(rising, pairs / 2 - 40, pairs / 2 + 40);
}

static void the_round_key_is_in_its_file_only_and_gone_with_it(void **state)
{
	struct cm_buf key;
	char path[256], folder[128];
	struct stat st;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 1000 });
	steps_accepted(1, 0, 500);
	sh_play_work(&play);
	FILE *f = fopen(steps_place(path, "keys", ".key"), "rb");
	assert_non_null(f);
	cm_buf_init(&key, 64);
	uint8_t *room = cm_buf_room(&key, 32);
	assert_non_null(room);
	assert_int_equal(fread(room, 1, 32, f), 32);
	(void)fclose(f);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	(void)snprintf(folder, sizeof folder, "%s/rounds", play.dir);
	assert_true(on_disk(play.dir, room, 32));
	assert_false(on_disk(folder, room, 32));
	sh_play_deadline(&play); /* void */
	assert_false(on_disk(play.dir, room, 32));
	cm_buf_fini(&key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(neither_messages_nor_identities_nor_tags_are_readable_at_rest),
		STEPS_TEST(what_is_stored_is_in_no_order_of_arrival),
		STEPS_TEST(the_round_key_is_in_its_file_only_and_gone_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
