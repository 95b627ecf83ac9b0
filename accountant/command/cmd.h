/* cmd.h - what the verbs of tombola-accountant share: the question that options ask, error messages, and
 * printing of numbers for people and for programs.  Only the command does I/O; every number comes from the
 * libraries. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "acct_method.h"
#include "cm_cli.h"

#define CMD_MOST_ROUNDS  1024u
#define CMD_MOST_METHODS 16u
#define CMD_SPEC_ROOM    4096u

/* The names that --format takes, in the order of enum cmd_format after CMD_UNSAID, which stands for "not
 * given". */
#define CMD_FORMATS "table|csv|json|trade-off"
enum cmd_format { CMD_UNSAID, CMD_TABLE, CMD_CSV, CMD_OBJECT, CMD_TRADE_OFF };

struct cmd_question {
	double epsilon, delta;   /* NAN: not given */
	const char *const *text; /* texts of --round, as given */
	size_t rounds;           /* number of texts, up to CMD_MOST_ROUNDS */
	/* The methods asked, at least one: pld if no other is given. */
	const struct acct_method *method[CMD_MOST_METHODS];
	size_t methods;
	/* --bound published: answer for the reduction that papers publish */
	bool published;
	enum cmd_format format;           /* CMD_OBJECT with --json */
	const char *output, *over, *file; /* NULL: not given */
	/* texts of --weight and --error: a number for each open round, a/b/.. */
	const char *weight, *error;
	double delta_min, delta_max, from, to; /* NAN: not given */
	unsigned points;                       /* 0: not given */
	unsigned group; /* number of records in which neighbours differ; 0: not given */
};

extern const struct cm_cli_verb cmd_verbs[];

/* What --method accepts, "pld|lower|..", for completions of the shell; empty before cmd_list_methods(). */
extern char cmd_methods[];
void cmd_list_methods(void);

/* Read the verb's options into a question, and call `answer`, which prints the answer.  needs: the options
 * that must be given, ended by NULL.  Each error is printed where it is found. */
typedef enum cm_rc cmd_answer_fn(const struct cmd_question *q);
enum cm_rc cmd_ask(
	const struct cm_cli *cli, const char *const *needs, cmd_answer_fn *answer, struct cm_err *err);

/* Print "tombola-accountant: " and the text to stderr; returns code. */
__attribute__((format(printf, 2, 3))) enum cm_rc cmd_fail(enum cm_rc code, const char *format, ...);

/* Rounds that a file describes (tombola-accountant(1)):
 *   import:FILE[,count=][,sampling=][,defect=]     a privacy curve
 *   matrix:FILE,n=[,count=][,sampling=][,defect=]  a randomizer, by its probabilities
 *   personal:FILE,k=[,count=][,defect=]            response of participants with guarantees of their own
 *
 * cmd_is_import: is this the text of such a round?  cmd_import reads the file; what was read stays in
 * memory while the program runs.  ACCT_EDOMAIN: why says what is wrong with the file. */
bool cmd_is_import(const char *text);
ACCT_CHECK enum acct_rc cmd_import(
	const char *text, struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room);

/* Open a file of such a round for reading; NULL with errno. */
FILE *cmd_import_open(const char *path);
/* Print why a text is no round.  Returns CM_ENOINPUT if its file could not be opened, else CM_EDATA. */
enum cm_rc cmd_not_a_round(const char *text, const char *why);

/* Read the text of a round into the parts that it is composed of.  published: the parts have the cells of
 * the reduction that papers publish.  ACCT_EDOMAIN: why gets a sentence of at most room bytes. */
ACCT_CHECK enum acct_rc cmd_parts(const char *text, bool published, struct acct_spec part[ACCT_SPEC_PARTS],
	size_t *parts, char *why, size_t room);
/* Read the parts of n texts into *out, which the caller frees.  On an error it prints a message that names
 * the round, and *out is NULL. */
enum cm_rc cmd_rounds(
	const char *const *text, size_t n, bool published, struct acct_spec **out, size_t *parts);
