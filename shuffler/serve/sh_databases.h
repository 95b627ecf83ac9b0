/* sh_databases.h - a metric by database: whether its connections are there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm_metrics.h"

/* Values of the label "number", for cm_metric_row. */
extern const char *const sh_databases_numbers[];
/* Set a gauge with that label, from what `database` shows of `of` (sh_store.h): 0 where one of a database's
 * connections is lost; no sample where it shows none. */
void sh_databases_set(struct cm_metrics *table, unsigned row,
	bool (*database)(void *of, size_t i, uint32_t *number, bool *up), void *of);
