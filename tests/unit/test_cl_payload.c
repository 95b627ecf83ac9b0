/* test_cl_payload.c - the payload of a round at a client: fetched in parts, believed by its hash alone, kept
 * until the round is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cl_payload.h"

enum { SIZE = 2 * PR_PAYLOAD_PART + 77 };
static char dir[] = "/tmp/test_cl_payload.XXXXXX";
static uint8_t bytes[SIZE];
static struct rd_descriptor d;
static struct cl_payload p;
static struct cm_err err;

static int set_up(void **state)
{
	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 997);
	d = (struct rd_descriptor){ .sequence = 1, .payload_size = SIZE, .payload_max = SIZE };
	memset(d.round_id, 5, sizeof d.round_id);
	cr_sha256(bytes, SIZE, d.payload_hash);
	cl_payload_init(&p, mkdtemp(dir));
	return p.state_dir ? 0 : -1;
}

static int tear_down(void **state)
{
	char path[128];
	enum cm_rc rc = cl_payload_forget(&p, &err);

	(void)state;
	cl_payload_fini(&p);
	(void)snprintf(path, sizeof path, "%s/payloads", dir);
	(void)rmdir(path);
	return rc == CM_OK ? rmdir(dir) : -1;
}
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static size_t files(void)
{
	char path[128];
	struct dirent *e;
	size_t n = 0;

	(void)snprintf(path, sizeof path, "%s/payloads", dir);
	DIR *at = opendir(path);
	while (at && (e = readdir(at)))
		n += e->d_name[0] != '.';
	if (at)
		(void)closedir(at);
	return n;
}

/* The answer to the request for the next part. */
static enum cm_rc give(const uint8_t *from, size_t n, int64_t shift)
{
	Tombola__V1__Payload part = TOMBOLA__V1__PAYLOAD__INIT;
	Tombola__V1__GetPayload asked;

	cl_payload_ask(&p, &asked);
	part.round_id = (ProtobufCBinaryData){ sizeof d.round_id, d.round_id };
	part.offset = asked.offset + (uint64_t)shift;
	part.data = (ProtobufCBinaryData){ n > 0 ? n : asked.length,
		(uint8_t *)(uintptr_t)(from + asked.offset) };
	return cl_payload_take(&p, &part, &err);
}

static void fetch(const uint8_t *from)
{
	enum cm_rc rc;

	do
		rc = give(from, 0, 0);
	while (rc == CM_EMORE);
	assert_int_equal(rc, CM_OK);
}

static void a_payload_comes_in_parts_and_is_whole(void **state)
{
	Tombola__V1__GetPayload asked;

	(void)state;
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	assert_int_equal(p.state, CL_PAYLOAD_WANTED);
	assert_false(cl_payload_settled(&p, &d));
	assert_int_equal(give(bytes, 0, 0), CM_EMORE);
	assert_int_equal(give(bytes, 0, 0), CM_EMORE);
	cl_payload_ask(&p, &asked);
	assert_int_equal(asked.offset, 2 * PR_PAYLOAD_PART);
	assert_int_equal(asked.length, 77);
	assert_int_equal(give(bytes, 0, 0), CM_OK);
	assert_int_equal(p.state, CL_PAYLOAD_HERE);
	assert_true(cl_payload_settled(&p, &d));
	assert_memory_equal(p.bytes.data, bytes, SIZE);
	/* A restart finds the payload, and the end of the round erases it. */
	cl_payload_fini(&p);
	cl_payload_init(&p, dir);
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	assert_int_equal(p.state, CL_PAYLOAD_HERE);
	assert_int_equal(files(), 1);
	assert_int_equal(cl_payload_forget(&p, &err), CM_OK);
	assert_int_equal(files(), 0);
	assert_int_equal(p.bytes.len, 0);
}

static void wrong_bytes_are_none(void **state)
{
	(void)state;
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	bytes[SIZE - 1] ^= 1;
	fetch(bytes);
	assert_int_equal(p.state, CL_PAYLOAD_ABSENT);
	assert_true(cl_payload_settled(&p, &d));
	assert_int_equal(p.bytes.len, 0);
	assert_int_equal(files(), 0);
	/* The payload's bytes are not requested again in this round. */
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	assert_int_equal(p.state, CL_PAYLOAD_ABSENT);
}

