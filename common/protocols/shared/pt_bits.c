/* pt_bits.c - reads and writes records that are a set of items. */
#include "pt_bits.h"

#include <string.h>

#include "pt_record.h"

uint32_t pt_bits_len(uint32_t items)
{
	return PT_RECORD_HEAD + 8 * ((items + 63) / 64);
}

void pt_bits_clear(uint8_t *record, uint32_t items)
{
	memset(record, 0, pt_bits_len(items));
	pt_record_begin(record);
}

void pt_bits_put(uint8_t *record, uint32_t i, uint64_t bit)
{
	record[PT_RECORD_HEAD + i / 8] |= (uint8_t)(bit << i % 8);
}

static uint64_t get_bit(const uint8_t *record, uint32_t i)
{
	return record[PT_RECORD_HEAD + i / 8] >> i % 8 & 1;
}

enum cm_rc pt_bits_check(const uint8_t *record, uint32_t items, uint32_t size, struct cm_err *err)
{
	uint32_t room = 8 * (pt_bits_len(items) - PT_RECORD_HEAD);
	uint64_t set = 0, beyond = 0;
	enum cm_rc rc = pt_record_opens(record, err);

	for (uint32_t i = 0; i < items; i++)
		set += get_bit(record, i);
	for (uint32_t i = items; i < room; i++)
		beyond += get_bit(record, i);
	if (rc == CM_OK && beyond != 0)
		rc = cm_fail(err, CM_EDATA, "record: a bit outside the %u items", (unsigned)items);
	if (rc == CM_OK && size != 0 && set != size)
		rc = cm_fail(err, CM_EDATA, "record: not %u items", (unsigned)size);
	return rc;
}

void pt_bits_count(const uint8_t *record, uint32_t items, uint64_t *counts)
{
	for (uint32_t i = 0; i < items; i++)
		counts[i] += get_bit(record, i);
}
