/* test_an_ledger.c - the ledger file: appended, verified, and what damage does to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "an_ledger.h"

#define RECORDS 4u

static char dir[64], path[80];
static int sync_fails;
static unsigned syncs;

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	syncs++;
	if (sync_fails) {
		errno = EIO;
		return -1;
	}
	return __real_fdatasync(fd);
}

static int make_dir(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof dir, "/tmp/tombola-ledger-XXXXXX");
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/ledger", dir);
	sync_fails = 0;
	return 0;
}

static int drop_dir(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(dir);
}

static struct rd_record open_record(void)
{
	struct rd_record r = { .kind = RD_OPEN, .time_ms = 1, .epsilon_limit = 1.0, .delta = 1e-6 };

	strcpy(r.population, "testers");
	strcpy(r.unit, "device");
	return r;
}

static struct rd_record refuse_record(uint32_t round)
{
	struct rd_record r = {
		.kind = RD_REFUSE, .time_ms = 2, .plan_round = round, .epsilon_round = 2, .epsilon_total = 3
	};

	r.round_id[0] = (uint8_t)round;
	strcpy(r.reason, "too much");
	strcpy(r.query, "q");
	return r;
}

static struct an_ledger *open_or_fail(bool write, size_t *torn)
{
	struct an_ledger *l = NULL;
	struct cm_err err = { 0 };

	if (an_ledger_open(path, write, &l, torn, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return l;
}

/* A ledger of RECORDS records; ends[i] is the file's length after i of them. */
static void write_ledger(size_t ends[RECORDS + 1])
{
	struct cm_err err = { 0 };
	struct stat st;
	size_t torn;
	struct an_ledger *l = open_or_fail(true, &torn);

	for (uint32_t i = 0; i <= RECORDS; i++) {
		struct rd_record r = i <= 1 ? open_record() : refuse_record(i);

		if (i > 0)
			assert_int_equal(an_ledger_append(l, &r, &err), CM_OK);
		assert_int_equal(stat(path, &st), 0);
		ends[i] = (size_t)st.st_size;
	}
	an_ledger_free(l);
}

static uint8_t *slurp(size_t *n)
{
	struct stat st;
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*n = (size_t)st.st_size;
	bytes = malloc(*n + 64);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *n, f), *n);
	assert_int_equal(fclose(f), 0);
	return bytes;
}

/* Overwrite in place: emptying the file first would wait for the disk, 6,000 times over. */
static void spill(const uint8_t *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, 0), n);
	assert_int_equal(ftruncate(fd, (off_t)n), 0);
	assert_int_equal(close(fd), 0);
}

static void a_new_ledger_is_empty_and_reading_makes_no_file(void **state)
{
	size_t torn = 9;
	struct an_ledger *l = open_or_fail(false, &torn);

	(void)state;
	assert_int_equal(an_ledger_chain(l)->seq, 0);
	assert_int_equal(torn, 0);
	assert_int_not_equal(access(path, F_OK), 0);
	an_ledger_free(l);
	an_ledger_free(NULL);
}

static void records_come_back_as_they_were_appended(void **state)
{
	size_t ends[RECORDS + 1], torn;
	struct rd_record r;
	struct rd_chain again = { 0 };
	struct cm_err err = { 0 };
	struct an_ledger *l;

	(void)state;
	write_ledger(ends);
	l = open_or_fail(false, &torn);
	assert_int_equal(an_ledger_chain(l)->seq, RECORDS);
	for (uint64_t seq = 1; seq <= RECORDS; seq++) {
		struct an_entry e = an_ledger_entry(l, seq);

		assert_int_equal(e.offset, ends[seq - 1]);
		assert_int_equal(rd_chain_extend(&again, e.bytes, e.len, &r, &err), CM_OK);
		assert_memory_equal(again.head, e.head, PR_HASH_LEN);
		assert_int_equal(r.seq, seq);
		assert_int_equal(r.kind, seq == 1 ? RD_OPEN : RD_REFUSE);
		rd_record_fini(&r);
	}
	an_ledger_free(l);
}

/* head_i = SHA-256(head_{i-1} || bytes_i), head_0 = 0: doc/wire.md, computed here with the hash alone. */
static void the_head_is_the_hash_chain_of_the_records(void **state)
{
	size_t ends[RECORDS + 1], torn;
	uint8_t head[PR_HASH_LEN] = { 0 };
	struct an_ledger *l;

	(void)state;
	write_ledger(ends);
	l = open_or_fail(false, &torn);
	for (uint64_t seq = 1; seq <= RECORDS; seq++) {
		struct an_entry e = an_ledger_entry(l, seq);

		cr_sha256_spans(
			(const struct cr_span[]){ { head, PR_HASH_LEN }, { e.bytes, e.len } }, 2, head);
	}
	assert_memory_equal(an_ledger_chain(l)->head, head, PR_HASH_LEN);
	an_ledger_free(l);
}

