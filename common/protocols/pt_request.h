/* pt_request.h - what a plan asks of a protocol; the row derives exact parameters from it. */
#pragma once

#include "pt_randomizer.h"

/* What a plan asks for. */
struct pt_request {
	double epsilon0; /* local guarantee in nats; INFINITY: no local guarantee */
	uint32_t levels; /* bins of a number, without the symbol of none; 0: the row chooses */
	uint32_t dummies;
	uint64_t dummy_chance; /* chance of one dummy more: struct pt_mixbins */
	/* the parameter `size` of the randomizer; 0: the row chooses, except privset, which needs it */
	uint32_t size;
	uint32_t slots; /* for vectors, the number of batches of the round; 0: the row chooses */
	/* fewest participants, for rows whose best parameters depend on their number */
	uint64_t min_reports;
	uint64_t shuffler_dummies; /* `dummies` of struct pt_shuffler */
	uint64_t padded;           /* `tag_messages` of struct pt_shuffler; 0: the row chooses */
	/* local guarantee of each class, increasing, at most epsilon0 */
	double class_epsilon0[PT_SLOTS_MAX];
	uint32_t class_least[PT_SLOTS_MAX]; /* participants that each class must have */
	uint32_t classes;
	double noise_epsilon; /* epsilon that the shuffler's noise must give the round; 0: no such noise */
	double noise_delta;
};

/* Convert a client's dummies from one number, 0..2^32-1, to whole dummies and the chance of one more
 * (rounded up), and back. */
void pt_request_dummies(struct pt_request *r, double dummies);
double pt_dummies_each(uint32_t dummies, uint64_t chance);
