/* pt_classes.h - participants who choose their own local guarantee, from a plan's classes.
 *
 * Slot i of the params is class i: k-ary response with its own keep probability, all with the same bins.  A
 * device of class i answers as that class does and has tag i, which the shuffler sees: each class must have
 * tag_least[i] participants.  What a device chooses must not follow from its value (doc/protocols.md,
 * "Classes"). */
#pragma once

#include "pt_slots_count.h"

/* One class of each of the request's guarantees, in rising order.  CM_ECONFIG names what is out of range. */
CM_CHECK enum cm_rc pt_classes_request(const char *name, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err);
/* Could pt_classes_request have made these?  CM_EPROTO. */
CM_CHECK enum cm_rc pt_classes_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err);

/* Local guarantee of the weakest class, rounded up. */
double pt_classes_epsilon0(const struct pt_params *p);
uint32_t pt_classes_bins(const struct pt_params *p);
void pt_classes_route(
	const struct pt_params *p, const struct pt_value *value, const uint8_t *records, uint16_t *tags);
/* The word of a value: its category, or its level, rounded at random. */
uint64_t pt_classes_word(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng);
/* The word as a device of its class tells it. */
uint64_t pt_classes_tell(
	const struct pt_params *p, const struct pt_value *value, uint64_t word, const struct cm_rng *rng);

/* Do a round's tags stand for classes? */
bool pt_has_classes(const struct pt_params *p);