static void only_the_part_that_was_asked_for_is_taken(void **state)
{
	(void)state;
	assert_int_equal(give(bytes, 1, 0), CM_EPROTO); /* nothing was */
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	assert_int_equal(give(bytes, PR_PAYLOAD_PART - 1, 0), CM_EPROTO);
	assert_int_equal(give(bytes, PR_PAYLOAD_PART + 1, 0), CM_EPROTO);
	assert_int_equal(give(bytes, 0, 1), CM_EPROTO);
	d.round_id[0] ^= 1;
	assert_int_equal(give(bytes, 0, 0), CM_EPROTO);
	d.round_id[0] ^= 1;
	assert_int_equal(p.bytes.len, 0);
	fetch(bytes);
	assert_int_equal(p.state, CL_PAYLOAD_HERE);
	assert_int_equal(give(bytes, 1, 0), CM_EPROTO);
}

static void what_is_kept_is_checked_and_there_is_one_of_it(void **state)
{
	char path[256], hex[2 * PR_HASH_LEN + 1];
	FILE *f;

	(void)state;
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	fetch(bytes);
	cm_hex(d.payload_hash, PR_HASH_LEN, hex);
	(void)snprintf(path, sizeof path, "%s/payloads/%s", dir, hex);
	f = fopen(path, "r+b");
	assert_non_null(f);
	assert_int_equal(fputc(bytes[0] ^ 1, f), bytes[0] ^ 1);
	assert_int_equal(fclose(f), 0);
	cl_payload_fini(&p);
	cl_payload_init(&p, dir);
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	assert_int_equal(p.state, CL_PAYLOAD_WANTED);
	assert_int_equal(p.bytes.len, 0);
	fetch(bytes);
	/* Another round has another payload: the first is gone. */
	d.round_id[1] ^= 1;
	bytes[3] ^= 1;
	cr_sha256(bytes, SIZE, d.payload_hash);
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	assert_int_equal(files(), 0);
	fetch(bytes);
	assert_int_equal(files(), 1);
	/* Another round has the same payload: it is here already. */
	d.round_id[1] ^= 2;
	assert_false(cl_payload_settled(&p, &d));
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	assert_int_equal(p.state, CL_PAYLOAD_HERE);
}

static void what_is_given_up_stays_so(void **state)
{
	(void)state;
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	assert_int_equal(give(bytes, 0, 0), CM_EMORE);
	cl_payload_give_up(&p, "late");
	assert_int_equal(p.state, CL_PAYLOAD_ABSENT);
	assert_string_equal(p.why, "late");
	assert_int_equal(give(bytes, 0, 0), CM_EPROTO);
	/* Bytes that have arrived are kept. */
	d.round_id[2] ^= 1;
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	fetch(bytes);
	cl_payload_give_up(&p, "late");
	assert_int_equal(p.state, CL_PAYLOAD_HERE);
}

/* Make writes fail as on a full disk, or no longer. */
static void fill_disk(bool full)
{
	static struct rlimit old;
	struct rlimit small;

	if (full)
		assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	if (full)
		small.rlim_cur = SIZE / 2;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
}

static void what_a_full_disk_does_not_keep_is_used_and_fetched_again(void **state)
{
	(void)state;
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	assert_int_equal(give(bytes, 0, 0), CM_EMORE);
	assert_int_equal(give(bytes, 0, 0), CM_EMORE);
	fill_disk(true);
	enum cm_rc rc = give(bytes, 0, 0);
	fill_disk(false);
	assert_int_equal(rc, CM_OK);
	assert_int_equal(p.state, CL_PAYLOAD_HERE);
	assert_memory_equal(p.bytes.data, bytes, SIZE);
	assert_int_equal(files(), 0);
	/* As the warning says. */
	cl_payload_fini(&p);
	cl_payload_init(&p, dir);
	assert_int_equal(cl_payload_begin(&p, &d, &err), CM_OK);
	assert_int_equal(p.state, CL_PAYLOAD_WANTED);
	fetch(bytes);
	assert_int_equal(files(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_payload_comes_in_parts_and_is_whole),
		TEST(wrong_bytes_are_none),
		TEST(only_the_part_that_was_asked_for_is_taken),
		TEST(what_is_kept_is_checked_and_there_is_one_of_it),
		TEST(what_is_given_up_stays_so),
		TEST(what_a_full_disk_does_not_keep_is_used_and_fetched_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
