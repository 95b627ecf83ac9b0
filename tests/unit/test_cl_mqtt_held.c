/* test_cl_mqtt_held.c - readings that came by MQTT and are held: which of them count in a round. */
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

#include "cl_device.h"
#include "cl_mqtt_input.h"
#include "cl_mqtt_saved.h"
#include "mqtt_held.h"

static struct cl_held *held;

static const struct cr_key any;

static void list(const char *names)
{
	struct cl_devices *d = devices(names, &any);

	assert_int_equal(cl_held_list(held, d, &err), CM_OK);
	cl_devices_free(d);
}

/* Hold readings of the devices a, b and c, with so many bytes for each. */
static void hold_at_most(uint64_t readings, uint64_t bytes)
{
	const struct cl_held_limits limits = { readings, bytes, MAX_AGE, false };

	held = cl_held_new(&limits);
	assert_non_null(held);
	list("a\nb\nc\n");
}

static int let_go(void **state)
{
	(void)state;
	cl_held_free(held);
	held = NULL;
	return 0;
}

static enum cl_held_said add(const char *device, const char *line, int64_t now)
{
	uint8_t pseudonym[PR_PSEUDONYM_LEN];

	cl_device_pseudonym(&any, "test", device, pseudonym);
	return cl_held_add(held, pseudonym,
		&(struct cl_held_item){ device, (const uint8_t *)line, strlen(line), 0 }, now);
}

/* "device=line " of all that count, in order of device. */
static const char *taken(struct cl_held_view *v)
{
	static char text[4096];
	size_t n = 0;

	assert_non_null(v);
	text[0] = '\0';
	for (size_t i = 0; i < cl_held_view_n(v); i++) {
		struct cl_held_item item = cl_held_view_at(v, i);

		n += (size_t)snprintf(text + n, sizeof text - n, "%s=%.*s ", item.device, (int)item.len,
			(const char *)item.line);
	}
	cl_held_release(held, v);
	return text;
}

static const char *take(const char *query, uint64_t sequence, int64_t now)
{
	return taken(cl_held_take(held, query, &(struct cl_held_round){ .sequence = sequence }, now));
}

/* A round, given by the first byte of its plan's hash and its entry. */
static const char *take_entry(const char *query, uint8_t plan, uint32_t entry)
{
	return taken(
		cl_held_take(held, query, &(struct cl_held_round){ .plan = { plan }, .entry = entry }, 0));
}

static void tries_of_an_entry_take_the_same_and_recurrences_do_not(void **state)
{
	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_string_equal(take_entry("q", 1, 1), "a=1 ");
	/* The round was void: its next try may have the same readings, and newer ones. */
	assert_int_equal(add("a", "2", 0), CL_HELD_OK);
	assert_string_equal(take_entry("q", 1, 1), "a=1 a=2 ");
	/* The next recurrence is another round, and so is the entry with the same number of another plan. */
	assert_string_equal(take_entry("q", 1, 2), "");
	assert_int_equal(add("a", "3", 0), CL_HELD_OK);
	assert_string_equal(take_entry("q", 1, 2), "a=3 ");
	assert_string_equal(take_entry("q", 2, 2), "");
	assert_string_equal(take_entry("other", 2, 2), "a=1 a=2 a=3 ");
}

static void a_reading_counts_in_one_round_of_a_query_and_in_those_of_others(void **state)
{
	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_int_equal(add("b", "2", 1), CL_HELD_OK);
	assert_string_equal(take("q", 1, 1), "a=1 b=2 ");
	assert_string_equal(take("q", 2, 1), "");
	assert_string_equal(take("other", 3, 1), "a=1 b=2 ");
	assert_int_equal(add("a", "3", 2), CL_HELD_OK);
	assert_string_equal(take("q", 4, 2), "a=3 ");
}

