/* test_sh_parts.c - a round's messages and tags in partitions in two databases: one order of what they have,
 * epochs and the end of the data in both, and what is damaged, older or left over in one of them. */
#include "sh_steps.h"

#include <stdlib.h>
#include <string.h>

#include "sh_pg_parts.h"
#include "sh_postgresql.h"

static const uint8_t round_id[PR_ROUND_ID_LEN] = { 0xab };
#define HEX "ab000000000000000000000000000000"

static char other[sizeof play.database]; /* the string of the second database */
static struct sh_store head;
static void *data; /* of the round, at the head */

static void sql_of_other(const char *sql)
{
	static struct sh_play second;

	memcpy(second.database, other, sizeof other);
	sh_play_sql(&second, sql);
}

static void open_head(bool create)
{
	static char *const further[] = { other };
	const struct sh_pg_conf conf = { .database = play.database, .further = further, .n_further = 1 };

	assert_int_equal(sh_postgresql_open(play.dir, &conf, &head, &play.err), CM_OK);
	if (head.data_open(head.ctx, round_id, create, &data, &play.err) != CM_OK)
		fail_msg("%s", play.err.msg);
}

static void close_head(void)
{
	head.data_close(data);
	head.close(head.ctx);
}

static int set_up(void **state)
{
	char sql[200];

	if (steps_set_up(state) != 0)
		return -1;
	sh_play_stop(&play);
	(void)snprintf(sql, sizeof sql, "CREATE DATABASE \"%s_b\"", strrchr(play.dir, '/') + 1);
	sh_play_sql(&play, sql);
	assert_true((size_t)snprintf(other, sizeof other, "%s_b", play.database) < sizeof other);
	open_head(true);
	return 0;
}

static int tear_down(void **state)
{
	char sql[200];

	close_head();
	(void)snprintf(sql, sizeof sql, "DROP DATABASE \"%s_b\" WITH (FORCE)", strrchr(play.dir, '/') + 1);
	sh_play_sql(&play, sql);
	sh_play_start(&play);
	return steps_tear_down(state);
}
#define PARTS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Store as an intake does whose reports go to the second database. */
static enum cm_rc join(uint64_t epoch, struct sh_pg_parts **out)
{
	struct sh_pg_servers s = { .n = 2, .own = 1 };

	s.at[0].conf.database = play.database;
	s.at[1] = (struct sh_pg_server){ .number = 1, .conf.database = other };
	return sh_pg_parts_open(&s, round_id, SH_PG_JOIN, epoch, out, &play.err);
}

/* ---- Blocks ---- */

struct source {
	const struct sh_block *block;
	size_t n;
};

static enum cm_rc next_block(void *user, struct sh_block *out, struct cm_err *err)
{
	struct source *s = user;

	(void)err;
	if (s->n == 0)
		return CM_EMORE;
	s->n--;
	*out = *s->block++;
	return CM_OK;
}

#define BLOCK(b, i)                                                                 \
	{                                                                           \
		.bucket = (b), .id = (i), .body = (const uint8_t *)"body", .len = 4 \
	}
static const struct sh_block tags = { .id = 1, .body = (const uint8_t *)"tags", .len = 4, .devices = 2 };

static enum cm_rc commit_joined(struct sh_pg_parts *p, const struct sh_block *block, size_t n)
{
	struct source s = { block, n };

	return sh_pg_parts_commit(p, NULL, next_block, &s, &tags, &play.err);
}

static void commit_head(const uint32_t *bucket, const struct sh_block *block, size_t n)
{
	struct source s = { block, n };

	assert_int_equal(bucket ? head.data_replace(data, *bucket, next_block, &s, &tags, &play.err)
				: head.data_commit(data, next_block, &s, &tags, &play.err),
		CM_OK);
}

static enum cm_rc take(void *user, const struct sh_block *block, struct cm_err *err)
{
	char *text = user;

	(void)err;
	(void)snprintf(text + strlen(text), 100 - strlen(text), "%u:%u ", block->bucket, (unsigned)block->id);
	return CM_OK;
}

/* Buckets 3 to 6, as the store shows them. */
static void shows(const char *want)
{
	char text[100] = "";

	if (head.data_buckets(data, 3, 4, take, text, &play.err) != CM_OK)
		fail_msg("%s", play.err.msg);
	assert_string_equal(text, want);
}

static enum cm_rc count(void *user, const struct sh_block *block, struct cm_err *err)
{
	(void)block;
	(void)err;
	++*(unsigned *)user;
	return CM_OK;
}

static struct sh_epoch epoch_of(bool close)
{
	struct sh_epoch e;

	if (head.data_epoch(data, close, &e, &play.err) != CM_OK)
		fail_msg("%s", play.err.msg);
	return e;
}

static void a_bucket_is_what_all_partitions_have_in_one_order(void **state)
{
	const struct sh_block mine[] = { BLOCK(3, 9), BLOCK(5, 8) }, theirs[] = { BLOCK(5, 6), BLOCK(3, 5) };
	const struct sh_block capped[] = { BLOCK(3, 7) };
	const uint32_t bucket = 3;
	struct sh_pg_parts *p;
	unsigned n = 0;

	(void)state;
	assert_int_equal(join(epoch_of(false).number, &p), CM_OK);
	assert_int_equal(commit_joined(p, theirs, 2), CM_OK);
	assert_int_equal(sh_pg_parts_tags(p, count, &n, &play.err), CM_OK);
	commit_head(NULL, mine, 2);
	assert_int_equal(sh_pg_parts_tags(p, count, &n, &play.err), CM_OK);
	assert_int_equal(n, 1 + 2); /* of both */
	sh_pg_parts_close(p);
	assert_int_equal(epoch_of(true).devices, 4);
	shows("3:9 5:8 3:5 5:6 ");
	/* Replacing a bucket replaces every partition's share of it, in one commit, for good. */
	commit_head(&bucket, capped, 1);
	shows("3:7 5:8 5:6 ");
	commit_head(&bucket, NULL, 0);
	close_head();
	open_head(false);
	shows("5:8 5:6 ");
}

