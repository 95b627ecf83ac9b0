/* cl_values.h - the value that each device of a round encodes: its reading's, or what is computed of its
 * reading just before it is encoded.  No I/O.
 *
 * In a round that computes, an entry of the batch holds no value but a reading: `at` has the m features as
 * float32 bits, and the label; NULL is NONE.  Of a program, it has the d numbers of the answer as float32
 * bits.  A device that is NONE costs the same work as any other. */
#pragma once

#include "cl_batch.h"
#include "co_compute.h"
#include "rd_descriptor.h"

/* The public bytes that a round's map reads, of the hash that the descriptor has.  Of any other length than
 * the descriptor has: this client does not have them, and each of its devices is NONE. */
struct cl_payload_bytes {
	const uint8_t *data;
	size_t len;
};

/* Numbers of an entry of the batch (cl_batch_new's width). */
uint32_t cl_values_width(const struct rd_descriptor *d);

/* What reads and computes in this round, for one thread; borrows d and payload.  CM_OK and NULL: everybody is
 * NONE, because the payload is not there, or is none of the map's.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_values_maker(const struct rd_descriptor *d, const struct cl_payload_bytes *payload,
	struct co_maker **out, struct cm_err *err);
/* A reading's texts to the numbers of an entry.  false: it is none. */
CM_CHECK bool cl_values_read(struct co_maker *m, const char *const *text, uint32_t *at);

/* The same of n features as numbers, and the label's text (NULL: none). */
CM_CHECK bool cl_values_numbers(
	struct co_maker *m, const float *x, size_t n, const char *label, uint32_t *at);

/* One thread's; borrows d and payload, which is ignored in a round that computes nothing.  CM_EINTERNAL: out
 * of memory. */
struct cl_values;
CM_CHECK enum cm_rc cl_values_new(const struct rd_descriptor *d, const struct cl_payload_bytes *payload,
	struct cl_values **out, struct cm_err *err);
/* Wipes what the last device left.  NULL is fine. */
void cl_values_free(struct cl_values *v);
/* Value of an entry, valid until the next call.  rng draws where NONE is "even". */
struct qy_value cl_values_of(struct cl_values *v, const struct qy_value *entry, const struct cr_rng *rng);
