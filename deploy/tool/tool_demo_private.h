/* tool_demo_private.h - declares what the parts of the verb `demo` share. */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "cm_buf.h"
#include "pl_plan.h"
#include "tool_demo.h"

#define DEMO_PATH        4096
#define DEMO_DEVICES_MAX 1000000u /* most devices for which readings are generated */

/* The clients are DEMO_CLIENT and the parties after it.  There is one client, or, if a round has classes,
 * one for each class; the first belongs to the class that hides least. */
#define DEMO_CLIENTS 16
enum tool_demo_party { DEMO_SHUFFLER, DEMO_ANALYZER, DEMO_CLIENT };
enum { DEMO_PARTIES = DEMO_CLIENT + DEMO_CLIENTS };
/* parties with a web page: the shuffler, the analyzer and the first client */
enum { DEMO_PAGES = DEMO_CLIENT + 1 };
/* the shuffler's port for clients and analyzer, and the ports of the pages */
enum { DEMO_PORTS = 1 + DEMO_PAGES };
extern const char *const tool_demo_party_name[DEMO_PARTIES];

struct demo {
	char bin[DEMO_PATH]; /* folder of the programs; empty if they are on PATH */
	char dir[DEMO_PATH]; /* folder of all files of the demo, as an absolute path */
	bool made;           /* this run made the folder that --dir names */
	bool scratch;        /* the demo made the folder and removes it at the end */
	bool json, own_plan;
	const char *readings, *device_field, *client_dials, *seed;
	const char *plan_path; /* the plan's path as given; NULL for the built-in plan */
	/* ask at most this many recurrences of each round, one after the other; 0: ask those that are
	 * due */
	uint64_t recurrences;
	struct pl_plan plan;
	uint64_t devices; /* most devices that take part */
	unsigned clients; /* number of clients, 1 or more */
	/* the clients' local guarantees, rising; unused with one client */
	double class_epsilon0[DEMO_CLIENTS];
	json_t *judged;  /* what the client says of the readings; NULL if it said nothing */
	char wrong[512]; /* the first fault of the readings; empty if they have none */
	int64_t timeout_ms;
	uint16_t port, http[DEMO_PAGES];
	int held[DEMO_PORTS];    /* a bound socket for each port; -1 before it is bound */
	pid_t pid[DEMO_PARTIES]; /* 0 if the daemon is not running */
	int said;                /* pipe from the analyzer's log; -1 before and after the analyzer runs */
	int64_t deadline_ms;     /* in the time of the monotonic clock */
	unsigned settled, refused, voided;
	json_int_t void_reports; /* number of reports in the try that was void last */
	/* How many bytes of each log tool_demo_complaints has read: in calls for all lines, and in calls
	 * for rounds only. */
	size_t heard[DEMO_PARTIES], heard_of_rounds[DEMO_PARTIES];
	/* the reason that was reported last, so that it is not repeated in a row */
	char last[DEMO_PARTIES][256];
	struct cm_err given_up; /* why the only client takes no part in a round; CM_OK if it does */
};

/* ---- tool_demo_files.c ---- */

/* Write "DIR/NAME" into out. */
CM_CHECK enum cm_rc tool_demo_path(
	const struct demo *d, const char *name, char out[DEMO_PATH], struct cm_err *err);
/* Read the plan into d->plan: a copy of `path`, or the built-in one if that is NULL. */
CM_CHECK enum cm_rc tool_demo_plan(struct demo *d, const char *path, struct cm_err *err);
/* How many devices the largest round takes; a round without a target takes those that it needs. */
uint64_t tool_demo_wanted(const struct pl_plan *p);
/* Write certificates, configurations, policies and folders of shuffler, analyzer and the first client. */
CM_CHECK enum cm_rc tool_demo_deploy(const struct demo *d, struct cm_err *err);
/* Write the files of client k, counted from 0.  The first client's certificate exists already. */
CM_CHECK enum cm_rc tool_demo_client(const struct demo *d, unsigned k, struct cm_err *err);

/* ---- tool_demo_recur.c ---- */

/* Append a plan's text to out with one change: a recurring round is asked at most `most` times, one after
 * the other, whenever it would be due.  Each key stays on its line.  Rounds and their costs are otherwise
 * the same. */