static void a_block_in_two_partitions_is_damage(void **state)
{
	const struct sh_block mine[] = { BLOCK(3, 9), BLOCK(4, 9) };
	char text[100] = "";

	(void)state;
	commit_head(NULL, mine, 2);
	sql_of_other("INSERT INTO tombola.block_" HEX "_1 VALUES(4, 9, 'body')");
	assert_int_equal(head.data_buckets(data, 3, 4, take, text, &play.err), CM_EDATA);
	assert_non_null(strstr(play.err.msg, "in two partitions"));
}

/* ---- Epochs ---- */

static void an_epoch_ends_the_one_before_it_in_both(void **state)
{
	const struct sh_block theirs[] = { BLOCK(3, 5) };
	struct sh_pg_parts *p;

	(void)state;
	uint64_t first = epoch_of(false).number;
	assert_int_equal(join(first, &p), CM_OK);
	assert_int_equal(commit_joined(p, theirs, 1), CM_OK);
	struct sh_epoch second = epoch_of(false);
	assert_true(second.number > first);
	assert_int_equal(second.devices, 2);
	assert_int_equal(commit_joined(p, theirs, 1), CM_ELATER);
	sh_pg_parts_close(p);
	assert_int_equal(join(first, &p), CM_ELATER);
	/* One of the databases is not the one on which the head began the epoch. */
	sql_of_other("UPDATE tombola.data SET epoch = epoch - 1");
	assert_int_equal(join(second.number, &p), CM_EIO);
	assert_non_null(strstr(play.err.msg, "not the server that the head writes to"));
	/* The database of the state is a copy from before that. */
	sql_of_other("UPDATE tombola.data SET epoch = epoch + 1000");
	struct sh_epoch e;
	assert_int_equal(head.data_epoch(data, false, &e, &play.err), CM_EDATA);
	assert_non_null(strstr(play.err.msg, "an older copy"));
}

static void data_that_closed_in_one_close_in_both(void **state)
{
	const struct sh_block theirs[] = { BLOCK(3, 5) };
	struct sh_pg_parts *p;

	(void)state;
	assert_int_equal(join(epoch_of(false).number, &p), CM_OK);
	/* The head died between the two databases. */
	sh_play_sql(&play, "UPDATE tombola.data SET closed = 1 WHERE partition = 0");
	assert_int_equal(commit_joined(p, theirs, 1), CM_OK);
	struct sh_epoch e = epoch_of(false);
	assert_true(e.closed);
	assert_int_equal(commit_joined(p, theirs, 1), CM_ELATER);
	sh_pg_parts_close(p);
	unsigned n = 0;
	assert_int_equal(head.data_tags(data, count, &n, &play.err), CM_OK);
	assert_int_equal(n, 1); /* what was stored is there */
}

/* ---- What is left over, or missing ---- */

static enum cm_rc count_round(void *user, const uint8_t id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	(void)err;
	*(unsigned *)user += memcmp(id, round_id, PR_ROUND_ID_LEN) == 0;
	return CM_OK;
}

static unsigned rounds(void)
{
	unsigned n = 0;

	assert_int_equal(head.data_each(head.ctx, count_round, &n, &play.err), CM_OK);
	return n;
}

static void data_are_dropped_in_both_whichever_still_has_them(void **state)
{
	(void)state;
	head.data_close(data);
	data = NULL;
	assert_int_equal(rounds(), 2);
	/* A crash came before the partition was noted. */
	sh_play_sql(&play,
		"DELETE FROM tombola.data; DROP TABLE tombola.block_" HEX "_0, tombola.tags_" HEX "_0");
	assert_int_equal(rounds(), 1);
	assert_int_equal(head.data_drop(head.ctx, round_id, &play.err), CM_OK);
	assert_int_equal(rounds(), 0);
	/* Their names are free. */
	sql_of_other("CREATE TABLE tombola.block_" HEX "_1(); CREATE TABLE tombola.tags_" HEX "_1()");
}

static void a_partition_that_is_gone_is_missed(void **state)
{
	(void)state;
	head.data_close(data);
	data = NULL;
	sql_of_other("DELETE FROM tombola.data; DROP TABLE tombola.block_" HEX "_1, tombola.tags_" HEX "_1");
	assert_int_equal(head.data_open(head.ctx, round_id, false, &data, &play.err), CM_ENOINPUT);
	assert_int_equal(head.data_drop(head.ctx, round_id, &play.err), CM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PARTS_TEST(a_bucket_is_what_all_partitions_have_in_one_order),
		PARTS_TEST(a_block_in_two_partitions_is_damage),
		PARTS_TEST(an_epoch_ends_the_one_before_it_in_both),
		PARTS_TEST(data_that_closed_in_one_close_in_both),
		PARTS_TEST(data_are_dropped_in_both_whichever_still_has_them),
		PARTS_TEST(a_partition_that_is_gone_is_missed),
	};

	if (getenv("TOMBOLA_TEST_DATABASE"))
		return cmocka_run_group_tests(tests, NULL, NULL);
	print_message("skipped, all of it: TOMBOLA_TEST_DATABASE is not set (tests/postgresql.sh sets it)\n");
	return 0;
}
