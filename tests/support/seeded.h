/* seeded.h - the end of main in a test whose random numbers repeat from run to run. */
#pragma once

#include "cr_rand.h"

/* Run the tests with *rng seeded by the name; what main returns. */
#define RUN_SEEDED(tests, rng, name) \
	run_seeded_begin(rng, name) ? run_seeded_end(cmocka_run_group_tests(tests, NULL, NULL)) : 1

static struct cr_rng_seeded *run_seeded_generator;

static inline int run_seeded_begin(struct cr_rng *rng, const char *name)
{
	uint8_t seed[CR_SEED_LEN] = { 0 };

	for (size_t i = 0; name[i] != '\0' && i < sizeof seed; i++)
		seed[i] = (uint8_t)name[i];
	run_seeded_generator = cr_rng_seeded_new(seed, rng);
	return run_seeded_generator != NULL;
}

static inline int run_seeded_end(int failed)
{
	cr_rng_seeded_free(run_seeded_generator);
	return failed;
}
