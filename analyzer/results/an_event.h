/* an_event.h - writes a settled round as lines for other programs: NDJSON, CSV or the line protocol of
 * InfluxDB.  It writes to the given stream and does no other I/O.
 *
 * All three forms have the same columns.  A line is one item of the answer (a category, a range, the mean),
 * or one count of devices without a reading (no_reading true), or it says that the round has no estimate
 * (fault).  A value that is undefined or infinite is null in NDJSON, empty in CSV and absent in the line
 * protocol.  Columns may be added at the end; none is removed or renamed unless the schema gets a new
 * number. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "an_state.h"

#define AN_ROW_SCHEMA     "tombola.row/1"
#define AN_SETTLED_SCHEMA "tombola.settled/1"

struct an_event {
	uint64_t seq;                   /* number of the SETTLE record in the ledger */
	int64_t settled_ms;             /* time of that record */
	const struct an_round_state *r; /* borrowed */
	json_t *result;                 /* the result document; its owner is the code that made the event */
};

enum an_form { AN_FORM_NDJSON, AN_FORM_CSV, AN_FORM_INFLUX };
/* Parse "ndjson", "csv" or "influx"; false for any other text. */
bool an_form_parse(const char *text, enum an_form *out);

/* The whole round as one document, "tombola.settled/1": the columns of the round, then "items" and
 * "no_reading" with the columns of an item.  NULL: out of memory.  Free with json_decref. */
json_t *an_event_json(const struct an_event *e);
/* Print the line that names the columns; nothing for the other forms. */
void an_event_print_head(enum an_form form, FILE *out);
/* Print the lines of one round.  CM_EIO: writing to `out` failed; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc an_event_print(
	const struct an_event *e, enum an_form form, FILE *out, struct cm_err *err);
