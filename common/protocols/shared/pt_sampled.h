/* pt_sampled.h - several questions about one value, of which each client draws one and answers it.
 *
 * The questions are slots of one group, without dummies and with a finite guarantee (pt_slots.h).  A client
 * draws slot i of s with chance 1/s whatever its value is, keeps its word there with chance keep / 2^64 or
 * takes another one, and sends that one message.  Slot and word are sealed in the record: the shuffler
 * learns neither, and all messages of the round are one batch.
 *
 * Guarantee.  The slot says nothing about the value, and given the slot the word has the guarantee of its
 * slot.  So the largest of these guarantees holds for the message, not their sum. */
#pragma once

#include "pt_slots.h"

/* Check that a peer's slots are possible.  CM_EPROTO if not. */
CM_CHECK enum cm_rc pt_sampled_check(const struct pt_randomizer *p, struct cm_err *err);
/* number of messages of one client, which is 1 */
uint32_t pt_sampled_messages(const struct pt_randomizer *p);
/* the local guarantee of the message, rounded up */
double pt_sampled_epsilon0(const struct pt_randomizer *p);
/* Make the one message.  The time is constant in the value, in the slot that was drawn and in the word. */
void pt_sampled_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	pt_word *word, const struct cr_rng *rng, uint8_t *record, void *room);

/* Initialisers for the columns of a device's row whose clients answer one slot. */
#define PT_SAMPLED_DEVICE                                                                                   \
	.parameters = &pt_slots_layout, .messages = pt_sampled_messages, .record_len = pt_slots_record_len, \
	.epsilon0 = pt_sampled_epsilon0
