/* tool_demo_private.h - what the parts of the verb `demo` share. */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "cm_buf.h"
#include "pl_plan.h"
#include "tool_demo.h"

#define DEMO_PATH        4096
#define DEMO_DEVICES_MAX 1000000u /* whose readings are made up */

enum demo_party { DEMO_SHUFFLER, DEMO_CLIENT, DEMO_ANALYZER, DEMO_PARTIES };
extern const char *const demo_party_name[DEMO_PARTIES];

struct demo {
	char bin[DEMO_PATH]; /* folder of the programs; "": on PATH */
	char dir[DEMO_PATH]; /* absolute; everything is in it */
	bool scratch;        /* made by us, to be removed */
	bool json, own_plan;
	const char *readings, *device_field, *client_dials, *seed;
	struct pl_plan plan;
	uint64_t devices;
	uint16_t port, http[DEMO_PARTIES];
	pid_t pid[DEMO_PARTIES]; /* 0: not running */
	int said;                /* what the analyzer logs, -1 before and after */
	int64_t deadline_ms;     /* by the monotonic clock */
	unsigned settled, refused, voided;
	size_t heard[DEMO_PARTIES]; /* bytes of its log that demo_complaints has read */
};

/* ---- tool_demo_files.c ---- */

/* "DIR/NAME" into out. */
CM_CHECK enum cm_rc demo_path(
	const struct demo *d, const char *name, char out[DEMO_PATH], struct cm_err *err);
/* The plan (a copy of `path`, or the one that is built in for NULL), read into d->plan. */
CM_CHECK enum cm_rc demo_plan(struct demo *d, const char *path, struct cm_err *err);
/* Devices that the largest round takes; of one without a target, those it needs. */
uint64_t demo_wanted(const struct pl_plan *p);
/* Certificates, configurations, policies and folders of the three. */
CM_CHECK enum cm_rc demo_deploy(const struct demo *d, struct cm_err *err);

/* ---- tool_demo_readings.c ---- */

/* DIR/readings.ndjson: a reading of each of d->devices devices with every field that the plan asks for; the
 * same at every call.  CM_EUSAGE for a plan whose fields cannot be made up. */
CM_CHECK enum cm_rc demo_readings(const struct demo *d, struct cm_err *err);

/* ---- tool_demo_children.c ---- */

/* Start a party's daemon, its log in DIR/PARTY.log; the analyzer's comes through d->said instead. */
CM_CHECK enum cm_rc demo_start(struct demo *d, enum demo_party party, struct cm_err *err);
/* CM_OK as long as those that were started run.  Otherwise why one ended, and with its code. */
CM_CHECK enum cm_rc demo_alive(struct demo *d, struct cm_err *err);
/* Wait until the shuffler's `check` finds it; CM_EUNAVAIL with its last words. */
CM_CHECK enum cm_rc demo_ready(struct demo *d, struct cm_err *err);
/* Run PARTY's VERB... (NULL last) to its end and take what it prints, at most out->max bytes. */
CM_CHECK enum cm_rc demo_ask(struct demo *d, enum demo_party party, const char *const *verb,
	struct cm_buf *out, struct cm_err *err);
/* The analyzer has closed its log: wait for it.  Not CM_OK: how it failed. */
CM_CHECK enum cm_rc demo_ended(struct demo *d, struct cm_err *err);
/* End whatever runs. */
void demo_stop(struct demo *d);

/* ---- tool_demo_events.c ---- */

/* Every event is a line on standard output, JSON or for people, flushed. */
CM_CHECK enum cm_rc demo_started(const struct demo *d, struct cm_err *err);
/* One line of the analyzer's log; lines that tell nothing are passed over. */
CM_CHECK enum cm_rc demo_heard(struct demo *d, const char *line, struct cm_err *err);
CM_CHECK enum cm_rc demo_finished(const struct demo *d, int exit_code, const char *why, struct cm_err *err);

/* An event as JSON: its members besides schema, time and name; consumes `fields`. */
CM_CHECK enum cm_rc demo_emit(const char *event, json_t *fields, struct cm_err *err);

/* ---- tool_demo_complaints.c ---- */

/* An event for each warning and error with a reason that client and shuffler have logged since the last call.
 */
CM_CHECK enum cm_rc demo_complaints(struct demo *d, struct cm_err *err);
