/* tool_demo_private.h - types and functions shared by the parts of the verb `demo`. */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "cm_buf.h"
#include "pl_plan.h"
#include "tool_demo.h"

#define DEMO_PATH        4096
#define DEMO_DEVICES_MAX 1000000u /* most devices whose readings are generated */

/* Clients are DEMO_CLIENT and the parties after it.  There is one, or one a class where a round has classes;
 * the first is of the class that hides least. */
#define DEMO_CLIENTS 16
enum tool_demo_party { DEMO_SHUFFLER, DEMO_ANALYZER, DEMO_CLIENT, DEMO_PARTIES = DEMO_CLIENT + DEMO_CLIENTS };
enum { DEMO_PAGES = DEMO_CLIENT + 1 }; /* parties with a page; further clients have none */
enum { DEMO_PORTS = 1 + DEMO_PAGES };  /* the shuffler's for clients and analyzer, and the pages' */
extern const char *const tool_demo_party_name[DEMO_PARTIES];

struct demo {
	char bin[DEMO_PATH]; /* folder of the programs; "": on PATH */
	char dir[DEMO_PATH]; /* absolute path; holds all files of the demo */
	bool made;           /* --dir is made by this run */
	bool scratch;        /* the demo made the folder and removes it at the end */
	bool json, own_plan;
	const char *readings, *device_field, *client_dials, *seed;
	const char *plan_path; /* as given; NULL: the built-in one */
	uint64_t recurrences;  /* ask so many of each round, one after the other; 0: those that are due */
	struct pl_plan plan;
	uint64_t devices;                    /* at most so many take part */
	unsigned clients;                    /* how many there are, 1 or more */
	double class_epsilon0[DEMO_CLIENTS]; /* their local guarantees, rising; of one client none */
	json_t *judged;                      /* what the client says of the readings; NULL: nothing */
	char wrong[512];                     /* what is wrong with them first; "": nothing */
	int64_t timeout_ms;
	uint16_t port, http[DEMO_PAGES];
	int held[DEMO_PORTS];    /* a bound socket for each port, -1 before */
	pid_t pid[DEMO_PARTIES]; /* 0: not running */
	int said;                /* pipe from the analyzer's log; -1 before and after it runs */
	int64_t deadline_ms;     /* by the monotonic clock */
	unsigned settled, refused, voided;
	json_int_t void_reports; /* of the try that was void last */
	/* Bytes of each log that tool_demo_complaints has read, in all and for rounds only. */
	size_t heard[DEMO_PARTIES], heard_of_rounds[DEMO_PARTIES];
	char last[DEMO_PARTIES][256]; /* the reason reported last, which is not repeated in a row */
	struct cm_err given_up;       /* why the one client takes no part in a round; CM_OK: it does */
};

/* ---- tool_demo_files.c ---- */

/* "DIR/NAME" into out. */
CM_CHECK enum cm_rc tool_demo_path(
	const struct demo *d, const char *name, char out[DEMO_PATH], struct cm_err *err);
/* The plan (a copy of `path`, or the built-in one for NULL), read into d->plan. */
CM_CHECK enum cm_rc tool_demo_plan(struct demo *d, const char *path, struct cm_err *err);
/* Devices that the largest round takes; for a round without a target, those it needs. */
uint64_t tool_demo_wanted(const struct pl_plan *p);
/* Write certificates, configurations, policies and folders of shuffler, analyzer and the first client. */
CM_CHECK enum cm_rc tool_demo_deploy(const struct demo *d, struct cm_err *err);
/* Write what client k has, from 0.  The first one's certificate is there already. */
CM_CHECK enum cm_rc tool_demo_client(const struct demo *d, unsigned k, struct cm_err *err);

/* ---- tool_demo_recur.c ---- */

/* Append a plan's text to out, changed: a round that recurs is asked `most` times at most, one after the
 * other, whenever it would be due.  Each key stays on its line.  Rounds and their costs are otherwise the
 * same. */
CM_CHECK enum cm_rc tool_demo_recur(
	const char *text, size_t n, uint64_t most, struct cm_buf *out, struct cm_err *err);

