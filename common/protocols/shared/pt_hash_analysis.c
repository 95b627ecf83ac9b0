/* pt_hash_analysis.c - counts the categories that hashes support. */
#include "pt_hash_analysis.h"

#include "cm_buf.h"

enum cm_rc pt_hash_count(
	uint32_t bins, uint32_t cells, bool rare, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	struct pt_hash h = { .a = cm_get_le64(record + PT_RECORD_HEAD),
		.b = cm_get_le64(record + PT_RECORD_HEAD + 8) };
	uint64_t cell = cm_get_le64(record + PT_RECORD_HEAD + 16), point = h.b;

	if (pt_record_opens(record, err) != CM_OK)
		return CM_EDATA;
	if (rare && h.a == PT_RECORD_NULL && h.b == PT_RECORD_NULL && cell == PT_RECORD_NULL)
		return CM_OK;
	if (h.a >= PT_HASH_POINTS || h.b >= PT_HASH_POINTS || cell >= cells)
		return cm_fail(err, CM_EDATA, "record: no hash, or outside the %u cells", (unsigned)cells);
	for (uint32_t i = 0; i < bins; i++) {
		counts[i] += pt_hash_cell(point, cells) == cell;
		point = pt_hash_next(&h, point);
	}
	if (rare)
		counts[bins]++;
	return CM_OK;
}