CM_CHECK enum cm_rc tool_demo_recur(
	const char *text, size_t n, uint64_t most, struct cm_buf *out, struct cm_err *err);

/* ---- tool_demo_judge.c ---- */

/* Let the client judge the readings for the plan; sets d->judged and d->wrong. */
CM_CHECK enum cm_rc tool_demo_judge(struct demo *d, struct cm_err *err);
/* The findings as the event `started` has them: each with round, query, wrong, text and advice. */
json_t *tool_demo_findings(const struct demo *d);
/* CM_ELATER: a round waits until its window ends, which is later than --timeout. */
CM_CHECK enum cm_rc tool_demo_windows(const struct demo *d, struct cm_err *err);
/* Count the classes of the plan's rounds; sets d->clients and d->class_epsilon0.  CM_EUSAGE: there are too
 * many, or the devices have no names by which they can be divided. */
CM_CHECK enum cm_rc tool_demo_classes(struct demo *d, struct cm_err *err);
/* Divide the devices that the client found among the clients, each with a list of its own, so that each class
 * has the devices that the round wants of it. */
CM_CHECK enum cm_rc tool_demo_divide(const struct demo *d, struct cm_err *err);

/* ---- tool_demo_readings.c ---- */

/* Write DIR/readings.ndjson: one reading for each of d->devices devices, with every field that the plan
 * asks for.  Every call writes the same.  CM_EUSAGE: the plan has a field for which no readings can be
 * generated. */
CM_CHECK enum cm_rc tool_demo_readings(const struct demo *d, struct cm_err *err);

/* ---- tool_demo_children.c ---- */

/* Start a party's daemon with its log in DIR/PARTY.log; the analyzer's log comes through d->said instead. */
CM_CHECK enum cm_rc tool_demo_start(struct demo *d, enum tool_demo_party party, struct cm_err *err);
/* CM_OK while all daemons that were started run.  Otherwise the fault says why one ended, with its exit
 * code. */
CM_CHECK enum cm_rc tool_demo_alive(struct demo *d, struct cm_err *err);
/* Wait until the shuffler's `check` reports that the daemon runs.  CM_EUNAVAIL: it does not; the fault has
 * the last output of `check`. */
CM_CHECK enum cm_rc tool_demo_ready(struct demo *d, struct cm_err *err);
/* Run PARTY's VERB... (the last item is NULL) to its end and collect its output, at most out->max bytes.
 * exit_code: set to its exit code; if it is NULL and the verb does not end with 0, CM_EUNAVAIL. */
CM_CHECK enum cm_rc tool_demo_ask(struct demo *d, enum tool_demo_party party, const char *const *verb,
	struct cm_buf *out, int *exit_code, struct cm_err *err);
/* The last line of DIR/NAME.log that is not empty, for a message. */
void tool_demo_last_words(const struct demo *d, const char *name, char *out, size_t size);
/* Wait for the end of the analyzer, which has closed its log.  The result says how it failed, or CM_OK. */
CM_CHECK enum cm_rc tool_demo_ended(struct demo *d, struct cm_err *err);
/* End all running daemons. */
void tool_demo_stop(struct demo *d);

/* ---- tool_demo_events.c ---- */

/* The functions below print each event as a line on standard output, as JSON or for people, and flush
 * it. */
CM_CHECK enum cm_rc tool_demo_started(const struct demo *d, struct cm_err *err);
/* Handle one line of the analyzer's log; lines that do not concern a reader are skipped. */
CM_CHECK enum cm_rc tool_demo_heard(struct demo *d, const char *line, struct cm_err *err);
CM_CHECK enum cm_rc tool_demo_finished(
	const struct demo *d, int exit_code, const char *why, struct cm_err *err);

/* Print an event as JSON; `fields` has its members besides schema, time and name, and is consumed. */
CM_CHECK enum cm_rc tool_demo_emit(const char *event, json_t *fields, struct cm_err *err);

/* ---- tool_demo_complaints.c ---- */

/* Print an event for each warning and error with a reason that client and shuffler have logged since the
 * last such call.  rounds_only: only for those about a round; a later call for all lines does not repeat
 * these in a row.  If a client refuses a round, or passes it over for a lasting fault of its input, the
 * reason is kept in d->given_up. */
CM_CHECK enum cm_rc tool_demo_complaints(struct demo *d, bool rounds_only, struct cm_err *err);
