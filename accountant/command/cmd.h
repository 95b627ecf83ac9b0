/* cmd.h - declarations shared by the verbs of tombola-accountant: the question, exit codes, and numbers
 * printed for people and for programs.  Only the command does I/O; every number comes from the libraries. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "acct_method.h"

#define CMD_MOST_ROUNDS  1024u
#define CMD_MOST_METHODS 16u
#define CMD_SPEC_ROOM    4096u

enum {
	CMD_OVER = 3, /* the budget does not allow the rounds */
	CMD_USAGE = 64,
	CMD_DATA = 65,
	CMD_NO_INPUT = 66,
	CMD_INTERNAL = 70,
	CMD_CANNOT_CREATE = 73,
	CMD_WRITE = 74,
};

/* Bits of the options; an option is accepted by the verbs whose `takes` has its bit. */
enum {
	CMD_EPSILON = 1u << 0,
	CMD_DELTA = 1u << 1,
	CMD_ROUND = 1u << 2,
	CMD_METHOD = 1u << 3,
	CMD_METHODS = 1u << 4, /* --method may be repeated */
	CMD_BOUND = 1u << 5,
	CMD_JSON = 1u << 6,
	CMD_FORMAT = 1u << 7,
	CMD_OUTPUT = 1u << 8,
	CMD_DELTA_MIN = 1u << 9,
	CMD_DELTA_MAX = 1u << 10,
	CMD_OVER_KEY = 1u << 11,
	CMD_FROM = 1u << 12,
	CMD_TO = 1u << 13,
	CMD_POINTS = 1u << 14,
	CMD_TITLE = 1u << 15,
	CMD_FILE = 1u << 16,  /* one argument after the verb */
	CMD_SHELL = 1u << 17, /* one argument after the verb: bash or zsh */
	CMD_GROUP = 1u << 18,
	CMD_WEIGHT = 1u << 19,
	CMD_ERROR = 1u << 20,
	CMD_NAME = 1u << 21, /* one argument after the verb, or none */
};

/* Their names in --format, in this order. */
#define CMD_FORMATS "table csv svg json trade-off"
enum cmd_format { CMD_TABLE, CMD_CSV, CMD_SVG, CMD_OBJECT, CMD_TRADE_OFF };

struct cmd_question {
	unsigned given;                    /* bits of the options that were given */
	double epsilon, delta;             /* NAN when not given */
	const char *text[CMD_MOST_ROUNDS]; /* of --round, as given; borrowed from argv */
	size_t rounds;
	const struct acct_method *method[CMD_MOST_METHODS]; /* at least one: pld unless others are given */
	size_t methods;
	bool published;
	enum cmd_format format;
	const char *output, *over, *title, *file; /* NULL when not given */
	const char *weights, *errors;             /* a/b/.. as given; NULL when not given */
	double delta_min, delta_max, from, to;    /* NAN when not given */
	unsigned points;                          /* 0 when not given */
	unsigned group;                           /* records that neighbours differ in; 0 when not given */
};

struct cmd_verb {
	const char *name;
	unsigned takes, needs;
	/* Returns an exit code.  On anything but 0 and CMD_OVER it has printed one line on stderr and nothing
	 * on stdout. */
	int (*run)(const struct cmd_question *q);
	const char *help; /* lines of at most 100 characters, the first its usage */
};

extern const struct cmd_verb cmd_verbs[]; /* ended by a NULL name */

/* Reads options into *q.  Returns 0: run *verb; -1: help, version or names were printed; else an exit code,
 * after printing the fault. */
int cmd_parse(int argc, char **argv, struct cmd_question *q, const struct cmd_verb **verb);

/* Option i by its long name, with its bit; NULL past the last. */
const char *cmd_option(size_t i, unsigned *bit);

/* "tombola-accountant: ..." to stderr; returns code. */
__attribute__((format(printf, 2, 3))) int cmd_fail(int code, const char *format, ...);

/* Rounds `import:FILE[,count=][,sampling=][,defect=]`, a privacy curve from a file (tombola-accountant(1)),
 * `matrix:FILE,n=[,count=][,sampling=][,defect=]`, a randomizer by its probabilities, and
 * `personal:FILE,k=[,count=][,defect=]`, response of participants with guarantees of their own.  What was
 * read stays loaded while the program runs.  ACCT_EDOMAIN: why says what is wrong with the file. */
bool cmd_is_import(const char *text);
ACCT_CHECK enum acct_rc cmd_import(
	const char *text, struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room);