static void the_same_round_may_ask_again(void **state)
{
	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_string_equal(take("q", 7, 0), "a=1 ");
	assert_int_equal(add("a", "2", 0), CL_HELD_OK);
	assert_string_equal(take("q", 7, 0), "a=1 a=2 ");
	assert_string_equal(take("q", 8, 0), "");
}

static void a_reading_counts_for_max_age(void **state)
{
	struct cl_held_counts counts;

	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_int_equal(add("b", "2", 5), CL_HELD_OK);
	assert_string_equal(take("q", 1, MAX_AGE), "a=1 b=2 ");
	assert_string_equal(take("r", 1, MAX_AGE + 1), "b=2 ");
	cl_held_expire(held, MAX_AGE + 1);
	cl_held_counts(held, &counts);
	assert_int_equal(counts.devices, 1);
	assert_int_equal(counts.readings, 1);
	assert_int_equal(counts.expired, 1);
	cl_held_expire(held, MAX_AGE + 6);
	cl_held_counts(held, &counts);
	assert_int_equal(counts.devices + counts.readings + counts.bytes, 0);
	assert_int_equal(add("b", "3", MAX_AGE + 7), CL_HELD_OK);
	assert_string_equal(take("t", 1, MAX_AGE + 7), "b=3 ");
}

static void of_one_device_the_newest_are_kept(void **state)
{
	struct cl_held_counts counts;

	(void)state;
	hold_at_most(3, 1 << 20);
	for (char line[2] = "1"; line[0] <= '8'; line[0]++)
		assert_int_equal(add("a", line, 0), CL_HELD_OK);
	assert_string_equal(take("q", 1, 0), "a=6 a=7 a=8 ");
	cl_held_counts(held, &counts);
	assert_int_equal(counts.readings, 3);
	assert_int_equal(counts.replaced, 5);
}

static void what_one_device_says_takes_nothing_from_the_others(void **state)
{
	static char large[900];
	struct cl_held_counts counts;

	(void)state;
	memset(large, 'x', sizeof large - 1);
	hold_at_most(4, 1000);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	/* Many large and small readings, and some that are too large for any device. */
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(add("b", large, 1), CL_HELD_OK);
		assert_int_equal(add("b", "2", 1), CL_HELD_OK);
		cl_held_counts(held, &counts);
		assert_in_range(counts.bytes, 0, 2 * 1000);
	}
	/* The second large reading of b replaced the first, and those that came between. */
	assert_int_equal(strncmp(take("q", 1, 1), "a=1 b=xxxx", 10), 0);
	assert_string_equal(take("q", 1, 1) + 4 + 2 + 899, " b=2 ");
	assert_int_equal(counts.replaced, 1998);
	assert_int_equal(add("d", "3", 1), CL_HELD_UNLISTED);
	assert_int_equal(add("", "3", 1), CL_HELD_UNLISTED);
}

static void a_reading_above_a_devices_memory_changes_nothing(void **state)
{
	static char large[1000];

	(void)state;
	memset(large, 'x', sizeof large - 1);
	hold_at_most(4, 1000);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_int_equal(add("a", large, 0), CL_HELD_MEMORY);
	assert_string_equal(take("q", 1, 0), "a=1 ");
}

static void another_list_keeps_what_its_devices_have(void **state)
{
	struct cl_held_counts counts;

	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_int_equal(add("b", "2", 0), CL_HELD_OK);
	list("d\nb\n");
	assert_string_equal(take("q", 1, 0), "b=2 ");
	cl_held_counts(held, &counts);
	assert_int_equal(counts.readings, 1);
	assert_int_equal(add("a", "3", 0), CL_HELD_UNLISTED);
	assert_int_equal(add("d", "4", 0), CL_HELD_OK);
	assert_string_equal(take("r", 1, 0), "d=4 b=2 ");
}

