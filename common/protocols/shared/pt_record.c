/* pt_record.c - writes, reads and permutes the plaintext of messages. */
#include "pt_record.h"

#include <assert.h>

#include "cm_buf.h"
#include "cr_secret.h"
#include "pr_limits.h"
#include "pt_exact.h"

/* Version 1, kind 0, slot 0 and zeroes, as one integer; the slot is in its second 16 bits. */
#define HEAD       UINT64_C(1)
#define SLOT_SHIFT 16
#define SLOT_MASK  (UINT64_C(0xffff) << SLOT_SHIFT)

void pt_record_begin(uint8_t head[PT_RECORD_HEAD])
{
	cm_put_le64(head, HEAD);
}

enum cm_rc pt_record_slot(
	const uint8_t head[PT_RECORD_HEAD], uint32_t slots, uint32_t *slot, struct cm_err *err)
{
	uint64_t h = cm_get_le64(head), at = (h & SLOT_MASK) >> SLOT_SHIFT;

	if ((h & ~SLOT_MASK) != HEAD || at >= slots)
		return cm_fail(err, CM_EDATA, "record: unknown version, kind, slot or filler");
	*slot = (uint32_t)at;
	return CM_OK;
}

enum cm_rc pt_record_opens(const uint8_t head[PT_RECORD_HEAD], struct cm_err *err)
{
	uint32_t slot;

	return pt_record_slot(head, 1, &slot, err);
}

void pt_record_put_slot(uint8_t record[PT_RECORD_LEN], uint16_t slot, uint64_t value)
{
	cm_put_le64(record, HEAD | (uint64_t)slot << SLOT_SHIFT);
	cm_put_le64(record + PT_RECORD_HEAD, value);
}

void pt_record_put(uint8_t record[PT_RECORD_LEN], uint64_t value)
{
	pt_record_put_slot(record, 0, value);
}

enum cm_rc pt_record_value(
	const uint8_t record[PT_RECORD_LEN], uint64_t bins, uint64_t *value, struct cm_err *err)
{
	uint64_t v = cm_get_le64(record + PT_RECORD_HEAD);

	if (v >= bins)
		return cm_fail(
			err, CM_EDATA, "record: value outside the %llu bins", (unsigned long long)bins);
	*value = v;
	return CM_OK;
}

bool pt_record_is_null(const uint8_t record[PT_RECORD_LEN])
{
	return cm_get_le64(record + PT_RECORD_HEAD) == PT_RECORD_NULL;
}

enum cm_rc pt_record_get(
	const uint8_t record[PT_RECORD_LEN], uint32_t bins, uint32_t *value, struct cm_err *err)
{
	uint64_t v = 0;
	enum cm_rc rc = pt_record_opens(record, err);

	if (rc == CM_OK)
		rc = pt_record_value(record, bins, &v, err);
	if (rc == CM_OK)
		*value = (uint32_t)v;
	return rc;
}

/* Exchange a and b if mask is all ones. */
static void swap_words(uint64_t mask, uint64_t *a, uint64_t *b)
{
	uint64_t change = mask & (*a ^ *b);

	*a ^= change;
	*b ^= change;
}

static void swap_records(uint64_t mask, uint8_t *a, uint8_t *b)
{
	for (size_t i = 0; i < PT_RECORD_LEN; i += 8) {
		uint64_t x = cm_get_le64(a + i), y = cm_get_le64(b + i);

		swap_words(mask, &x, &y);
		cm_put_le64(a + i, x);
		cm_put_le64(b + i, y);
	}
}

/* Sort by random keys, comparing every pair in a fixed order. */
void pt_record_permute(uint8_t *records, size_t n, const struct cr_rng *rng, uint64_t *key)
{
	assert(n <= PR_MESSAGES_MAX);
	for (size_t i = 0; i < n; i++)
		key[i] = cr_rng_u64(rng) >> 1;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			uint64_t mask = pt_below_mask(key[j], key[i]);

			swap_words(mask, &key[i], &key[j]);
			swap_records(mask, records + i * PT_RECORD_LEN, records + j * PT_RECORD_LEN);
		}
	cr_wipe(key, n * sizeof *key);
}
