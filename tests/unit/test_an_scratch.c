/* test_an_scratch.c - pages come back as they were put, leave nothing, and cannot be read on the disk. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "an_scratch.h"
#include "cm_file.h"

#define PAGES 40u

static char dir[] = "/tmp/tombola-scratch-XXXXXX";
static uint8_t page[PAGES][RD_SORT_PAGE_BYTES], back[RD_SORT_PAGE_BYTES];

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAGES; i++)
		for (size_t j = 0; j < RD_SORT_PAGE_BYTES; j++)
			page[i][j] = (uint8_t)(i + j * 5 + j / 256);
	return mkdtemp(dir) && signal(SIGXFSZ, SIG_IGN) != SIG_ERR ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(dir);
}

static enum cm_rc count(void *user, const char *name, struct cm_err *err)
{
	(void)name;
	(void)err;
	++*(unsigned *)user;
	return CM_OK;
}

static unsigned names(void)
{
	struct cm_err err;
	unsigned n = 0;

	assert_int_equal(cm_file_each(dir, count, &n, &err), CM_OK);
	return n;
}

static struct an_scratch *scratch(void)
{
	struct an_scratch *s = NULL;
	struct cm_err err;

	assert_int_equal(an_scratch_new(dir, &s, &err), CM_OK);
	return s;
}

/* An open file of this process that has no name, and lay in the folder; -1: there is none. */
static int nameless(int from)
{
	char link[64], path[256];

	for (int fd = from; fd < 64; fd++) {
		(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		ssize_t n = readlink(link, path, sizeof path - 1);
		path[n > 0 ? n : 0] = '\0';
		if (strncmp(path, dir, strlen(dir)) == 0 && strstr(path, "(deleted)"))
			return fd;
	}
	return -1;
}

static void pages_come_back_and_no_file_has_a_name(void **state)
{
	struct an_scratch *s = scratch();
	const struct rd_spill *spill = an_scratch_spills(s);
	struct cm_err err;

	(void)state;
	assert_int_equal(nameless(0), -1);
	for (size_t k = 0; k < AN_SPILLS; k++)
		for (size_t i = 0; i < PAGES; i++)
			assert_int_equal(
				spill[k].put(spill[k].ctx, i, page[(i + k) % PAGES], 4080 + k, &err), CM_OK);
	assert_int_equal(names(), 0);
	for (size_t i = PAGES; i-- > 0;)
		for (size_t k = 0; k < AN_SPILLS; k++) {
			assert_int_equal(spill[k].get(spill[k].ctx, i, back, 4080 + k, &err), CM_OK);
			assert_memory_equal(back, page[(i + k) % PAGES], 4080 + k);
		}
	an_scratch_free(s);
	assert_int_equal(nameless(0), -1);
	assert_int_equal(names(), 0);
}

struct writer {
	const struct rd_spill *spill;
	unsigned number;
	enum cm_rc rc;
};

/* Every third page, from the writer's own on, and back. */
static void *write_thirds(void *arg)
{
	struct writer *w = arg;
	uint8_t got[RD_SORT_PAGE_BYTES];
	struct cm_err err;

	for (size_t i = w->number; w->rc == CM_OK && i < PAGES; i += 3)
		w->rc = w->spill->put(w->spill->ctx, i, page[i], sizeof got, &err);
	for (size_t i = w->number; w->rc == CM_OK && i < PAGES; i += 3) {
		w->rc = w->spill->get(w->spill->ctx, i, got, sizeof got, &err);
		if (memcmp(got, page[i], sizeof got) != 0)
			w->rc = CM_EDATA;
	}
	return NULL;
}

static void threads_share_a_file(void **state)
{
	struct an_scratch *s = scratch();
	const struct rd_spill *spill = an_scratch_spills(s);
	struct writer w[3];
	pthread_t thread[3];
	struct cm_err err;

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		w[k] = (struct writer){ spill, k, CM_OK };
		assert_int_equal(pthread_create(&thread[k], NULL, write_thirds, &w[k]), 0);
	}
	for (unsigned k = 0; k < 3; k++) {
		assert_int_equal(pthread_join(thread[k], NULL), 0);
		assert_int_equal(w[k].rc, CM_OK);
	}
	for (size_t i = 0; i < PAGES; i++) {
		assert_int_equal(spill->get(spill->ctx, i, back, sizeof back, &err), CM_OK);
		assert_memory_equal(back, page[i], sizeof back);
	}
	assert_int_equal(nameless(nameless(0) + 1), -1);
	an_scratch_free(s);
}

