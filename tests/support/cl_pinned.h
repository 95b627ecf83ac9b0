/* cl_pinned.h - a client that is shown two rounds and their plans, and what it pins of them. */
#pragma once

#include "cl_judging.h"

#include <string.h>

static struct cl_offer offer, next;
static struct cl_pin pin;

static inline int set_up(void **state)
{
	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "grr", 1.0, &offer);
	cl_offer_make(&world, "grr", 1.0, &next);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	cl_world_mutant("");
	cl_offer_free(&offer);
	cl_offer_free(&next);
	cl_world_free(&world);
	return 0;
}

static inline struct rd_slices slices(void)
{
	struct rd_slices s;

	assert_int_equal(cl_pin_slices(world.db, &s, &err), CM_OK);
	return s;
}

/* A round of a plan of its own: the one with this number and slice, after the plan of `before` (NULL:
 * zero). */
static inline void plan(struct cl_offer *o, const char *mode, uint64_t number, double epsilon, double delta,
	const struct cl_offer *before)
{
	struct rd_plan p = { .number = number, .epsilon = epsilon, .delta = delta };

	if (mode)
		strcpy(p.mode, mode);
	if (before)
		memcpy(p.previous, before->d.plan_hash, sizeof p.previous);
	cl_offer_plan(&world, &p, o);
	cl_offer_sign(&world, o);
}

/* Make `o` the round after `before`, with its plan as it is. */
static inline void after(struct cl_offer *o, const struct cl_offer *before)
{
	cl_offer_after(o, before);
	cl_offer_sign(&world, o);
}
