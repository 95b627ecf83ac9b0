/* pt_classes.h - participants who choose their own local guarantee, from a plan's classes.
 *
 * Slot i of the parameters is class i: k-ary response with its own keep probability; all classes have the
 * same bins.  A device of class i answers by the response of that class, and its messages have tag i, which
 * the shuffler sees: each class must have tag_least[i] participants.  A device must not choose its class by
 * its value (doc/protocols/paper.md, "Classes"). */
#pragma once

#include "pt_slots.h"

/* Check parameters as pt_classes_request could have made them.  CM_EPROTO if it could not. */
CM_CHECK enum cm_rc pt_classes_check(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);

/* Local guarantee of the weakest class, rounded up. */
double pt_classes_epsilon0(const struct pt_randomizer *p);
/* Local guarantee of class i. */
double pt_classes_epsilon0_of(const struct pt_randomizer *p, uint32_t i);
void pt_classes_route(
	const struct pt_randomizer *p, const struct qy_value *value, const uint8_t *records, uint16_t *tags);
/* The word of a value: its category, or its level, rounded at random. */
uint64_t pt_classes_word(const struct qy_query *q, const struct pt_randomizer *p,
	const struct qy_value *value, const struct cr_rng *rng);
/* The word that a device of the value's class sends, randomized. */
uint64_t pt_classes_tell(
	const struct pt_randomizer *p, const struct qy_value *value, uint64_t word, const struct cr_rng *rng);

/* Check that such rows answer the question.  If not, returns `code`: CM_ECONFIG or CM_EPROTO. */
CM_CHECK enum cm_rc pt_classes_kind(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err);
/* Number of messages that a device of "gspa-pooled" sends: the value's in slot 0, the class in slot 1. */
#define PT_POOLED_MESSAGES 2u