/* ---- tool_demo_judge.c ---- */

/* Let the client judge the readings for the plan, into d->judged and d->wrong. */
CM_CHECK enum cm_rc tool_demo_judge(struct demo *d, struct cm_err *err);
/* What was found, as the event `started` has it: round, query, wrong, text and advice of each. */
json_t *tool_demo_findings(const struct demo *d);
/* CM_ELATER: a round waits for the end of its window, and that comes after --timeout. */
CM_CHECK enum cm_rc tool_demo_windows(const struct demo *d, struct cm_err *err);
/* Count the classes of the plan's rounds: d->clients and d->class_epsilon0.  CM_EUSAGE: they are too many, or
 * the devices have no names by which they can be divided. */
CM_CHECK enum cm_rc tool_demo_classes(struct demo *d, struct cm_err *err);
/* Divide the devices that the client found among the clients, each with a list of its own, so that each class
 * has the devices that the round wants of it. */
CM_CHECK enum cm_rc tool_demo_divide(const struct demo *d, struct cm_err *err);

/* ---- tool_demo_readings.c ---- */

/* Write DIR/readings.ndjson: a reading of each of d->devices devices with every field that the plan asks for;
 * the same at every call.  CM_EUSAGE for a plan with fields for which no readings can be generated. */
CM_CHECK enum cm_rc tool_demo_readings(const struct demo *d, struct cm_err *err);

/* ---- tool_demo_children.c ---- */

/* Start a party's daemon with its log in DIR/PARTY.log; the analyzer's log comes through d->said instead. */
CM_CHECK enum cm_rc tool_demo_start(struct demo *d, enum tool_demo_party party, struct cm_err *err);
/* CM_OK while all daemons that were started run.  Else why one ended, with its code. */
CM_CHECK enum cm_rc tool_demo_alive(struct demo *d, struct cm_err *err);
/* Wait until the shuffler's `check` reports that the daemon runs; CM_EUNAVAIL with its last output. */
CM_CHECK enum cm_rc tool_demo_ready(struct demo *d, struct cm_err *err);
/* Run PARTY's VERB... (NULL last) to its end and collect its output, at most out->max bytes.  exit_code: what
 * it ended with; NULL: it must end with 0, else CM_EUNAVAIL. */
CM_CHECK enum cm_rc tool_demo_ask(struct demo *d, enum tool_demo_party party, const char *const *verb,
	struct cm_buf *out, int *exit_code, struct cm_err *err);
/* The last line of DIR/NAME.log that is not empty, for a message. */
void tool_demo_last_words(const struct demo *d, const char *name, char *out, size_t size);
/* The analyzer has closed its log: wait for its end.  Not CM_OK: how it failed. */
CM_CHECK enum cm_rc tool_demo_ended(struct demo *d, struct cm_err *err);
/* End all daemons that run. */
void tool_demo_stop(struct demo *d);

/* ---- tool_demo_events.c ---- */

/* Every event is a line on standard output, JSON or for people, flushed. */
CM_CHECK enum cm_rc tool_demo_started(const struct demo *d, struct cm_err *err);
/* Handle one line of the analyzer's log; lines of no interest to a reader are skipped. */
CM_CHECK enum cm_rc tool_demo_heard(struct demo *d, const char *line, struct cm_err *err);
CM_CHECK enum cm_rc tool_demo_finished(
	const struct demo *d, int exit_code, const char *why, struct cm_err *err);

/* An event as JSON: its members besides schema, time and name; consumes `fields`. */
CM_CHECK enum cm_rc tool_demo_emit(const char *event, json_t *fields, struct cm_err *err);

/* ---- tool_demo_complaints.c ---- */

/* Print an event for each warning and error with a reason that client and shuffler have logged since the last
 * such call.  rounds_only: only for those about a round; the other call does not repeat these in a row.  A
 * client that refuses a round, or passes it over for a fault of its input, which stays as it is, is kept as
 * d->given_up. */
CM_CHECK enum cm_rc tool_demo_complaints(struct demo *d, bool rounds_only, struct cm_err *err);
