/* cl_batch.h - one value per device of a round, in random order.
 *
 * A device that reads several times takes part once, with a reading drawn uniformly from its readings
 * (reservoir of size one): neither the first nor the last is favoured.  About 80 bytes a device, and 4 for
 * each number of a value that has several.  Holds private values: wiped when freed. */
#pragma once

#include "cm_rand.h"
#include "pr_limits.h"
#include "pt_query.h"

#define CL_BATCH_MAX         10000000u  /* devices */
#define CL_BATCH_NUMBERS_MAX 536870912u /* of all values together: 2 GiB */

struct cl_entry {
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	struct pt_value value; /* its numbers are the batch's */
};

struct cl_batch;
/* At most `limit` devices, the first ones met (0: CL_BATCH_MAX), with values of `width` numbers
 * (pt_value_width).  NULL out of memory. */
struct cl_batch *cl_batch_new(uint64_t limit, uint32_t width);
void cl_batch_free(struct cl_batch *b);

/* This device has its bytes of the round already: its readings are ignored from now on.  It counts towards
 * the limit. */
CM_CHECK enum cm_rc cl_batch_taken(
	struct cl_batch *b, const uint8_t pseudonym[PR_PSEUDONYM_LEN], struct cm_err *err);
/* One more reading of a device, copied.  CM_EDATA: more devices than CL_BATCH_MAX, or than
 * CL_BATCH_NUMBERS_MAX has room for; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_batch_add(struct cl_batch *b, const struct cm_rng *rng,
	const uint8_t pseudonym[PR_PSEUDONYM_LEN], const struct pt_value *value, struct cm_err *err);

/* No more readings: put the devices in uniformly random order (Fisher-Yates) and drop the taken ones, so that
 * the order of sending says nothing of the order of the file. */
void cl_batch_shuffle(struct cl_batch *b, const struct cm_rng *rng);
/* Of rounds with classes: the class that all devices of the batch chose. */
void cl_batch_set_class(struct cl_batch *b, uint32_t level);
/* After cl_batch_shuffle: the devices, valid as long as b. */
const struct cl_entry *cl_batch_entries(const struct cl_batch *b, size_t *n);

/* Readings that were not used because their device had another one; and those of devices beyond the limit. */
uint64_t cl_batch_duplicates(const struct cl_batch *b);
uint64_t cl_batch_over_limit(const struct cl_batch *b);
/* Devices already holding bytes of this round for which a reading came again. */
uint64_t cl_batch_taken_seen(const struct cl_batch *b);