static void a_view_stays_readable_while_its_readings_leave(void **state)
{
	struct cl_held_counts counts;
	struct cl_held_view *v;

	(void)state;
	hold_at_most(1, 1 << 20);
	assert_int_equal(add("a", "old", 0), CL_HELD_OK);
	v = cl_held_take(held, "q", &(struct cl_held_round){ .sequence = 1 }, 0);
	assert_non_null(v);
	assert_int_equal(add("a", "new", 1), CL_HELD_OK);
	cl_held_expire(held, MAX_AGE + 2);
	assert_memory_equal(cl_held_view_at(v, 0).line, "old", 3);
	cl_held_counts(held, &counts);
	assert_int_equal(counts.readings, 1);
	cl_held_release(held, v);
	cl_held_counts(held, &counts);
	assert_int_equal(counts.readings + counts.bytes, 0);
}

static void more_queries_than_are_remembered_lose_readings_but_never_count_them_twice(void **state)
{
	char query[16];

	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	for (uint64_t i = 1; i <= 65; i++) {
		(void)snprintf(query, sizeof query, "q%u", (unsigned)i);
		assert_string_equal(take(query, i, 0), "a=1 ");
	}
	/* The mark of q1 was dropped; readings that it took must not be taken again. */
	assert_string_equal(take("q1", 66, 0), "");
	assert_int_equal(add("a", "2", 0), CL_HELD_OK);
	assert_string_equal(take("q1", 67, 0), "a=2 ");
}

static void many_devices_come_and_go(void **state)
{
	struct cl_held_counts counts;
	char name[16];
	const struct cl_held_limits limits = { 2, 1 << 20, MAX_AGE, false };
	char *names = calloc(6000, 8);
	size_t used = 0;

	(void)state;
	assert_non_null(names);
	for (int i = 0; i < 5500; i++)
		used += (size_t)snprintf(names + used, 8, "%d\n", i);
	held = cl_held_new(&limits);
	assert_non_null(held);
	list(names);
	free(names);
	for (int64_t now = 0; now < 10 * MAX_AGE; now += MAX_AGE / 4) {
		for (int i = 0; i < 500; i++) {
			(void)snprintf(name, sizeof name, "%d", (int)(now / 2) + i);
			assert_int_equal(add(name, "{}", now), CL_HELD_OK);
		}
		cl_held_expire(held, now);
	}
	cl_held_counts(held, &counts);
	assert_in_range(counts.devices, 500, 1500);
	cl_held_expire(held, 20 * MAX_AGE);
	cl_held_counts(held, &counts);
	assert_int_equal(counts.bytes, 0);
}

/* ---- all of it ---- */

/* ---- hold ---- */

static void hold_last(uint64_t fields, uint64_t bytes)
{
	const struct cl_held_limits limits = { fields, bytes, MAX_AGE, true };

	held = cl_held_new(&limits);
	assert_non_null(held);
	list("a\nb\nc\n");
}

/* A field, of a name of one letter. */
static enum cl_held_said put(const char *device, const char *field, int64_t now)
{
	uint8_t pseudonym[PR_PSEUDONYM_LEN];

	cl_device_pseudonym(&any, "test", device, pseudonym);
	return cl_held_add(held, pseudonym,
		&(struct cl_held_item){ device, (const uint8_t *)field, strlen(field), 1 }, now);
}

static void the_last_value_of_each_field_stands_in_every_round(void **state)
{
	(void)state;
	hold_last(4, 1000);
	assert_int_equal(put("a", "t:1", 0), CL_HELD_OK);
	assert_int_equal(put("a", "d:0", 0), CL_HELD_OK);
	assert_int_equal(put("b", "t:5", 1), CL_HELD_OK);
	assert_string_equal(take("q", 1, 1), "a=t:1 a=d:0 b=t:5 ");
	assert_string_equal(take("q", 2, 1), "a=t:1 a=d:0 b=t:5 ");
	assert_int_equal(put("a", "t:2", 2), CL_HELD_OK);
	assert_string_equal(take("q", 3, 2), "a=d:0 a=t:2 b=t:5 ");
	/* Each has an age of its own. */
	assert_string_equal(take("q", 4, MAX_AGE + 1), "a=t:2 b=t:5 ");
	cl_held_expire(held, MAX_AGE + 1);
	assert_string_equal(take("q", 5, 1), "a=t:2 b=t:5 ");
	/* More fields than one device may have: the oldest goes, of this device alone. */
	for (const char *f = "v\0w\0x\0y\0"; *f != '\0'; f += 2)
		assert_int_equal(put("a", f, 3), CL_HELD_OK);
	assert_string_equal(take("q", 6, 3), "a=v a=w a=x a=y b=t:5 ");
}

