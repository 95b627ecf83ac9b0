/* cl_followed.h - a client that is shown a round and the one that follows it. */
#pragma once

#include "cl_judging.h"

static struct cl_offer first, second;

static inline int set_up(void **state)
{
	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "grr", 1.0, &first);
	cl_offer_make(&world, "grr", 1.0, &second);
	cl_offer_follow(&second, &first);
	cl_offer_sign(&world, &second);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	cl_world_mutant("");
	cl_offer_free(&first);
	cl_offer_free(&second);
	cl_world_free(&world);
	return 0;
}
