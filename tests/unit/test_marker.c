/* test_marker.c - the note that a party has been in service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cm_file.h"
#include "cm_marker.h"

static char dir[64], note[96];
static struct cm_err err;

static int make_dir(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof dir, "/tmp/test_marker.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(note, sizeof note, "%s/in-service", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	(void)remove(note);
	return rmdir(dir);
}

static struct cm_marker known(void)
{
	struct cm_marker b;

	assert_int_equal(cm_marker_read(dir, &b, &err), CM_OK);
	return b;
}

static size_t content(char out[512])
{
	struct cm_buf b;
	size_t n;

	cm_buf_init(&b, 511);
	assert_int_equal(cm_file_read(note, 511, &b, &err), CM_OK);
	n = b.len;
	memcpy(out, b.data, n);
	out[n] = '\0';
	cm_buf_fini(&b);
	return n;
}

static void it_is_noted_once_and_stays(void **state)
{
	char first[512], again[512];
	struct stat st;

	(void)state;
	assert_false(known().there);
	assert_int_equal(cm_marker_make(dir, &err), CM_OK);
	assert_true(known().there);
	assert_int_equal(known().losses, 0);
	(void)content(first);
	assert_non_null(strstr(first, "Z in service\n"));
	assert_int_equal(cm_marker_make(dir, &err), CM_OK);
	(void)content(again);
	assert_string_equal(first, again);
	assert_int_equal(stat(note, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void each_loss_is_added(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(cm_marker_make(dir, &err), CM_OK);
	for (unsigned n = 1; n < 4; n++) {
		assert_int_equal(cm_marker_add_loss(dir, &err), CM_OK);
		assert_int_equal(known().losses, n);
	}
	assert_int_equal(cm_marker_make(dir, &err), CM_OK);
	(void)content(text);
	assert_non_null(strstr(text, "Z in service\n"));
	assert_int_equal(strlen(known().last), 20);
	assert_non_null(strstr(text, known().last));
}

/* A marker that exists says that there was a state; one that cannot be read says nothing. */
static void whatever_has_the_name_counts(void **state)
{
	struct cm_marker b;

	(void)state;
	assert_int_equal(cm_file_write(note, "", 0, 0600, &err), CM_OK);
	assert_true(known().there);
	assert_int_equal(cm_file_write(note, "lost, its loss accepted", 23, 0600, &err), CM_OK);
	assert_true(known().there);
	assert_int_equal(known().losses, 0);
	assert_int_equal(remove(note), 0);
	assert_int_equal(mkdir(note, 0700), 0);
	assert_int_not_equal(cm_marker_read(dir, &b, &err), CM_OK);
	assert_int_not_equal(cm_marker_make(dir, &err), CM_OK);
	assert_int_equal(rmdir(note), 0);
	assert_int_equal(symlink("nowhere", note), 0);
	assert_int_equal(cm_marker_read(dir, &b, &err), CM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_noted_once_and_stays, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(each_loss_is_added, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(whatever_has_the_name_counts, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
