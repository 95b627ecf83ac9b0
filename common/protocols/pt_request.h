/* pt_request.h - what a plan asks of a protocol, before its row has derived exact parameters. */
#pragma once

#include "pt_randomizer.h"

/* What a plan asks for. */
struct pt_request {
	double epsilon0; /* local guarantee in nats; INFINITY for none */
	uint32_t levels; /* bins of a number, without the symbol of none; 0: the row chooses */
	uint32_t dummies;
	uint64_t dummy_chance; /* as of a randomizer */
	uint32_t size;         /* as of a randomizer; 0: the row chooses, but for privset, which needs it */
	uint32_t slots;        /* vectors: batches of the round; 0: the row chooses */
	uint64_t min_reports;  /* for choices that depend on n */
	uint64_t shuffler_dummies;           /* as of a randomizer */
	uint64_t padded;                     /* tag_messages of the shuffler; 0: the row chooses */
	double class_epsilon0[PT_SLOTS_MAX]; /* of each class, rising; epsilon0 is the most there may be */
	uint32_t class_least[PT_SLOTS_MAX];  /* its least participants */
	uint32_t classes;
	double noise_epsilon; /* the round is to have it by noise of the shuffler; 0: no such noise */
	double noise_delta;
};

/* Dummies of a client as one number, 0..2^32-1: their whole part, and the rest as the chance of one more,
 * never below it. */
void pt_request_dummies(struct pt_request *r, double dummies);
double pt_dummies_each(uint32_t dummies, uint64_t chance);
