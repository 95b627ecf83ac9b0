/* cmd_optimise.c - the verb optimise: divides a budget among rounds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_optimise.h"
#include "cmd.h"

struct asked {
	const struct cmd_question *q;
	struct acct_wish wish[CMD_MOST_ROUNDS];
	struct acct_granted granted[CMD_MOST_ROUNDS];
	struct acct_bound total;
};

static enum acct_rc read_parts(
	const char *text, struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room)
{
	return cmd_parts(text, false, part, parts, why, room);
}

/* Read a/b/.. as the weights of the rounds that have a `?`, in their order.  Without a text each weight is
 * 1. */
static enum cm_rc weigh(struct asked *a, const char *option, const char *text)
{
	const char *at = text;

	for (size_t i = 0; i < a->q->rounds; i++) {
		char *end;

		a->wish[i] = (struct acct_wish){ a->q->text[i], 1 };
		if (!text || !strstr(a->q->text[i], "=?"))
			continue;
		if (!*at)
			return cmd_fail(CM_EUSAGE, "optimise: --%s %s has fewer numbers than rounds with ?",
				option, text);
		a->wish[i].weight = strtod(at, &end);
		if (end == at || (*end && *end != '/'))
			return cmd_fail(
				CM_EUSAGE, "optimise: --%s %s is not numbers separated by /", option, text);
		at = *end ? end + 1 : end;
	}
	return text && *at ? cmd_fail(CM_EUSAGE, "optimise: --%s %s has more numbers than rounds with ?",
				     option, text)
			   : CM_OK;
}

/* Warn of a round with an error of 1 or more: that is all participants, or the whole range of a mean, so
 * its answer tells nothing. */
static void warn_of_noise(const struct asked *a)
{
	for (size_t i = 0; i < a->q->rounds; i++)
		if (a->granted[i].open && a->granted[i].error > 1 && strstr(a->granted[i].text, "eps0="))
			fprintf(stderr,
				"tombola-accountant: warning: %.80s: an error of %.3g times all participants: "
				"the budget is too small\n",
				a->granted[i].text, a->granted[i].error);
}

static void print(const struct asked *a)
{
	const struct acct_method_answer answer = { .bound = a->total, .worth = ACCT_PROVED };
	char text[CMD_NUMBER_ROOM];

	printf("%-12s round\n", "error");
	for (size_t i = 0; i < a->q->rounds; i++)
		printf("%-12s %s\n", cmd_near(a->granted[i].error, text), a->granted[i].text);
	cmd_say_bound("epsilon", &answer);
	printf(" at delta %g\n", a->q->delta);
	cmd_say_worth(a->q->method[0], false, &answer);
}

static void print_json(const struct asked *a)
{
	const struct acct_method_answer answer = { .bound = a->total, .worth = ACCT_PROVED };
	struct cmd_json j = cmd_json_begin(stdout);

	cmd_json_open(&j, "rounds", '[');
	for (size_t i = 0; i < a->q->rounds; i++) {
		cmd_json_open(&j, NULL, '{');
		cmd_json_text(&j, "round", a->granted[i].text);
		cmd_json_number(&j, "value", a->granted[i].value);
		cmd_json_number(&j, "error", a->granted[i].error);
		cmd_json_close(&j, '}');
	}
	cmd_json_close(&j, ']');
	cmd_json_bound(&j, "epsilon", a->total);
	cmd_json_bound(&j, "delta", (struct acct_bound){ a->q->delta, a->q->delta });
	cmd_json_method(&j, a->q->method[0], false, &answer);
	cmd_json_close(&j, '}');
	putchar('\n');
}

static enum cm_rc run(struct asked *a)
{
	const struct cmd_question *q = a->q;
	char why[512] = "";
	size_t at = 0;
	enum cm_rc code = weigh(a, q->error ? "error" : "weight", q->error ? q->error : q->weight);

	if (code)
		return code;
	enum acct_rc rc = acct_optimise(a->wish, q->rounds, q->error != NULL, q->epsilon, q->delta,
		read_parts, a->granted, &a->total, &at, why, sizeof why);
	if (rc && at < q->rounds)
		return cmd_not_a_round(q->text[at], why[0] ? why : acct_strerror(rc));
	if (rc)
		return cmd_fail(rc == ACCT_EDOMAIN ? CM_EUSAGE : CM_EINTERNAL, "optimise: %s",
			why[0] ? why : acct_strerror(rc));
	if (isinf(a->total.upper))
		return cmd_fail(CM_EBUDGET, "nothing fits epsilon %g at delta %g", q->epsilon, q->delta);
	if (q->format == CMD_OBJECT)
		print_json(a);
	else
		print(a);
	warn_of_noise(a);
	return CM_OK;
}

enum cm_rc cmd_run_optimise(const struct cmd_question *q)
{
	struct asked *a;
	enum cm_rc code;

	if (q->weight && q->error)
		return cmd_fail(CM_EUSAGE, "optimise: --weight or --error, not both");
	a = calloc(1, sizeof *a);
	if (!a)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	a->q = q;
	code = run(a);
	free(a);
	return code;
}
