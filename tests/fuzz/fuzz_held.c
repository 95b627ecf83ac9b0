/* fuzz_held.c - the readings of `hold` that are read from disk.  No crash; what is read keeps the limits, is
 * not younger than now, and is the same when it is written and read again; a file that is damaged in places
 * loses the devices of these places and no other.
 *
 * The first byte says what the others are: a device's readings as a sealed box holds them, or places of a
 * whole file (two bytes each) with what is changed there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_mqtt_saved.h"
#include "cl_readings.h"
#include "cm_file.h"

#define DEVICES   3u
#define MAX_AGE   100000
#define BEGIN_LEN 17u /* before the boxes of a file */

static const struct cr_key secret = { { 1 } };

static void must(int truth)
{
	if (!truth)
		abort();
}

static struct cl_held *table(void)
{
	static char names[] = "a\nb\nc\n";
	const struct cl_held_limits limits = { 4, 64, MAX_AGE, true };
	struct cl_held *h = cl_held_new(&limits);
	struct cl_devices *list = NULL;
	struct cm_err err;
	FILE *f = fmemopen(names, sizeof names - 1, "r");

	must(h && f && cl_devices_read(f, "l", &secret, "p", &list, &err) == CM_OK);
	must(cl_held_list(h, list, &err) == CM_OK);
	(void)fclose(f);
	cl_devices_free(list);
	return h;
}

/* ---- a device's readings ---- */

static struct cl_held_view *take(struct cl_held *h, int64_t now)
{
	const struct cl_held_round round = { .sequence = 1 };
	struct cl_held_view *v = cl_held_take(h, "q", &round, now);

	must(v != NULL);
	return v;
}

static void check_view(const struct cl_held_view *v)
{
	size_t bytes = 0;

	must(cl_held_view_n(v) <= 4);
	for (size_t i = 0; i < cl_held_view_n(v); i++) {
		const struct cl_held_item item = cl_held_view_at(v, i);

		must(item.key > 0 && item.key <= item.len && strlen(item.device) <= CL_DEVICE_MAX);
		bytes += item.len;
	}
	must(bytes <= 64);
}

static void same(const struct cl_held_view *a, const struct cl_held_view *b)
{
	must(cl_held_view_n(a) == cl_held_view_n(b));
	for (size_t i = 0; i < cl_held_view_n(a); i++) {
		const struct cl_held_item one = cl_held_view_at(a, i), other = cl_held_view_at(b, i);

		must(one.len == other.len && one.key == other.key &&
			memcmp(one.line, other.line, one.len) == 0);
		must(strcmp(one.device, other.device) == 0);
	}
}

static void read_slot(const uint8_t *data, size_t size)
{
	const int64_t now = 50, wall = 1000000;
	struct cl_held *h = table(), *again = table();
	struct cl_held_view *v, *w;
	struct cl_held_counts counts;
	uint8_t slot[2048], written[2048];
	struct cm_err err;
	enum cm_rc rc;

	if (size > sizeof slot)
		size = sizeof slot;
	memcpy(slot, data, size);
	must(cl_held_slot(h) <= sizeof written);
	/* Nobody finds the pseudonym of a listed device by chance. */
	cl_held_store(h, 0, now, wall, written);
	if (size >= PR_PSEUDONYM_LEN && slot[0] < 128)
		memcpy(slot, written, PR_PSEUDONYM_LEN);
	rc = cl_held_restore(h, slot, size, now, wall, &err);
	must(rc == CM_OK || rc == CM_EDATA);
	v = take(h, now);
	check_view(v);
	cl_held_store(h, 0, now, wall, written);
	must(cl_held_restore(again, written, cl_held_slot(h), now, wall, &err) == CM_OK);
	w = take(again, now);
	same(v, w);
	cl_held_release(again, w);
	cl_held_release(h, v);
	cl_held_expire(h, now + MAX_AGE + 1);
	cl_held_counts(h, &counts);
	must(counts.readings == 0);
	cl_held_free(h);
	cl_held_free(again);
}

/* ---- a file ---- */

static char dir[] = "/tmp/fuzz-held-XXXXXX", path[64];
static struct cm_buf whole;

static void remove_all(void)
{
	struct cm_err err;

	(void)cl_mqtt_saved_erase(dir, &err);
	(void)rmdir(dir);
	cm_buf_fini(&whole);
}

/* Write the file of three devices, each with a reading, once for all inputs. */
static void make_file(void)
{
	struct cl_held *h = table();
	struct cl_mqtt_image *image;
	struct cr_rng rng;
	struct cm_err err;
	uint8_t slot[2048];

	must(mkdtemp(dir) != NULL && cr_rng_system(&rng, &err) == CM_OK);
	(void)snprintf(path, sizeof path, "%s/held", dir);
	for (size_t i = 0; i < DEVICES; i++) {
		cl_held_store(h, i, 0, 0, slot);
		must(cl_held_add(h, slot, &(struct cl_held_item){ "n", (const uint8_t *)"t:1", 3, 1 }, 0) ==
			CL_HELD_OK);
	}
	image = cl_mqtt_image_new(h, 0, 0);
	must(image && cl_mqtt_image_write(image, dir, "p", &rng, &err) == CM_OK);
	cl_mqtt_image_free(image);
	cl_held_free(h);
	cm_buf_init(&whole, 65536);
	must(cm_file_read(path, whole.max, &whole, &err) == CM_OK);
	must(atexit(remove_all) == 0);
}

static void read_file(const uint8_t *data, size_t size)
{
	struct cl_held *h = table();
	struct cl_held_counts counts;
	uint8_t file[65536];
	bool changed[DEVICES] = { false }, begins = true;
	struct cm_err err, lost;
	size_t box, intact = 0, len;
	enum cm_rc rc;
	FILE *f;

	if (!whole.data)
		make_file();
	len = whole.len;
	box = (len - BEGIN_LEN) / DEVICES;
	memcpy(file, whole.data, len);
	for (; size >= 3; data += 3, size -= 3)
		file[cm_get_le16(data) % len] ^= data[2];
	/* One byte that is left over shortens the file. */
	if (size == 1)
		len -= data[0] % len;
	begins = memcmp(file, whole.data, BEGIN_LEN) == 0 && len == whole.len;
	for (size_t i = 0; i < DEVICES; i++) {
		changed[i] = memcmp(file + BEGIN_LEN + i * box, whole.data + BEGIN_LEN + i * box, box) != 0;
		intact += !changed[i];
	}
	f = fopen(path, "we");
	must(f && fwrite(file, 1, len, f) == len && fclose(f) == 0);
	rc = cl_mqtt_saved_load(dir, "p", h, 0, 0, &lost, &err);
	cl_held_counts(h, &counts);
	if (memcmp(file, whole.data, len < 7 ? len : 7) == 0 && len >= 8)
		must(rc == CM_OK && (lost.code != CM_OK) == (!begins || intact < DEVICES));
	else
		must(rc == CM_EDATA);
	must(counts.readings == (rc == CM_OK && begins ? intact : 0));
	cl_held_free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 4 == 0)
		read_file(data + 1, size - 1);
	else
		read_slot(data + 1, size - 1);
	return 0;
}
