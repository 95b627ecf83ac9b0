/* test_an_payload.c - the analyzer's copies of payloads: kept by hash, checked when read, erased with their
 * rounds; and which files may be the payload of a round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "an_payload.h"
#include "co_compute.h"

static char dir[] = "/tmp/test_an_payload.XXXXXX";
static struct cm_err err;
static const uint8_t bytes[] = "the weights of a model";
static const struct an_payload given = { bytes, sizeof bytes };

/* A plan of two rounds; each may be under way with a payload. */
static struct pl_round planned[2] = { { .number = 1, .label = "w#1", .payload_max = 100 },
	{ .number = 2, .label = "w#2", .payload_max = 100 } };
static struct pl_plan plan = { .round = planned, .rounds = 2 };
static struct an_round_state rounds[2] = { { .plan = &planned[0] }, { .plan = &planned[1] } };
static struct an_state all = { .plan = &plan, .round = rounds };

/* The map is a program, which takes any bytes. */
static void compute(struct pl_round *r)
{
	const struct co_parameters p = {
		.map = co_map_find("program"), .features = 2, .clip = 1, .seconds = 1
	};

	r->query = (struct qy_query){
		.kind = QY_VECTOR, .name = "w", .field = "w", .low = -1, .high = 1, .dimension = 3
	};
	strcpy(r->computing.map, "program");
	strcpy(r->computing.field[0], "x");
	strcpy(r->computing.field[1], "y");
	r->computing.fields = 2;
	memset(r->computing.program, 7, sizeof r->computing.program);
	if (co_parameters_write(&p, NULL, &r->computing, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static int make(void **state)
{
	(void)state;
	compute(&planned[0]);
	compute(&planned[1]);
	return mkdtemp(dir) ? 0 : -1;
}

static int drop(void **state)
{
	char path[128];

	(void)state;
	(void)snprintf(path, sizeof path, "%s/payloads", dir);
	return rmdir(path) + rmdir(dir);
}

static const char *path_of(const uint8_t hash[PR_HASH_LEN])
{
	static char path[256];
	char hex[2 * PR_HASH_LEN + 1];

	cm_hex(hash, PR_HASH_LEN, hex);
	(void)snprintf(path, sizeof path, "%s/payloads/%s", dir, hex);
	return path;
}

static bool is_there(const uint8_t hash[PR_HASH_LEN])
{
	struct stat st;

	return stat(path_of(hash), &st) == 0;
}

static void begin(struct an_round_state *r, enum an_stage stage)
{
	r->stage = stage;
	r->descriptor.payload_size = sizeof bytes;
	cr_sha256(bytes, sizeof bytes, r->descriptor.payload_hash);
}

static void a_payload_is_kept_read_and_erased(void **state)
{
	uint8_t hash[PR_HASH_LEN];
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, PR_PAYLOAD_MAX);
	begin(&rounds[0], AN_RESERVED);
	assert_int_equal(an_payload_load(dir, &rounds[0].descriptor, &b, &err), CM_ENOINPUT);
	assert_int_equal(an_payload_keep(dir, &given, hash, &err), CM_OK);
	assert_memory_equal(hash, rounds[0].descriptor.payload_hash, PR_HASH_LEN);
	assert_int_equal(an_payload_keep(dir, &given, hash, &err), CM_OK);
	assert_int_equal(an_payload_load(dir, &rounds[0].descriptor, &b, &err), CM_OK);
	assert_int_equal(b.len, sizeof bytes);
	assert_memory_equal(b.data, bytes, sizeof bytes);
	/* Another round under way still needs it. */
	begin(&rounds[1], AN_CHARGED);
	assert_int_equal(an_payload_erase(dir, &all, &rounds[0].descriptor, &err), CM_OK);
	assert_true(is_there(hash));
	assert_int_equal(an_payloads_sweep(dir, &all, &err), CM_OK);
	assert_true(is_there(hash));
	rounds[1].stage = AN_SETTLED;
	assert_int_equal(an_payload_erase(dir, &all, &rounds[0].descriptor, &err), CM_OK);
	assert_false(is_there(hash));
	assert_int_equal(an_payload_erase(dir, &all, &rounds[0].descriptor, &err), CM_OK);
	cm_buf_fini(&b);
}

static void what_a_crash_left_before_the_reservation_is_swept(void **state)
{
	uint8_t hash[PR_HASH_LEN];

	(void)state;
	rounds[0].stage = rounds[1].stage = AN_PLANNED;
	assert_int_equal(an_payload_keep(dir, &given, hash, &err), CM_OK);
	assert_int_equal(an_payloads_sweep(dir, &all, &err), CM_OK);
	assert_false(is_there(hash));
}

static void other_bytes_under_its_name_are_not_it(void **state)
{
	uint8_t hash[PR_HASH_LEN];
	struct cm_buf b;
	FILE *f;

	(void)state;
	begin(&rounds[0], AN_RESERVED);
	assert_int_equal(an_payload_keep(dir, &given, hash, &err), CM_OK);
	f = fopen(path_of(hash), "r+b");
	assert_non_null(f);
	assert_int_equal(fputc('T', f), 'T');
	assert_int_equal(fclose(f), 0);
	cm_buf_init(&b, PR_PAYLOAD_MAX);
	assert_int_equal(an_payload_load(dir, &rounds[0].descriptor, &b, &err), CM_EDATA);
	assert_int_equal(b.len, 0);
	cm_buf_fini(&b);
	assert_int_equal(unlink(path_of(hash)), 0);
}

static void only_a_file_of_its_size_may_be_the_payload_of_a_round(void **state)
{
	const struct an_payload none = { NULL, 0 }, empty = { bytes, 0 }, least = { bytes, 1 };
	static uint8_t many[101];
	const struct an_payload most = { many, 100 }, more = { many, 101 };
	struct pl_round plain = { .number = 3, .label = "p" };
	struct an_round_state without = { .plan = &plain };
	struct an_round_state *r = &rounds[0];

	(void)state;
	r->stage = AN_PLANNED;
	assert_int_equal(an_payload_check(r, &least, &err), CM_OK);
	assert_int_equal(an_payload_check(r, &most, &err), CM_OK);
	assert_int_equal(an_payload_check(r, &more, &err), CM_EDATA);
	assert_int_equal(an_payload_check(r, &empty, &err), CM_EDATA);
	assert_int_equal(an_payload_check(r, &none, &err), CM_EUSAGE);
	assert_int_equal(an_payload_check(&without, &none, &err), CM_OK);
	assert_int_equal(an_payload_check(&without, &least, &err), CM_EUSAGE);
	/* A round under way goes on with the same payload or without one, never with another. */
	begin(r, AN_RESERVED);
	assert_int_equal(an_payload_check(r, &none, &err), CM_OK);
	assert_int_equal(an_payload_check(r, &given, &err), CM_OK);
	assert_int_equal(an_payload_check(r, &most, &err), CM_EDATA);
	/* Another try may come with other bytes. */
	r->stage = AN_WAITING;
	assert_int_equal(an_payload_check(r, &most, &err), CM_OK);
	assert_int_equal(an_payload_check(r, &none, &err), CM_EUSAGE);
	r->stage = AN_SETTLED;
	assert_int_equal(an_payload_check(r, &none, &err), CM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_payload_is_kept_read_and_erased),
		cmocka_unit_test(what_a_crash_left_before_the_reservation_is_swept),
		cmocka_unit_test(other_bytes_under_its_name_are_not_it),
		cmocka_unit_test(only_a_file_of_its_size_may_be_the_payload_of_a_round),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