static void the_disk_has_no_byte_of_them_in_clear_and_none_twice(void **state)
{
	struct an_scratch *s = scratch();
	const struct rd_spill *spill = an_scratch_spills(s);
	static uint8_t stored[2][3 * (4096 + 28)];
	struct cm_err err;
	int fd = -1;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(spill[k].put(spill[k].ctx, i, page[5], 4096, &err), CM_OK);
		fd = nameless(fd + 1);
		assert_int_equal(pread(fd, stored[k], sizeof stored[k], 0), sizeof stored[k]);
	}
	for (size_t a = 0; a < 6; a++) {
		const uint8_t *one = stored[0] + a * (4096 + 28);

		for (size_t at = 0; at + 16 <= 4096 + 28; at += 4)
			assert_null(memmem(page[5], 4096, one + at, 16));
		for (size_t b = 0; b < a; b++)
			assert_memory_not_equal(one, stored[0] + b * (4096 + 28), 4096 + 28);
	}
	an_scratch_free(s);
}

static void a_page_that_is_damaged_or_in_another_place_is_a_fault_of_the_disk(void **state)
{
	struct an_scratch *s = scratch();
	const struct rd_spill *spill = an_scratch_spills(s);
	uint8_t stored[4096 + 28];
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(spill->put(spill->ctx, i, page[i], 4096, &err), CM_OK);
	int fd = nameless(0);
	assert_int_equal(pread(fd, stored, sizeof stored, 0), sizeof stored);
	assert_int_equal(pwrite(fd, stored, sizeof stored, sizeof stored), sizeof stored);
	assert_int_equal(spill->get(spill->ctx, 0, back, 4096, &err), CM_OK);
	assert_int_equal(spill->get(spill->ctx, 1, back, 4096, &err), CM_EIO);
	assert_int_equal(spill->get(spill->ctx, 2, back, 4096, &err), CM_OK);
	stored[100] ^= 1;
	assert_int_equal(pwrite(fd, stored, sizeof stored, 0), sizeof stored);
	assert_int_equal(spill->get(spill->ctx, 0, back, 4096, &err), CM_EIO);
	assert_int_equal(ftruncate(fd, 3 * (4096 + 28) - 1), 0);
	assert_int_equal(spill->get(spill->ctx, 2, back, 4096, &err), CM_EIO);
	assert_non_null(strstr(err.msg, dir));
	an_scratch_free(s);
}

static void a_full_disk_and_a_missing_folder_are_told_with_the_folder(void **state)
{
	struct an_scratch *s = scratch();
	const struct rd_spill *spill = an_scratch_spills(s);
	struct rlimit old, small;
	struct cm_err err;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 10000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(spill->put(spill->ctx, 0, page[0], 4096, &err), CM_OK);
	assert_int_equal(spill->put(spill->ctx, 1, page[1], 4096, &err), CM_OK);
	assert_int_equal(spill->put(spill->ctx, 2, page[2], 4096, &err), CM_EIO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_non_null(strstr(err.msg, dir));
	assert_non_null(strstr(err.msg, "cannot write"));
	an_scratch_free(s);
	assert_int_equal(names(), 0);

	assert_int_equal(an_scratch_new("/tmp/tombola-scratch-of-nobody", &s, &err), CM_OK);
	spill = an_scratch_spills(s);
	assert_int_equal(spill->put(spill->ctx, 0, page[0], 4096, &err), CM_ECREATE);
	assert_non_null(strstr(err.msg, "/tmp/tombola-scratch-of-nobody"));
	an_scratch_free(s);
}

static void nothing_goes_on_after_a_stop(void **state)
{
	struct an_scratch *s = scratch();
	const struct rd_spill *spill = an_scratch_spills(s);
	struct cm_err err;

	(void)state;
	an_scratch_stop(NULL);
	assert_int_equal(spill->put(spill->ctx, 0, page[0], 4096, &err), CM_OK);
	an_scratch_stop(s);
	assert_int_equal(spill->put(spill->ctx, 1, page[1], 4096, &err), CM_ELATER);
	assert_int_equal(spill->get(spill->ctx, 0, back, 4096, &err), CM_ELATER);
	assert_int_equal(spill[1].put(spill[1].ctx, 0, page[1], 4096, &err), CM_ELATER);
	an_scratch_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_come_back_and_no_file_has_a_name),
		cmocka_unit_test(threads_share_a_file),
		cmocka_unit_test(the_disk_has_no_byte_of_them_in_clear_and_none_twice),
		cmocka_unit_test(a_page_that_is_damaged_or_in_another_place_is_a_fault_of_the_disk),
		cmocka_unit_test(a_full_disk_and_a_missing_folder_are_told_with_the_folder),
		cmocka_unit_test(nothing_goes_on_after_a_stop),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