static void hold_anew(void)
{
	cl_held_free(held);
	hold_last(4, 64);
}

/* What is stored of the devices, and restored into a table with another list. */
static void what_is_stored_is_restored_with_its_ages_and_shows_nothing_by_its_length(void **state)
{
	uint8_t slot[3][1024];
	char name[CL_DEVICE_MAX + 2];
	size_t size;

	(void)state;
	hold_last(4, 64);
	size = cl_held_slot(held);
	assert_in_range(size, 64 + PR_PSEUDONYM_LEN, sizeof slot[0]);
	assert_int_equal(cl_held_devices(held), 3);
	assert_int_equal(put("a", "t:1", 100), CL_HELD_OK);
	assert_int_equal(put("a", "d:0", 600), CL_HELD_OK);
	assert_int_equal(put("b", "t:5", 100), CL_HELD_OK);
	/* All that fits in memory fits there. */
	for (const char *f = "v2345\0w2345\0x2345\0y2345\0"; *f != '\0'; f += 6)
		assert_int_equal(put("c", f, 700), CL_HELD_OK);
	for (size_t i = 0; i < 3; i++)
		cl_held_store(held, i, 700, 1000000, slot[i]);
	cl_held_free(held);
	hold_last(4, 64);
	list("a\nc\n");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(cl_held_restore(held, slot[i], size, 5000, 1000000 + 500, &err), CM_OK);
	/* t:1 was 600 old, and 500 have passed. */
	assert_string_equal(take("q", 1, 5000), "a=d:0 c=w2345 c=x2345 c=y2345 ");
	assert_string_equal(take("q", 1, 5000 + MAX_AGE - 600), "a=d:0 c=w2345 c=x2345 c=y2345 ");
	assert_string_equal(take("q", 1, 5000 + MAX_AGE - 599), "c=w2345 c=x2345 c=y2345 ");
	/* A clock that was set back makes nothing younger: t:1 was 600 old when it was written. */
	assert_int_equal(cl_held_restore(held, slot[0], size, 9000, 0, &err), CM_OK);
	assert_string_equal(take("q", 1, 9000 + MAX_AGE - 600), "a=t:1 a=d:0 ");
	assert_string_equal(take("q", 1, 9000 + MAX_AGE - 599), "a=d:0 ");
	assert_string_equal(take("q", 1, 9000 + MAX_AGE - 100), "a=d:0 ");
	assert_string_equal(take("q", 1, 9000 + MAX_AGE - 99), "");
	/* Nor does the greatest step of a clock, forward or back, do anything but age it. */
	hold_anew();
	assert_int_equal(cl_held_restore(held, slot[0], size, 9000, INT64_MIN, &err), CM_OK);
	assert_string_equal(take("q", 1, 9000), "a=t:1 a=d:0 ");
	hold_anew();
	assert_int_equal(cl_held_restore(held, slot[0], size, 9000, INT64_MAX, &err), CM_OK);
	assert_string_equal(take("q", 1, 9000), "");
	/* The longest name. */
	(void)snprintf(name, sizeof name, "%0*d", (int)CL_DEVICE_MAX, 7);
	list(name);
	assert_int_equal(put(name, "t:1", 0), CL_HELD_OK);
	cl_held_store(held, 0, 0, 0, slot[0]);
	list("a\n");
	list(name);
	assert_int_equal(cl_held_restore(held, slot[0], size, 0, 0, &err), CM_OK);
	assert_int_equal(cl_held_restore(held, slot[0], 20, 0, 0, &err), CM_EDATA);
	slot[0][size - 64 - 8 - 2] = 5; /* readings, of which there is one */
	assert_int_equal(cl_held_restore(held, slot[0], size, 0, 0, &err), CM_EDATA);
}

