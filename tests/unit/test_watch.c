/* test_watch.c - a change of a file is reported once, when it is over, however the file was replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "nt_watch.h"

#define LONG_MS   60000 /* no look but the first: what is found, the kernel's notice has found */
#define SHORT_MS  50
#define SETTLE_MS 100
#define QUIET_MS  (4 * SETTLE_MS)

struct world {
	uv_loop_t loop;
	uv_timer_t guard; /* ends a wait, and keeps the loop alive, which the watch does not */
	struct nt_watch *watch;
	char dir[64];
	int changes, wanted;
	bool late;
};

static const char *at(const struct world *w, const char *name)
{
	static char path[4][128];
	static int next;
	char *out = path[next++ % 4];

	(void)snprintf(out, sizeof path[0], "%s/%s", w->dir, name);
	return out;
}

static void put(const struct world *w, const char *name, const char *text)
{
	FILE *f = fopen(at(w, name), "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void on_change(void *user)
{
	struct world *w = user;

	if (++w->changes == w->wanted)
		uv_stop(&w->loop);
}

static void on_guard(uv_timer_t *t)
{
	struct world *w = t->data;

	w->late = true;
	uv_stop(&w->loop);
}

static void run(struct world *w, uint64_t ms)
{
	w->late = false;
	(void)uv_timer_start(&w->guard, on_guard, ms, 0);
	(void)uv_run(&w->loop, UV_RUN_DEFAULT);
	(void)uv_timer_stop(&w->guard);
}

/* The change comes, however busy the machine is, and no second one after it. */
static void expect_one_more(struct world *w)
{
	w->wanted = w->changes + 1;
	run(w, 60000);
	assert_false(w->late);
	run(w, QUIET_MS);
	assert_int_equal(w->changes, w->wanted);
}

static void expect_none(struct world *w)
{
	int before = w->changes;

	w->wanted = 0;
	run(w, QUIET_MS);
	assert_int_equal(w->changes, before);
}

static void world_init(struct world *w)
{
	memset(w, 0, sizeof *w);
	strcpy(w->dir, "/tmp/test_watch.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(uv_loop_init(&w->loop), 0);
	assert_int_equal(uv_timer_init(&w->loop, &w->guard), 0);
	w->guard.data = w;
}

static void watch(
	struct world *w, const char *name, const char *other, uint64_t poll_ms, struct timespec since)
{
	const char *const path[] = { at(w, name), NULL, other ? at(w, other) : NULL };
	const struct nt_watch_conf conf = { .path = path,
		.n = 3,
		.settle_ms = SETTLE_MS,
		.poll_ms = poll_ms,
		.since = since,
		.on_change = on_change,
		.user = w };
	struct cm_err err;

	assert_int_equal(nt_watch_new(&w->loop, &conf, &w->watch, &err), CM_OK);
}

/* Only what changes from now on. */
static const struct timespec from_now = { .tv_sec = INT64_C(1) << 40 };

static void world_fini(struct world *w)
{
	char command[128];

	nt_watch_close(w->watch);
	uv_close((uv_handle_t *)&w->guard, NULL);
	assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&w->loop), 0);
	(void)snprintf(command, sizeof command, "rm -rf %s", w->dir);
	assert_int_equal(system(command), 0);
}

static void replaced_by_rename_written_over_gone_and_back(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	put(&w, "a", "one");
	put(&w, "b", "one");
	watch(&w, "a", "b", LONG_MS, from_now);
	expect_none(&w);
	put(&w, "new", "two");
	assert_int_equal(rename(at(&w, "new"), at(&w, "a")), 0);
	expect_one_more(&w);
	put(&w, "b", "two");
	expect_one_more(&w);
	assert_int_equal(unlink(at(&w, "b")), 0);
	expect_one_more(&w);
	put(&w, "b", "three");
	expect_one_more(&w);
	put(&w, "another", "file of the same folder");
	expect_none(&w);
	world_fini(&w);
}

/* As Kubernetes mounts secrets: a -> ..data/a, ..data -> a folder, which is exchanged by rename. */
static void the_link_in_the_folder_is_exchanged(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(mkdir(at(&w, "..one"), 0700), 0);
	assert_int_equal(mkdir(at(&w, "..two"), 0700), 0);
	put(&w, "..one/a", "same");
	put(&w, "..two/a", "same");
	assert_int_equal(symlink("..one", at(&w, "..data")), 0);
	assert_int_equal(symlink("..data/a", at(&w, "a")), 0);
	watch(&w, "a", NULL, LONG_MS, from_now);
	assert_int_equal(symlink("..two", at(&w, "..new")), 0);
	assert_int_equal(rename(at(&w, "..new"), at(&w, "..data")), 0);
	expect_one_more(&w);
	world_fini(&w);
}

/* A link above the folder: no notice comes, and afterwards notices come of the new folder. */
static void the_link_above_the_folder_is_exchanged(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(mkdir(at(&w, "one"), 0700), 0);
	assert_int_equal(mkdir(at(&w, "two"), 0700), 0);
	put(&w, "one/a", "same");
	put(&w, "two/a", "same");
	assert_int_equal(symlink("one", at(&w, "now")), 0);
	watch(&w, "now/a", NULL, SHORT_MS, from_now);
	assert_int_equal(symlink("two", at(&w, "new")), 0);
	assert_int_equal(rename(at(&w, "new"), at(&w, "now")), 0);
	expect_one_more(&w);
	put(&w, "two/a", "another");
	expect_one_more(&w);
	put(&w, "one/a", "nobody looks here any more");
	expect_none(&w);
	world_fini(&w);
}

struct writer {
	struct world *w;
	int left;
};

static void on_write(uv_timer_t *t)
{
	struct writer *writer = t->data;
	char text[16];

	if (writer->left-- == 0) {
		(void)uv_timer_stop(t);
		uv_stop(&writer->w->loop);
		return;
	}
	(void)snprintf(text, sizeof text, "%d", writer->left);
	put(writer->w, "a", text);
}

static void what_is_still_written_is_not_reported(void **state)
{
	struct writer writer;
	struct world w;
	uv_timer_t timer;

	(void)state;
	world_init(&w);
	put(&w, "a", "one");
	watch(&w, "a", NULL, LONG_MS, from_now);
	writer = (struct writer){ &w, 20 };
	assert_int_equal(uv_timer_init(&w.loop, &timer), 0);
	timer.data = &writer;
	(void)uv_timer_start(&timer, on_write, SETTLE_MS / 5, SETTLE_MS / 5);
	run(&w, 60000);
	assert_false(w.late);
	assert_int_equal(w.changes, 0);
	expect_one_more(&w);
	uv_close((uv_handle_t *)&timer, NULL);
	world_fini(&w);
}

static void what_changed_before_the_watch_is_reported(void **state)
{
	struct timespec since;
	struct world w;

	(void)state;
	world_init(&w);
	put(&w, "a", "one");
	assert_int_equal(clock_gettime(CLOCK_REALTIME_COARSE, &since), 0);
	since.tv_sec += 1;
	watch(&w, "a", NULL, LONG_MS, since);
	expect_none(&w);
	nt_watch_close(w.watch);
	since.tv_sec -= 3600;
	watch(&w, "a", NULL, LONG_MS, since);
	expect_one_more(&w);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaced_by_rename_written_over_gone_and_back),
		cmocka_unit_test(the_link_in_the_folder_is_exchanged),
		cmocka_unit_test(the_link_above_the_folder_is_exchanged),
		cmocka_unit_test(what_is_still_written_is_not_reported),
		cmocka_unit_test(what_changed_before_the_watch_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
