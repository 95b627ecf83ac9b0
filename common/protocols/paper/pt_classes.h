/* pt_classes.h - participants who choose their own local guarantee, from a plan's classes.
 *
 * Slot i of the parameters is class i: k-ary response with its own keep probability, all with the same bins.
 * A device of class i answers as that class does and has tag i, which the shuffler sees: each class must have
 * tag_least[i] participants.  What a device chooses must not follow from its value (doc/protocols/paper.md,
 * "Classes"). */
#pragma once

#include "pt_slots.h"

/* Could pt_classes_request have made these?  CM_EPROTO. */
CM_CHECK enum cm_rc pt_classes_check(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);

/* Local guarantee of the weakest class, rounded up. */
double pt_classes_epsilon0(const struct pt_randomizer *p);
/* Of class i. */
double pt_classes_epsilon0_of(const struct pt_randomizer *p, uint32_t i);
void pt_classes_route(
	const struct pt_randomizer *p, const struct qy_value *value, const uint8_t *records, uint16_t *tags);
/* The word of a value: its category, or its level, rounded at random. */
uint64_t pt_classes_word(const struct qy_query *q, const struct pt_randomizer *p,
	const struct qy_value *value, const struct cr_rng *rng);
/* The word as a device of its class tells it. */
uint64_t pt_classes_tell(
	const struct pt_randomizer *p, const struct qy_value *value, uint64_t word, const struct cr_rng *rng);

/* CM_ECONFIG or CM_EPROTO, whichever is `code`, unless such rows answer the question. */
CM_CHECK enum cm_rc pt_classes_kind(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err);
/* Messages of a device of "gspa-pooled": the value's in slot 0, the class in slot 1. */
#define PT_POOLED_MESSAGES 2u
