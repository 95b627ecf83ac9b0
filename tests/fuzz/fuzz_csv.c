/* fuzz_csv.c - CSV readings, cut where the first byte says: no crash, and the same rows however they are
 * cut. */
#include "fuzz_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_rows(CL_FORMAT_CSV, data, size);
}