static void every_flipped_bit_refuses_the_ledger(void **state)
{
	size_t ends[RECORDS + 1], n, torn;
	uint8_t *bytes;
	struct an_ledger *l;
	struct cm_err err;

	(void)state;
	write_ledger(ends);
	bytes = slurp(&n);
	for (size_t bit = 0; bit < 8 * n; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		spill(bytes, n);
		if (an_ledger_open(path, false, &l, &torn, &err) != CM_EDATA)
			fail_msg("bit %zu of byte %zu went unnoticed", bit % 8, bit / 8);
		if (strncmp(err.msg, path, strlen(path)) != 0 || !strstr(err.msg, "record ") ||
			!strstr(err.msg, "byte "))
			fail_msg("'%s' does not name file, record and byte", err.msg);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	free(bytes);
}

static void every_truncation_drops_the_torn_record_and_no_other(void **state)
{
	size_t ends[RECORDS + 1], n, torn;
	uint8_t *bytes;
	struct an_ledger *l;
	struct cm_err err;

	(void)state;
	write_ledger(ends);
	bytes = slurp(&n);
	for (size_t cut = 0; cut < n; cut++) {
		size_t whole = 0;

		spill(bytes, cut);
		if (cut < AN_LEDGER_MAGIC_LEN) {
			assert_int_equal(an_ledger_open(path, false, &l, &torn, &err), CM_EDATA);
			continue;
		}
		while (whole < RECORDS && ends[whole + 1] <= cut)
			whole++;
		l = open_or_fail(false, &torn);
		assert_int_equal(an_ledger_chain(l)->seq, whole);
		assert_int_equal(torn, cut - ends[whole]);
		an_ledger_free(l);
	}
	free(bytes);
}

static void a_torn_record_with_a_flipped_header_is_damage(void **state)
{
	size_t ends[RECORDS + 1], n, torn;
	uint8_t *bytes;
	struct an_ledger *l;
	struct cm_err err;

	(void)state;
	write_ledger(ends);
	bytes = slurp(&n);
	n -= 5; /* the last record's own tail is missing */
	for (size_t bit = 8 * ends[RECORDS - 1]; bit < 8 * (ends[RECORDS - 1] + AN_LEDGER_HEADER_LEN);
		bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		spill(bytes, n);
		assert_int_equal(an_ledger_open(path, false, &l, &torn, &err), CM_EDATA);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	free(bytes);
}

static void a_tail_of_zeros_is_dropped_but_not_one_with_anything_in_it(void **state)
{
	size_t ends[RECORDS + 1], n, torn;
	uint8_t *bytes;
	struct an_ledger *l;
	struct cm_err err;

	(void)state;
	write_ledger(ends);
	bytes = slurp(&n);
	memset(bytes + n, 0, 64);
	for (size_t zeros = 1; zeros <= 64; zeros++) {
		spill(bytes, n + zeros);
		l = open_or_fail(false, &torn);
		assert_int_equal(an_ledger_chain(l)->seq, RECORDS);
		assert_int_equal(torn, zeros);
		an_ledger_free(l);
	}
	bytes[n + 40] = 1;
	spill(bytes, n + 64);
	assert_int_equal(an_ledger_open(path, false, &l, &torn, &err), CM_EDATA);
	/* Zeros in place of the last whole record's body are not a tail: its header is there. */
	memset(bytes + ends[RECORDS - 1] + AN_LEDGER_HEADER_LEN, 0,
		n - ends[RECORDS - 1] - AN_LEDGER_HEADER_LEN);
	spill(bytes, n);
	assert_int_equal(an_ledger_open(path, false, &l, &torn, &err), CM_EDATA);
	free(bytes);
}

static void records_cannot_change_places_or_vanish_from_the_middle(void **state)
{
	size_t ends[RECORDS + 1], n, torn;
	uint8_t *bytes, *other;
	struct an_ledger *l;
	struct cm_err err;

	(void)state;
	write_ledger(ends);
	bytes = slurp(&n);
	other = malloc(n);
	assert_non_null(other);
	memcpy(other, bytes, ends[2]);
	memcpy(other + ends[2], bytes + ends[3], n - ends[3]);
	spill(other, n - (ends[3] - ends[2]));
	assert_int_equal(an_ledger_open(path, false, &l, &torn, &err), CM_EDATA);
	memcpy(other + ends[2], bytes + ends[3], ends[4] - ends[3]);
	memcpy(other + ends[2] + (ends[4] - ends[3]), bytes + ends[2], ends[3] - ends[2]);
	spill(other, n);
	assert_int_equal(an_ledger_open(path, false, &l, &torn, &err), CM_EDATA);
	free(other);
	free(bytes);
}

static void a_torn_tail_is_cut_and_the_ledger_goes_on(void **state)
{
	size_t ends[RECORDS + 1], n, torn;
	uint8_t *bytes;
	struct rd_record r = refuse_record(9);
	struct cm_err err = { 0 };
	struct stat st;
	struct an_ledger *l;

	(void)state;
	write_ledger(ends);
	bytes = slurp(&n);
	spill(bytes, n - 1);
	free(bytes);
	l = open_or_fail(true, &torn);
	assert_int_equal(torn, ends[RECORDS] - 1 - ends[RECORDS - 1]);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, ends[RECORDS - 1]);
	assert_int_equal(an_ledger_append(l, &r, &err), CM_OK);
	assert_int_equal(r.seq, RECORDS);
	an_ledger_free(l);
	l = open_or_fail(false, &torn);
	assert_int_equal(an_ledger_chain(l)->seq, RECORDS);
	assert_int_equal(torn, 0);
	an_ledger_free(l);
}

static void a_record_is_synced_before_it_counts_and_a_failed_sync_ends_the_ledger(void **state)
{
	size_t ends[RECORDS + 1], torn;
	struct rd_record r = refuse_record(9);
	struct cm_err err = { 0 };
	struct an_ledger *l;
	unsigned before;

	(void)state;
	write_ledger(ends);
	l = open_or_fail(true, &torn);
	before = syncs;
	assert_int_equal(an_ledger_append(l, &r, &err), CM_OK);
	assert_int_equal(syncs, before + 1);
	sync_fails = 1;
	assert_int_equal(an_ledger_append(l, &r, &err), CM_EIO);
	assert_int_equal(an_ledger_chain(l)->seq, RECORDS + 1);
	sync_fails = 0;
	before = syncs;
	assert_int_equal(an_ledger_append(l, &r, &err), CM_EIO);
	assert_int_equal(syncs, before); /* never retried */
	an_ledger_free(l);
}

/* A process killed between write and sync leaves a whole record: the next one acts on it, so syncs it. */
static void what_is_read_back_is_synced_before_it_is_acted_on(void **state)
{
	size_t ends[RECORDS + 1], torn;
	struct cm_err err = { 0 };
	struct an_ledger *l;
	unsigned before;

	(void)state;
	write_ledger(ends);
	before = syncs;
	an_ledger_free(open_or_fail(true, &torn));
	assert_int_equal(syncs, before + 1);
	sync_fails = 1;
	assert_int_equal(an_ledger_open(path, true, &l, &torn, &err), CM_EIO);
	an_ledger_free(open_or_fail(false, &torn)); /* reading promises nothing */
	assert_int_equal(syncs, before + 2);
}

static void a_reading_ledger_takes_no_records(void **state)
{
	size_t ends[RECORDS + 1], torn;
	struct rd_record r = refuse_record(9);
	struct cm_err err = { 0 };
	struct an_ledger *l;

	(void)state;
	write_ledger(ends);
	l = open_or_fail(false, &torn);
	assert_int_equal(an_ledger_append(l, &r, &err), CM_EIO);
	an_ledger_free(l);
}

static void only_points_of_the_chain_are_prefixes(void **state)
{
	size_t ends[RECORDS + 1], torn;
	struct rd_chain point = { 0 };
	struct an_ledger *l;

	(void)state;
	write_ledger(ends);
	l = open_or_fail(false, &torn);
	assert_true(an_ledger_is_prefix(l, &point));
	point.head[3] = 1;
	assert_false(an_ledger_is_prefix(l, &point));
	for (uint64_t seq = 1; seq <= RECORDS; seq++) {
		point.seq = seq;
		memcpy(point.head, an_ledger_entry(l, seq).head, PR_HASH_LEN);
		assert_true(an_ledger_is_prefix(l, &point));
		point.head[31] ^= 1;
		assert_false(an_ledger_is_prefix(l, &point));
	}
	point.seq = RECORDS + 1;
	assert_false(an_ledger_is_prefix(l, &point));
	an_ledger_free(l);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_ledger_is_empty_and_reading_makes_no_file),
		TEST(records_come_back_as_they_were_appended),
		TEST(the_head_is_the_hash_chain_of_the_records),
		TEST(every_flipped_bit_refuses_the_ledger),
		TEST(every_truncation_drops_the_torn_record_and_no_other),
		TEST(a_torn_record_with_a_flipped_header_is_damage),
		TEST(a_tail_of_zeros_is_dropped_but_not_one_with_anything_in_it),
		TEST(records_cannot_change_places_or_vanish_from_the_middle),
		TEST(a_torn_tail_is_cut_and_the_ledger_goes_on),
		TEST(a_record_is_synced_before_it_counts_and_a_failed_sync_ends_the_ledger),
		TEST(what_is_read_back_is_synced_before_it_is_acted_on),
		TEST(a_reading_ledger_takes_no_records),
		TEST(only_points_of_the_chain_are_prefixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