/* The number of rounds, counting each slot and each repetition. */
uint64_t cmd_repetitions(const struct acct_spec *part, size_t parts);

/* Compute a method's answer for these rounds.  The answer also says what it is worth (enum acct_worth), for
 * example a proved bound; for the published reduction it is only a paper value. */
enum acct_rc cmd_epsilon(const struct acct_method *m, bool published, const struct acct_spec *round, size_t n,
	double delta, struct acct_method_answer *out, const char **why);
/* The same for each of deltas >= 1 values of delta. */
enum acct_rc cmd_epsilons(const struct acct_method *m, bool published, const struct acct_spec *round,
	size_t n, const double *delta, size_t deltas, struct acct_method_answer *out, const char **why);
enum acct_rc cmd_delta(const struct acct_method *m, bool published, const struct acct_spec *round, size_t n,
	double epsilon, struct acct_method_answer *out, const char **why);
/* Print that the method refuses the question, with the reason `why` or, if that is NULL, with what rc
 * means.  Returns the exit code of a failed question. */
enum cm_rc cmd_refused(const struct acct_method *m, enum acct_rc rc, const char *why);

double cmd_now(void); /* seconds on a monotonic clock */

/* Open a file to write the answer to; NULL: standard output.  Prints a message if that fails. */
enum cm_rc cmd_create(const char *path, FILE **to);
/* Close the file.  Standard output stays open, and cm_cli_main() checks it at the end. */
enum cm_rc cmd_close(const char *path, FILE *to);

#define CMD_NUMBER_ROOM 32u
/* Six significant digits, rounded outwards: the printed number is at least (cmd_up) or at most (cmd_down) x.
 * Returns out. */
const char *cmd_up(double x, char out[CMD_NUMBER_ROOM]);
const char *cmd_down(double x, char out[CMD_NUMBER_ROOM]);
/* Six significant digits, rounded to nearest, for a number that is not a bound. */
const char *cmd_near(double x, char out[CMD_NUMBER_ROOM]);

/* Writes one JSON object to a stream: members in the order of calls, with commas.  A number that is not
 * finite becomes null. */
struct cmd_json {
	FILE *to;
	bool comma;
};
struct cmd_json cmd_json_begin(FILE *to); /* {"schema":"tombola.accountant/1" */
void cmd_json_number(struct cmd_json *j, const char *key, double x);
void cmd_json_count(struct cmd_json *j, const char *key, uint64_t n);
void cmd_json_text(struct cmd_json *j, const char *key, const char *text); /* NULL: null */
void cmd_json_bool(struct cmd_json *j, const char *key, bool b);
/* Write {, }, [ or ]: as a member if key is given, as an element if key is NULL. */
void cmd_json_open(struct cmd_json *j, const char *key, char bracket);
void cmd_json_close(struct cmd_json *j, char bracket);
/* Write the members epsilon_lower and epsilon_upper, or the same of delta. */
void cmd_json_bound(struct cmd_json *j, const char *quantity, struct acct_bound b);
/* Write the members that describe a method's answer: method, bound, worth (what the answer may be used for)
 * and note. */
void cmd_json_method(
	struct cmd_json *j, const struct acct_method *m, bool published, const struct acct_method_answer *a);

/* Print "epsilon at most X (at least Y)", or words without a claim if the answer is no guarantee. */
void cmd_say_bound(const char *quantity, const struct acct_method_answer *a);
/* Print the second line: whether the answer is a guarantee. */
void cmd_say_worth(const struct acct_method *m, bool published, const struct acct_method_answer *a);

cmd_answer_fn cmd_run_epsilon;
cmd_answer_fn cmd_run_delta;
cmd_answer_fn cmd_run_rounds;
cmd_answer_fn cmd_run_calibrate;
cmd_answer_fn cmd_run_optimise;
cmd_answer_fn cmd_run_compare;
cmd_answer_fn cmd_run_curve;
cmd_answer_fn cmd_run_audit;
cmd_answer_fn cmd_run_describe;
cmd_answer_fn cmd_run_names;
cmd_answer_fn cmd_run_export;
