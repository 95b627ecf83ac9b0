/* cl_stored.h - a round of three colours whose devices are encoded and stored, for tests of cl_reports.h. */
#pragma once

#include "cl_world.h"

#include <stdlib.h>
#include <string.h>

#include "cl_encode.h"
#include "rd_receipt.h"

#define DEVICES 40u
#define CHUNK   10u /* devices of one put */

#define DEVICES_STORED "SELECT sum(length(outcomes)) FROM reports"

static struct cm_err err;
static struct cl_world world;
static struct cl_offer offer;
static struct cl_judgement judged;
static size_t device_len;
static uint8_t salts[DEVICES * RD_SALT_LEN] = { 1, 2, 3 }; /* of the devices put first */

static int set_up(void **state)
{
	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "mixbins", 2.0, &offer);
	assert_int_equal(cl_world_judge(&world, &offer, &judged, &err), CM_OK);
	device_len = cd_device_len(&judged.d);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rd_descriptor_fini(&judged.d);
	cl_offer_free(&offer);
	cl_world_free(&world);
	return 0;
}

static struct cl_entry device(unsigned i)
{
	struct cl_entry e = { .value.x = i % 3 };

	memset(e.pseudonym, (int)i + 1, sizeof e.pseudonym);
	return e;
}

static struct cl_opening opening(void)
{
	return (struct cl_opening){ &judged.d, offer.bytes.data, offer.signature, offer.bytes.len,
		judged.charge };
}

/* Encode and store devices first..first+n. */
static enum cm_rc put(unsigned first, unsigned n)
{
	struct cl_opening o = opening();
	struct cl_entry e[DEVICES];
	uint8_t *sealed = malloc(n * device_len);
	enum cm_rc rc;

	assert_non_null(sealed);
	for (unsigned i = 0; i < n; i++)
		e[i] = device(first + i);
	assert_int_equal(cl_encode(&judged.d, e, n, &world.rng, sealed, &err), CM_OK);
	rc = cl_reports_put(world.db, &o, e, n, salts, sealed, device_len, CL_WORLD_NOW, &err);
	free(sealed);
	return rc;
}

/* Sealed bytes of every stored device at [pseudonym byte - 1], zeroes where there is none; the number
 * stored. */
static size_t stored(uint8_t *all)
{
	sqlite3_stmt *st = NULL;
	size_t n = 0;

	memset(all, 0, DEVICES * device_len);
	assert_int_equal(
		db_prepare(world.db->sql, "SELECT pseudonyms, sealed FROM reports", &st, &err), CM_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const uint8_t *name = sqlite3_column_blob(st, 0), *sealed = sqlite3_column_blob(st, 1);
		size_t some = (size_t)sqlite3_column_bytes(st, 0) / PR_PSEUDONYM_LEN;

		assert_int_equal(sqlite3_column_bytes(st, 1), some * device_len);
		for (size_t i = 0; i < some; i++)
			memcpy(all + (name[i * PR_PSEUDONYM_LEN] - 1u) * device_len, sealed + i * device_len,
				device_len);
		n += some;
	}
	sqlite3_finalize(st);
	return n;
}

static int64_t count(const char *sql)
{
	int64_t n = -1;

	assert_int_equal(db_int(world.db->sql, sql, &n, &err), CM_OK);
	return n;
}
