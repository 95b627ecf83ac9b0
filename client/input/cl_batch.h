/* cl_batch.h - holds one value for every listed device of a round, and puts the devices in random order.
 *
 * Devices are listed first; then readings are added.  A device with several valid readings takes part once,
 * with one drawn uniformly among them (a reservoir of size one).  A device without a reading takes part with
 * the value that the query assigns to NONE.  So neither the number nor the identity of the participants
 * depends on a reading.  Memory: about 80 bytes a device, and 4 bytes for each number of a multi-number
 * value.  The values are private: cl_batch_free wipes them. */
#pragma once

#include "cr_rand.h"
#include "pr_limits.h"
#include "qy_value.h"

#define CL_BATCH_MAX         10000000u  /* most devices of a batch */
#define CL_BATCH_NUMBERS_MAX 536870912u /* most numbers of all values together: 2 GiB */

struct cl_entry {
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	uint32_t place;        /* position in the list; it only selects the fixed random numbers of a test */
	struct qy_value value; /* its array of numbers belongs to the batch */
};

struct cl_batch;
/* Create a batch for the first `limit` devices that are listed (0: CL_BATCH_MAX), with values of `width`
 * numbers (qy_value_width).  sequence: the round's number; it only selects the fixed random numbers of a
 * test.  NULL: out of memory. */
struct cl_batch *cl_batch_new(uint64_t limit, uint32_t width, uint64_t sequence);
void cl_batch_free(struct cl_batch *b);

/* Mark a device whose sealed report of the round is stored already: the batch ignores its readings from now
 * on.  The device counts towards the limit. */
CM_CHECK enum cm_rc cl_batch_taken(
	struct cl_batch *b, const uint8_t pseudonym[PR_PSEUDONYM_LEN], struct cm_err *err);
/* List a device as participant, if it is among the first `limit`.  Listing it again changes nothing.
 * CM_EDATA: there are more than CL_BATCH_MAX devices, or their values would exceed CL_BATCH_NUMBERS_MAX,
 * counting devices without readings, too; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_batch_list(
	struct cl_batch *b, const uint8_t pseudonym[PR_PSEUDONYM_LEN], struct cm_err *err);
/* Add one valid reading of a device; the value is copied.  Readings of unlisted devices are ignored.
 * CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_batch_add(struct cl_batch *b, const struct cr_rng *rng,
	const uint8_t pseudonym[PR_PSEUDONYM_LEN], const struct qy_value *value, struct cm_err *err);

/* Call after the last reading.  It gives every listed device without a reading the value NONE
 * (qy_value_none of q; without q its `at` is NULL, and it takes as much memory), puts the devices in
 * uniformly random order (Fisher-Yates) and drops those marked as taken.  The random order hides the order
 * of the list from an observer of the sending.  Errors are those of cl_batch_add. */
CM_CHECK enum cm_rc cl_batch_complete(
	struct cl_batch *b, const struct qy_query *q, const struct cr_rng *rng, struct cm_err *err);
/* The numbers of entry i, in a batch of a round that computes; the caller may change them in place.
 * cl_batch_drop makes the device NONE.  Call both after cl_batch_complete. */
uint32_t *cl_batch_numbers(struct cl_batch *b, size_t i);
void cl_batch_drop(struct cl_batch *b, size_t i);
/* Set the class that all devices of the batch choose, in rounds with classes. */
void cl_batch_set_class(struct cl_batch *b, uint32_t level);
/* The devices of the batch, after cl_batch_complete; valid as long as b. */
const struct cl_entry *cl_batch_entries(const struct cl_batch *b, size_t *n);

/* Counts of readings.  They depend on the readings, so they are for this host only. */
struct cl_batch_counts {
	uint64_t duplicates; /* readings left out because the device's other reading was drawn */
	uint64_t unlisted;   /* readings of devices that are not listed, or beyond the limit */
	uint64_t none;       /* devices without a valid reading */
};
void cl_batch_counts(const struct cl_batch *b, struct cl_batch_counts *out);
