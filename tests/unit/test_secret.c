/* test_secret.c - key files: made once, readable by us only, gone when erased. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cr_rand.h"
#include "cr_secret.h"

struct place {
	char root[64], dir[128], file[256];
	struct cr_rng rng;
};

static int make_place(void **state)
{
	static struct place p;
	struct cm_err err;

	(void)snprintf(p.root, sizeof p.root, "/tmp/tombola-secret-XXXXXX");
	if (!mkdtemp(p.root) || cr_rng_system(&p.rng, &err) != CM_OK)
		return -1;
	(void)snprintf(p.dir, sizeof p.dir, "%s/keys", p.root);
	(void)snprintf(p.file, sizeof p.file, "%s/r1.key", p.dir);
	*state = &p;
	return 0;
}

static int drop_place(void **state)
{
	struct place *p = *state;

	(void)unlink(p->file);
	(void)rmdir(p->dir);
	return rmdir(p->root);
}

static struct cr_key create(const struct place *p)
{
	struct cm_err err;
	struct cr_key key;

	assert_int_equal(cr_keyfile_create(p->dir, "r1", &p->rng, &key, &err), CM_OK);
	return key;
}

static void a_created_key_loads_back(void **state)
{
	struct place *p = *state;
	struct cr_key key = create(p), back;
	struct cm_err err;
	struct stat st;

	assert_int_equal(cr_keyfile_load(p->dir, "r1", &back, &err), CM_OK);
	assert_memory_equal(key.bytes, back.bytes, sizeof key.bytes);
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(p->dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void a_key_is_not_created_twice(void **state)
{
	struct place *p = *state;
	struct cr_key key = create(p), other, back;
	struct cm_err err;

	assert_int_equal(cr_keyfile_create(p->dir, "r1", &p->rng, &other, &err), CM_ECREATE);
	assert_non_null(strstr(err.msg, "r1.key"));
	assert_int_equal(cr_keyfile_load(p->dir, "r1", &back, &err), CM_OK);
	assert_memory_equal(key.bytes, back.bytes, sizeof key.bytes);
}

static void a_directory_that_others_may_write_is_refused(void **state)
{
	struct place *p = *state;
	struct cm_err err;
	struct cr_key key;

	assert_int_equal(mkdir(p->dir, 0700), 0);
	assert_int_equal(chmod(p->dir, 0770), 0);
	assert_int_equal(cr_keyfile_create(p->dir, "r1", &p->rng, &key, &err), CM_EPERM);
	assert_int_equal(access(p->file, F_OK), -1);
}

static void a_directory_without_a_parent_is_refused(void **state)
{
	struct place *p = *state;
	char deep[200];
	struct cm_err err;
	struct cr_key key;

	(void)snprintf(deep, sizeof deep, "%s/no/keys", p->root);
	assert_int_equal(cr_keyfile_create(deep, "r1", &p->rng, &key, &err), CM_ECREATE);
}

static void a_key_others_may_read_is_refused(void **state)
{
	struct place *p = *state;
	struct cm_err err;
	struct cr_key key = create(p);

	assert_int_equal(chmod(p->file, 0640), 0);
	assert_int_equal(cr_keyfile_load(p->dir, "r1", &key, &err), CM_EPERM);
	assert_non_null(strstr(err.msg, p->file));
	assert_int_equal(chmod(p->file, 0604), 0);
	assert_int_equal(cr_keyfile_load(p->dir, "r1", &key, &err), CM_EPERM);
}

static void a_key_of_the_wrong_size_is_refused(void **state)
{
	struct place *p = *state;
	struct cm_err err;
	struct cr_key key = create(p);

	assert_int_equal(truncate(p->file, 31), 0);
	assert_int_equal(cr_keyfile_load(p->dir, "r1", &key, &err), CM_EDATA);
	assert_int_equal(truncate(p->file, 33), 0);
	assert_int_equal(cr_keyfile_load(p->dir, "r1", &key, &err), CM_EDATA);
	assert_int_equal(truncate(p->file, 0), 0);
	assert_int_equal(cr_keyfile_load(p->dir, "r1", &key, &err), CM_EDATA);
}

static void a_missing_key_is_told_from_a_bad_one(void **state)
{
	struct place *p = *state;
	struct cm_err err;
	struct cr_key key;

	assert_int_equal(cr_keyfile_load(p->dir, "r1", &key, &err), CM_ENOINPUT);
}

static void names_cannot_leave_the_directory(void **state)
{
	static const char *const names[] = { "", ".", "..", "../r1", "a/b", "/etc/x", ".hidden" };
	struct place *p = *state;
	struct cm_err err;
	struct cr_key key;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		assert_int_equal(cr_keyfile_create(p->dir, names[i], &p->rng, &key, &err), CM_EINTERNAL);
		assert_int_equal(cr_keyfile_load(p->dir, names[i], &key, &err), CM_EINTERNAL);
		assert_int_equal(cr_keyfile_erase(p->dir, names[i], &err), CM_EINTERNAL);
	}
}

static void an_erased_key_is_gone_from_the_file_that_held_it(void **state)
{
	static const uint8_t zeros[32];
	struct place *p = *state;
	struct cm_err err;
	struct cr_key key = create(p);
	uint8_t left[32];
	int fd = open(p->file, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(cr_keyfile_erase(p->dir, "r1", &err), CM_OK);
	assert_int_equal(read(fd, left, sizeof left), 32); /* the open file outlives its name */
	assert_memory_equal(left, zeros, 32);
	(void)close(fd);
	assert_int_equal(cr_keyfile_load(p->dir, "r1", &key, &err), CM_ENOINPUT);
	assert_int_equal(cr_keyfile_erase(p->dir, "r1", &err), CM_OK);
}

