/* cl_judging.h - a client that judges rounds, and takes part in them. */
#pragma once

#include "cl_world.h"

#include "cl_encode.h"
#include "tombola.pb-c.h"

#define MOST 4u /* devices that take part */

static struct cm_err err;
static struct cl_world world;
static struct cl_judgement judged;

static inline enum cm_rc judge(const struct cl_offer *o)
{
	enum cm_rc rc;

	err.msg[0] = '\0';
	rc = cl_world_judge(&world, o, &judged, &err);
	if (judged.verified)
		rd_descriptor_fini(&judged.d);
	return rc;
}

static inline int64_t count(const char *sql)
{
	int64_t n = -1;

	assert_int_equal(db_int(world.db->sql, sql, &n, &err), CM_OK);
	return n;
}

/* Store ACCEPTED as the outcome of all devices of the active round. */
static inline void accept_all(size_t devices)
{
	const uint8_t outcome[MOST] = { TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED,
		TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED, TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED,
		TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED };
	uint8_t pseudonyms[MOST * PR_PSEUDONYM_LEN], salts[MOST * 32], sealed[MOST * 4096];
	int64_t slot[MOST];
	size_t n;

	assert_int_equal(cl_reports_next(world.db, -1, MOST, cd_device_len(&judged.d), slot, pseudonyms,
				 salts, sealed, &n, &err),
		CM_OK);
	assert_int_equal(n, devices);
	assert_int_equal(cl_reports_answer(world.db, slot, outcome, n, &err), CM_OK);
}

/* Take part as the daemon does.  accepted: so many devices get a receipt; 0: one device, without one. */
static inline void take_part_with(const struct cl_offer *o, size_t accepted)
{
	size_t n = accepted > 0 ? accepted : 1;
	struct cl_entry e[MOST] = { { .pseudonym = { 1 } }, { .pseudonym = { 2 } }, { .pseudonym = { 3 } },
		{ .pseudonym = { 4 } } };
	struct cl_opening opening = {
		.descriptor = o->bytes.data, .descriptor_len = o->bytes.len, .signature = o->signature
	};
	const uint8_t salts[MOST * 32] = { 1 };
	uint8_t sealed[MOST * 4096];

	assert_int_equal(cl_world_judge(&world, o, &judged, &err), CM_OK);
	opening.d = &judged.d;
	opening.charge = judged.charge;
	assert_true(n * cd_device_len(&judged.d) <= sizeof sealed);
	assert_int_equal(cl_encode(&judged.d, e, n, &world.rng, sealed, &err), CM_OK);
	assert_int_equal(cl_reports_put(world.db, &opening, e, n, salts, sealed, cd_device_len(&judged.d),
				 CL_WORLD_NOW, &err),
		CM_OK);
	if (accepted > 0)
		accept_all(accepted);
	assert_int_equal(cl_reports_erase(world.db, &judged.d, CL_WORLD_NOW, &err), CM_OK);
	rd_descriptor_fini(&judged.d);
}

static inline void take_part(const struct cl_offer *o)
{
	take_part_with(o, 0);
}
