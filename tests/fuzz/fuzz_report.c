/* fuzz_report.c - any bytes as an opened record of any row: what is accepted adds at most one to each count,
 * what is refused nothing, and neither reads beyond the record. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "queries.h"

#define ITEMS_MAX 200u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

/* The row and its parameters by two bytes of the input.  Deriving them costs far more than a record: what
 * was derived is kept. */
static const struct pt_protocol *choose(uint8_t row, uint8_t items, const struct pt_randomizer **p)
{
	static char text[ITEMS_MAX][8], *category[ITEMS_MAX];
	static struct pt_randomizer *kept[32][ITEMS_MAX];
	struct qy_query q = { .kind = QY_HISTOGRAM, .name = "q", .field = "f", .category = category };
	const struct pt_protocol *chosen = pt_row(row % 32u);
	struct cm_err err;

	if (!chosen)
		return NULL;
	q.categories = 2 + items % (ITEMS_MAX - 2);
	for (uint32_t i = 0; i < q.categories; i++)
		category[i] = text[i];
	if ((chosen->device->kinds & QY_HISTOGRAM) == 0)
		q = query_of_row(chosen);
	struct pt_randomizer **at =
		&kept[row % 32u][(chosen->device->kinds & QY_HISTOGRAM) != 0 ? items % (ITEMS_MAX - 2) : 0];
	if (!*at) {
		*at = malloc(sizeof **at);
		require(*at && query_derive(chosen, &q, 1, *at, &err) == CM_OK);
	}
	*p = *at;
	return chosen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pt_protocol *row;
	const struct pt_randomizer *p;
	struct cm_err err = { 0 };
	uint64_t *counts, sum = 0;
	uint8_t *record;
	uint32_t len;
	enum cm_rc rc;

	if (size < 2 || !(row = choose(data[0], data[1], &p)))
		return 0;
	/* Exactly as long as a record, so that a sanitizer sees what is beyond. */
	len = row->device->record_len(p);
	record = calloc(len, 1);
	counts = calloc(row->tallies(p), sizeof *counts);
	require(record && counts);
	memcpy(record, data + 2, size - 2 < len ? size - 2 : len);
	rc = row->tally(p, record, counts, &err);
	require(rc == CM_OK || rc == CM_EDATA);
	for (uint32_t i = 0; i < row->tallies(p); i++) {
		require(counts[i] <= 1);
		sum += counts[i];
	}
	require(rc == CM_OK || sum == 0);
	free(record);
	free(counts);
	return 0;
}