/* What is lost of the file in `dir`, without the path; "" if nothing is. */
static const char *load(const char *dir, const char *population)
{
	static struct cm_err lost;
	size_t path = strlen(dir) + strlen("/held: ");

	assert_int_equal(cl_mqtt_saved_load(dir, population, held, 200, 200, &lost, &err), CM_OK);
	return lost.code == CM_OK ? "" : lost.msg + path;
}

static enum cm_rc save(const char *dir, const struct cr_rng *rng)
{
	struct cl_mqtt_image *image = cl_mqtt_image_new(held, 200, 200);
	enum cm_rc rc;

	assert_non_null(image);
	rc = cl_mqtt_image_write(image, dir, "p", rng, &err);
	cl_mqtt_image_free(image);
	return rc;
}

static void put_bytes(const char *path, off_t at, const char *bytes)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, strlen(bytes), at), strlen(bytes));
	assert_int_equal(close(fd), 0);
}

static void a_damaged_device_costs_no_other_and_what_can_be_mended_loses_nothing(void **state)
{
	char dir[] = "/tmp/test-saved-XXXXXX", path[64], away[64], key[64];
	struct cm_err lost;
	struct cr_rng rng;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/held", dir);
	(void)snprintf(away, sizeof away, "%s/away", dir);
	(void)snprintf(key, sizeof key, "%s/held-0.key", dir);
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	hold_last(4, 64);
	assert_int_equal(put("a", "t:1", 100), CL_HELD_OK);
	assert_int_equal(put("c", "t:3", 100), CL_HELD_OK);
	assert_int_equal(save(dir, &rng), CM_OK);
	/* A file that cannot be read now is not written over, and keeps its key. */
	assert_int_equal(rename(path, away), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(save(dir, &rng), CM_EIO);
	assert_int_equal(cl_mqtt_saved_load(dir, "p", held, 200, 200, &lost, &err), CM_EDATA);
	assert_int_equal(rmdir(path), 0);
	/* Nor is one that another program wrote. */
	put_bytes(path, 0, "notes");
	assert_int_equal(save(dir, &rng), CM_EDATA);
	assert_int_equal(cl_mqtt_saved_load(dir, "p", held, 200, 200, &lost, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "held: not a file of held readings"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(away, path), 0);
	hold_anew();
	assert_string_equal(load(dir, "p"), "");
	assert_string_equal(take("q", 1, 200), "a=t:1 c=t:3 ");
	/* A damaged box in the middle. */
	hold_anew();
	assert_int_equal(stat(path, &st), 0);
	put_bytes(path, 17 + (st.st_size - 17) / 2, "spoilt");
	assert_string_equal(
		load(dir, "p"), "the values of 1 of 3 devices are damaged, or of another population or key");
	assert_string_equal(take("q", 1, 200), "a=t:1 c=t:3 ");
	put_bytes(path, 7, "1");
	assert_string_equal(load(dir, "p"), "another version of tombola-client wrote it");
	put_bytes(path, 7, "2\3");
	assert_string_equal(load(dir, "p"), "its beginning is damaged");
	put_bytes(path, 8, "\1");
	assert_string_equal(load(dir, "p"), "its key held-1.key is missing");
	assert_int_equal(truncate(path, 0), 0);
	assert_string_equal(load(dir, "p"), "the file is empty");
	assert_int_equal(save(dir, &rng), CM_OK);
	assert_string_equal(load(dir, "p"), "");
	/* A key that others may read is a fault that can be mended. */
	assert_int_equal(chmod(key, 0644), 0);
	assert_int_equal(cl_mqtt_saved_load(dir, "p", held, 200, 200, &lost, &err), CM_EPERM);
	assert_int_equal(chmod(key, 0600), 0);
	assert_string_equal(load(dir, "p"), "");
	assert_int_equal(cl_mqtt_saved_erase(dir, &err), CM_OK);
	assert_int_equal(rmdir(dir), 0);
}

static void a_file_of_last_values_has_one_length_and_opens_under_its_own_key_alone(void **state)
{
	char dir[] = "/tmp/test-saved-XXXXXX", path[64], key[64];
	struct cl_mqtt_image *image;
	struct cr_rng rng;
	struct stat st;
	off_t length = 0;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/held", dir);
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	hold_last(4, 64);
	assert_string_equal(load(dir, "p"), "");
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			assert_int_equal(put("b", "t:5", 100), CL_HELD_OK);
		image = cl_mqtt_image_new(held, 100, 100);
		assert_non_null(image);
		assert_int_equal(cl_mqtt_image_write(image, dir, "p", &rng, &err), CM_OK);
		cl_mqtt_image_free(image);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_true(i == 0 || st.st_size == length);
		length = st.st_size;
		/* One key, each time the other. */
		for (int k = 0; k < 2; k++) {
			(void)snprintf(key, sizeof key, "%s/held-%d.key", dir, k);
			assert_int_equal(access(key, F_OK) == 0, k == i % 2);
		}
	}
	cl_held_free(held);
	hold_last(4, 64);
	assert_string_equal(load(dir, "other"),
		"the values of 3 of 3 devices are damaged, or of another population or key");
	assert_string_equal(load(dir, "p"), "");
	assert_string_equal(take("q", 1, 200), "b=t:5 ");
	/* A crash between a new key and its file left a second key. */
	(void)snprintf(key, sizeof key, "%s/held-1.key", dir);
	assert_int_equal(close(open(key, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(truncate(path, length - 1), 0);
	assert_string_equal(load(dir, "p"), "it has another length than it says");
	assert_int_equal(save(dir, &rng), CM_OK);
	assert_string_equal(load(dir, "p"), "");
	assert_int_equal(cl_mqtt_saved_erase(dir, &err), CM_OK);
	assert_int_equal(cl_mqtt_saved_erase(dir, &err), CM_OK);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			a_reading_counts_in_one_round_of_a_query_and_in_those_of_others, let_go),
		cmocka_unit_test_teardown(tries_of_an_entry_take_the_same_and_recurrences_do_not, let_go),
		cmocka_unit_test_teardown(the_same_round_may_ask_again, let_go),
		cmocka_unit_test_teardown(a_reading_counts_for_max_age, let_go),
		cmocka_unit_test_teardown(of_one_device_the_newest_are_kept, let_go),
		cmocka_unit_test_teardown(what_one_device_says_takes_nothing_from_the_others, let_go),
		cmocka_unit_test_teardown(a_reading_above_a_devices_memory_changes_nothing, let_go),
		cmocka_unit_test_teardown(another_list_keeps_what_its_devices_have, let_go),
		cmocka_unit_test_teardown(a_view_stays_readable_while_its_readings_leave, let_go),
		cmocka_unit_test_teardown(
			more_queries_than_are_remembered_lose_readings_but_never_count_them_twice, let_go),
		cmocka_unit_test_teardown(many_devices_come_and_go, let_go),
		cmocka_unit_test_teardown(the_last_value_of_each_field_stands_in_every_round, let_go),
		cmocka_unit_test_teardown(
			what_is_stored_is_restored_with_its_ages_and_shows_nothing_by_its_length, let_go),
		cmocka_unit_test_teardown(
			a_file_of_last_values_has_one_length_and_opens_under_its_own_key_alone, let_go),
		cmocka_unit_test_teardown(
			a_damaged_device_costs_no_other_and_what_can_be_mended_loses_nothing, let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
