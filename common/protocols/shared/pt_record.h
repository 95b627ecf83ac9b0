/* pt_record.h - the plaintext of one message: 16 bytes, the same length whatever it says.
 *
 *   0  u8   version = 1
 *   1  u8   kind = 0, a report
 *   2  u16  slot: which batch of the round; 0 if there is only one
 *   4  u32  zero
 *   8  u64  value: the bin, or all ones for NULL
 *
 * Numbers are little endian.  A reader refuses anything else, so that a record has exactly one encoding. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr_rand.h"

#define PT_RECORD_LEN  16u
#define PT_RECORD_HEAD 8u /* bytes that every record of every row begins with: all but the value */
/* The value of a NULL message: it stands for a dummy that is sent by chance and was not. */
#define PT_RECORD_NULL UINT64_MAX

/* Write only the head. */
void pt_record_begin(uint8_t head[PT_RECORD_HEAD]);
/* CM_EDATA for any other version, kind, slot or non-zero filler. */
CM_CHECK enum cm_rc pt_record_opens(const uint8_t head[PT_RECORD_HEAD], struct cm_err *err);
/* The same for a round of so many slots; *slot < slots. */
CM_CHECK enum cm_rc pt_record_slot(
	const uint8_t head[PT_RECORD_HEAD], uint32_t slots, uint32_t *slot, struct cm_err *err);

void pt_record_put(uint8_t record[PT_RECORD_LEN], uint64_t value);
void pt_record_put_slot(uint8_t record[PT_RECORD_LEN], uint16_t slot, uint64_t value);
/* Read only the value, of a record whose head was read.  CM_EDATA unless *value < bins. */
CM_CHECK enum cm_rc pt_record_value(
	const uint8_t record[PT_RECORD_LEN], uint64_t bins, uint64_t *value, struct cm_err *err);
/* Is the value PT_RECORD_NULL?  Does not look at the head. */
bool pt_record_is_null(const uint8_t record[PT_RECORD_LEN]);
/* Read a record, *value < bins.  CM_EDATA for any other value, version, kind, slot or filler. */
CM_CHECK enum cm_rc pt_record_get(
	const uint8_t record[PT_RECORD_LEN], uint32_t bins, uint32_t *value, struct cm_err *err);

/* Put n records, at most PR_MESSAGES_MAX, in uniformly random order (up to a chance of n^2 2^-65).  No
 * branch and no address depends on the order.  O(n^2).  key: room for n numbers, which are wiped. */
void pt_record_permute(uint8_t *records, size_t n, const struct cr_rng *rng, uint64_t *key);
