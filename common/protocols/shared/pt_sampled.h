/* pt_sampled.h - several questions to one value, of which each client answers one that it draws.
 *
 * The questions are slots of one group, without dummies and with a finite guarantee (pt_slots.h).  A client
 * draws slot i of s with chance 1/s whatever its value is, keeps its word there with chance keep / 2^64 or
 * takes another one, and sends that one message.  Slot and word stand sealed in the record: the shuffler
 * learns neither, and all messages of the round are one batch.
 *
 * Guarantee.  The slot tells nothing, and given the slot the word has the guarantee of its slot: the largest
 * of them holds for the message, not their sum. */
#pragma once

#include "pt_slots.h"

/* Are a peer's slots possible?  CM_EPROTO. */
CM_CHECK enum cm_rc pt_sampled_check(const struct pt_randomizer *p, struct cm_err *err);
uint32_t pt_sampled_messages(const struct pt_randomizer *p); /* of one client: 1 */
double pt_sampled_epsilon0(const struct pt_randomizer *p);   /* rounded up */
/* The one message.  Constant time in the value, the slot that was drawn and the word. */
void pt_sampled_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	pt_word *word, const struct cr_rng *rng, uint8_t *record, void *room);

/* The columns of a device's row whose clients answer one slot. */
#define PT_SAMPLED_DEVICE                                                                                   \
	.parameters = &pt_slots_layout, .messages = pt_sampled_messages, .record_len = pt_slots_record_len, \
	.epsilon0 = pt_sampled_epsilon0
