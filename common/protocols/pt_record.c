/* pt_record.c - the plaintext of one message. */
#include "pt_record.h"

#include "cm_buf.h"

/* Version 1, kind 0, slot 0 and zeroes, as one integer. */
#define HEAD UINT64_C(1)

void pt_record_begin(uint8_t head[PT_RECORD_HEAD])
{
	cm_put_le64(head, HEAD);
}

enum cm_rc pt_record_opens(const uint8_t head[PT_RECORD_HEAD], struct cm_err *err)
{
	if (cm_get_le64(head) != HEAD)
		return cm_fail(err, CM_EDATA, "record: unknown version, kind or filler");
	return CM_OK;
}

void pt_record_put(uint8_t record[PT_RECORD_LEN], uint64_t value)
{
	pt_record_begin(record);
	cm_put_le64(record + PT_RECORD_HEAD, value);
}

enum cm_rc pt_record_get(
	const uint8_t record[PT_RECORD_LEN], uint32_t bins, uint32_t *value, struct cm_err *err)
{
	uint64_t v = cm_get_le64(record + PT_RECORD_HEAD);

	if (pt_record_opens(record, err) != CM_OK)
		return CM_EDATA;
	if (v >= bins)
		return cm_fail(err, CM_EDATA, "record: value outside the %u bins", (unsigned)bins);
	*value = (uint32_t)v;
	return CM_OK;
}