static void erasing_follows_no_link(void **state)
{
	struct place *p = *state;
	struct cm_err err;
	char target[128];
	FILE *f;
	char text[8] = "";

	assert_int_equal(mkdir(p->dir, 0700), 0);
	(void)snprintf(target, sizeof target, "%s/target", p->root);
	f = fopen(target, "w");
	assert_non_null(f);
	assert_true(fputs("precious", f) >= 0 && fclose(f) == 0);
	assert_int_equal(symlink(target, p->file), 0);
	assert_int_equal(cr_keyfile_erase(p->dir, "r1", &err), CM_EIO);
	f = fopen(target, "r");
	assert_non_null(f);
	assert_int_equal(fread(text, 1, sizeof text, f), 8);
	assert_memory_equal(text, "precious", 8);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(unlink(target), 0);
}

static void wiping_and_comparing(void **state)
{
	struct cr_key key;
	uint8_t a[3] = { 1, 2, 3 }, b[3] = { 1, 2, 4 };

	(void)state;
	memset(&key, 7, sizeof key);
	cr_key_fini(&key);
	for (size_t i = 0; i < sizeof key.bytes; i++)
		assert_int_equal(key.bytes[i], 0);
	assert_true(cr_equal(a, b, 2));
	assert_false(cr_equal(a, b, 3));
	assert_true(cr_equal(a, b, 0));
	cr_wipe(a, sizeof a);
	assert_int_equal(a[0] | a[1] | a[2], 0);
}

static void what_moves_is_kept(void **state)
{
	uint8_t *p = cr_wiping_realloc(NULL, 3);

	(void)state;
	assert_non_null(p);
	memcpy(p, "abc", 3);
	for (size_t n = 4; n < 100000; n *= 3) {
		p = cr_wiping_realloc(p, n);
		assert_non_null(p);
		assert_memory_equal(p, "abc", 3);
		memset(p + 3, 'x', n - 3);
	}
	p = cr_wiping_realloc(p, 2);
	assert_non_null(p);
	assert_memory_equal(p, "ab", 2);
	cr_wiping_free(p);
	cr_wiping_free(NULL);
}

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, make_place, drop_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wiping_and_comparing),
		cmocka_unit_test(what_moves_is_kept),
		IN_PLACE(a_created_key_loads_back),
		IN_PLACE(a_key_is_not_created_twice),
		IN_PLACE(a_directory_that_others_may_write_is_refused),
		IN_PLACE(a_directory_without_a_parent_is_refused),
		IN_PLACE(a_key_others_may_read_is_refused),
		IN_PLACE(a_key_of_the_wrong_size_is_refused),
		IN_PLACE(a_missing_key_is_told_from_a_bad_one),
		IN_PLACE(names_cannot_leave_the_directory),
		IN_PLACE(an_erased_key_is_gone_from_the_file_that_held_it),
		IN_PLACE(erasing_follows_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
