/* cl_values.h - makes the value that each device of a round encodes: it takes the reading, or computes the
 * value from the reading just before it is encoded.  No I/O.
 *
 * In a round that computes, an entry of the batch holds a reading instead of a value: `at` has the m
 * features as float32 bits, and the label; NULL is NONE.  In a round with a program, it holds the d numbers
 * of the answer as float32 bits.  A device that is NONE costs the same work as any other. */
#pragma once

#include "cl_batch.h"
#include "co_compute.h"
#include "rd_descriptor.h"

/* The public bytes that a round's map reads, whose hash is in the descriptor.  If their length differs from
 * the descriptor's, this client does not have them, and each of its devices is NONE. */
struct cl_payload_bytes {
	const uint8_t *data;
	size_t len;
};

/* How many numbers an entry of the batch has (the width of cl_batch_new). */
uint32_t cl_values_width(const struct rd_descriptor *d);

/* Make the object that reads and computes in this round, for one thread; it borrows d and payload.  CM_OK
 * and NULL: every device is NONE, because the payload is absent or does not fit the map.  CM_EINTERNAL: out
 * of memory. */
CM_CHECK enum cm_rc cl_values_maker(const struct rd_descriptor *d, const struct cl_payload_bytes *payload,
	struct co_maker **out, struct cm_err *err);
/* Turn a reading's texts into the numbers of an entry.  false: they are no valid reading. */
CM_CHECK bool cl_values_read(struct co_maker *m, const char *const *text, uint32_t *at);

/* The same for n features as numbers, with the label's text (NULL if it has none). */
CM_CHECK bool cl_values_numbers(
	struct co_maker *m, const float *x, size_t n, const char *label, uint32_t *at);

/* Makes values for one thread; borrows d and payload, which is ignored in a round that computes nothing.
 * CM_EINTERNAL: out of memory. */
struct cl_values;
CM_CHECK enum cm_rc cl_values_new(const struct rd_descriptor *d, const struct cl_payload_bytes *payload,
	struct cl_values **out, struct cm_err *err);
/* Wipes what the last device left.  Accepts NULL. */
void cl_values_free(struct cl_values *v);
/* The value of an entry, valid until the next call.  If NONE is "even", rng draws the value of a device
 * without a reading. */
struct qy_value cl_values_of(struct cl_values *v, const struct qy_value *entry, const struct cr_rng *rng);