/* Opens a file of such a round for reading; NULL with errno. */
FILE *cmd_import_open(const char *path);
/* Prints why a text is no round.  Returns CMD_NO_INPUT if its file could not be opened, else CMD_DATA. */
int cmd_not_a_round(const char *text, const char *why);

/* The parts of a round, written to `part`; with `published` their cells are those of the published reduction.
 * ACCT_EDOMAIN: why holds at most room bytes. */
ACCT_CHECK enum acct_rc cmd_parts(const char *text, bool published, struct acct_spec part[ACCT_SPEC_PARTS],
	size_t *parts, char *why, size_t room);
/* The parts of all the question's texts, owned by the caller (free).  Returns 0; or an exit code after a line
 * that names the round, with *out NULL. */
int cmd_rounds(const char *const *text, size_t n, bool published, struct acct_spec **out, size_t *parts);
/* The number of rounds, each slot and each repetition counted. */
uint64_t cmd_repetitions(const struct acct_spec *part, size_t parts);

/* A method's answer, with its worth for this question: on the published reduction it is a paper value. */
enum acct_rc cmd_epsilon(const struct acct_method *m, bool published, const struct acct_spec *round, size_t n,
	double delta, struct acct_method_answer *out, const char **why);
/* The same at each of 1 or more deltas. */
enum acct_rc cmd_epsilons(const struct acct_method *m, bool published, const struct acct_spec *round,
	size_t n, const double *delta, size_t deltas, struct acct_method_answer *out, const char **why);
enum acct_rc cmd_delta(const struct acct_method *m, bool published, const struct acct_spec *round, size_t n,
	double epsilon, struct acct_method_answer *out, const char **why);
/* Prints a line with `why`, or with the meaning of rc, and returns the exit code of a failed question. */
int cmd_refused(const struct acct_method *m, enum acct_rc rc, const char *why);

double cmd_now(void); /* seconds on a monotonic clock */

#define CMD_NUMBER_ROOM 32u
/* Six significant digits, rounded outwards: the printed number is at least (cmd_up) or at most (cmd_down) x.
 * Returns out. */
const char *cmd_up(double x, char out[CMD_NUMBER_ROOM]);
const char *cmd_down(double x, char out[CMD_NUMBER_ROOM]);
/* Six digits, to nearest: for a number that is not a bound. */
const char *cmd_near(double x, char out[CMD_NUMBER_ROOM]);

/* Writes one JSON object to a stream: members in the order of calls, with commas; a number that is not finite
 * becomes null. */
struct cmd_json {
	FILE *to;
	bool comma;
};
struct cmd_json cmd_json_begin(FILE *to); /* {"schema":"tombola.accountant/1" */
void cmd_json_number(struct cmd_json *j, const char *key, double x);
void cmd_json_count(struct cmd_json *j, const char *key, uint64_t n);
void cmd_json_text(struct cmd_json *j, const char *key, const char *text); /* NULL: null */
void cmd_json_bool(struct cmd_json *j, const char *key, bool b);
/* Writes {, }, [ or ], as a member (key) or as an element (NULL). */
void cmd_json_open(struct cmd_json *j, const char *key, char bracket);
void cmd_json_close(struct cmd_json *j, char bracket);
/* epsilon_lower, epsilon_upper or delta_... */
void cmd_json_bound(struct cmd_json *j, const char *quantity, struct acct_bound b);
/* method, bound, worth, note. */
void cmd_json_method(
	struct cmd_json *j, const struct acct_method *m, bool published, const struct acct_method_answer *a);

/* Prints "epsilon at most X (at least Y)", and no words of a guarantee when the answer is none. */
void cmd_say_bound(const char *quantity, const struct acct_method_answer *a);
/* Prints the second line: whether the answer is a guarantee. */
void cmd_say_worth(const struct acct_method *m, bool published, const struct acct_method_answer *a);

int cmd_run_epsilon(const struct cmd_question *q);
int cmd_run_delta(const struct cmd_question *q);
int cmd_run_rounds(const struct cmd_question *q);
int cmd_run_calibrate(const struct cmd_question *q);
int cmd_run_optimise(const struct cmd_question *q);
int cmd_run_compare(const struct cmd_question *q);
int cmd_run_curve(const struct cmd_question *q);
int cmd_run_audit(const struct cmd_question *q);
int cmd_run_paper(const struct cmd_question *q);
int cmd_run_describe(const struct cmd_question *q);
int cmd_run_names(const struct cmd_question *q);
int cmd_run_figure(const struct cmd_question *q);
int cmd_run_export(const struct cmd_question *q);
int cmd_run_completion(const struct cmd_question *q);
