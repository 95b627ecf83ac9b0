/* sh_databases.h - tells whether the connections to each database are alive: for the metric, for readiness,
 * and to end a process that has lost one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm_metrics.h"

/* Values of the label "number", for cm_metric_row. */
extern const char *const sh_databases_numbers[];
/* Is one of these connections lost?  Sets the number of its database.  The process must then end: the locks
 * that keep others from the state ended with the connection, so it must not offer a round that another
 * process may have ended. */
bool sh_databases_lost(
	bool (*database)(void *of, size_t i, uint32_t *number, bool *up), void *of, uint32_t *number);
/* Set the reason why a process ends that has lost one: CM_EIO. */
void sh_databases_say(uint32_t number, struct cm_err *err);
/* Set a gauge with that label, from what `database` shows of `of` (sh_store.h): 0 if one of a database's
 * connections is lost; no sample if the database has no connection. */
void sh_databases_set(struct cm_metrics *table, unsigned row,
	bool (*database)(void *of, size_t i, uint32_t *number, bool *up), void *of);
