/* sh_databases.h - whether the connections to each database are there: for the metric, for readiness, and for
 * the end of a process that has lost one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm_metrics.h"

/* Values of the label "number", for cm_metric_row. */
extern const char *const sh_databases_numbers[];
/* One of these connections is lost: its database's number.  A process ends then, since the locks that keep
 * others from the state ended with it: it must not offer a round that another may have ended meanwhile. */
bool sh_databases_lost(
	bool (*database)(void *of, size_t i, uint32_t *number, bool *up), void *of, uint32_t *number);
/* Why a process that has lost one ends, CM_EIO. */
void sh_databases_say(uint32_t number, struct cm_err *err);
/* Set a gauge with that label, from what `database` shows of `of` (sh_store.h): 0 where one of a database's
 * connections is lost; no sample where it shows none. */
void sh_databases_set(struct cm_metrics *table, unsigned row,
	bool (*database)(void *of, size_t i, uint32_t *number, bool *up), void *of);
