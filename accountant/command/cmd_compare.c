/* cmd_compare.c - asks every method the same question. */
#include <math.h>
#include <stdlib.h>

#include "cmd.h"

struct entry {
	const struct acct_method *method;
	struct acct_method_answer answer;
	enum acct_rc rc;
	const char *why;
	double seconds;
};

/* The number in the table: the method's upper end or value, or the lower end if it gives a lower bound. */
static double value(const struct acct_method_answer *a)
{
	return a->worth == ACCT_LOWER ? a->bound.lower : a->bound.upper;
}

/* x divided by the number of the method pld; NAN if that is 0 or infinite. */
static double ratio(double x, double reference)
{
	return reference > 0 && isfinite(reference) ? x / reference : (double)NAN;
}

static void ask(const struct cmd_question *q, const struct acct_spec *round, size_t parts, struct entry *e)
{
	double start = cmd_now();

	e->rc = !isnan(q->delta) ? cmd_epsilon(e->method, false, round, parts, q->delta, &e->answer, &e->why)
				 : cmd_delta(e->method, false, round, parts, q->epsilon, &e->answer, &e->why);
	e->seconds = cmd_now() - start;
	if (e->rc && !e->why)
		e->why = acct_strerror(e->rc);
}

static void print_json(
	const struct cmd_question *q, const struct entry *e, size_t n, uint64_t rounds, double reference)
{
	bool epsilon = !isnan(q->delta);
	struct cmd_json j = cmd_json_begin(stdout);

	cmd_json_number(&j, epsilon ? "delta" : "epsilon", epsilon ? q->delta : q->epsilon);
	cmd_json_count(&j, "rounds", rounds);
	cmd_json_open(&j, "methods", '[');
	for (size_t i = 0; i < n; i++) {
		cmd_json_open(&j, NULL, '{');
		if (e[i].rc) {
			cmd_json_text(&j, "method", e[i].method->name);
			cmd_json_text(&j, "why_not", e[i].why);
		} else {
			cmd_json_bound(&j, epsilon ? "epsilon" : "delta", e[i].answer.bound);
			cmd_json_method(&j, e[i].method, false, &e[i].answer);
			cmd_json_number(&j, "ratio", ratio(value(&e[i].answer), reference));
			cmd_json_number(&j, "seconds", e[i].seconds);
		}
		cmd_json_close(&j, '}');
	}
	cmd_json_close(&j, ']');
	cmd_json_close(&j, '}');
	putchar('\n');
}

static void print_row(const struct entry *e, double reference)
{
	char text[CMD_NUMBER_ROOM], times[CMD_NUMBER_ROOM] = "-";
	double x = value(&e->answer), r = ratio(x, reference);

	if (e->rc) {
		printf("%-14s %12s %10s %9s  %s\n", e->method->name, "-", "-", "-", e->why);
		return;
	}
	const char *shown = e->answer.worth == ACCT_PROVED  ? cmd_up(x, text)
			    : e->answer.worth == ACCT_LOWER ? cmd_down(x, text)
							    : cmd_near(x, text);
	if (!isnan(r))
		(void)snprintf(times, sizeof times, "%.4g", r);
	printf("%-14s %12s %10s %9.4f  %s\n", e->method->name, shown, times, e->seconds,
		acct_worth_text(e->answer.worth));
}

/* Print a note once for all methods that have it. */
static void print_note(const struct entry *e, size_t n, size_t i)
{
	const char *note = e[i].rc ? NULL : e[i].answer.note;

	for (size_t k = 0; note && k < i; k++)
		if (!e[k].rc && e[k].answer.note == note)
			return;
	if (!note)
		return;
	fputs(e[i].method->name, stdout);
	for (size_t k = i + 1; k < n; k++)
		if (!e[k].rc && e[k].answer.note == note)
			printf(", %s", e[k].method->name);
	printf(": %s\n", note);
}

static void print_table(const struct cmd_question *q, const struct entry *e, size_t n, double reference)
{
	bool epsilon = !isnan(q->delta);

	printf("%s at %s %g, and its ratio to that of pld\n\n", epsilon ? "epsilon" : "delta",
		epsilon ? "delta" : "epsilon", epsilon ? q->delta : q->epsilon);
	printf("%-14s %12s %10s %9s  %s\n", "method", epsilon ? "epsilon" : "delta", "ratio", "seconds",
		"worth");
	for (size_t i = 0; i < n; i++)
		print_row(&e[i], reference);
	putchar('\n');
	if (!e[0].rc && e[0].answer.bound.lower > 0) {
		char low[CMD_NUMBER_ROOM];

		printf("pld: the exact value of the dominating pairs is at least %s\n",
			cmd_down(e[0].answer.bound.lower, low));
	}
	for (size_t i = 0; i < n; i++)
		print_note(e, n, i);
}

enum cm_rc cmd_run_compare(const struct cmd_question *q)
{
	struct acct_spec *round = NULL;
	struct entry *e;
	size_t n = 0, parts;
	enum cm_rc code;

	if (isnan(q->delta) == isnan(q->epsilon))
		return cmd_fail(
			CM_EUSAGE, "compare: give --delta (to compare epsilons) or --epsilon (deltas)");
	code = cmd_rounds(q->text, q->rounds, false, &round, &parts);
	if (!round)
		return code;
	while (acct_method_row(n))
		n++;
	e = calloc(n + 1, sizeof *e);
	if (!e) {
		free(round);
		return cmd_fail(CM_EINTERNAL, "out of memory");
	}
	for (size_t i = 0; !code && i < n; i++) {
		e[i].method = acct_method_row(i);
		ask(q, round, parts, &e[i]);
		if (e[i].rc == ACCT_ENOMEM)
			code = cmd_refused(e[i].method, e[i].rc, e[i].why);
	}
	if (!code && e[0].rc)
		code = cmd_refused(e[0].method, e[0].rc, e[0].why);
	if (!code && q->format == CMD_OBJECT)
		print_json(q, e, n, cmd_repetitions(round, parts), value(&e[0].answer));
	else if (!code)
		print_table(q, e, n, value(&e[0].answer));
	free(e);
	free(round);
	return code;
}
