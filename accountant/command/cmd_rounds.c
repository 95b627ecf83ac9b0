/* cmd_rounds.c - computes how many repetitions of the listed rounds fit a budget. */
#include <stdlib.h>

#include "cmd_search.h"

struct repeated {
	const struct cmd_question *q;
	const struct acct_method *method;
	const struct acct_spec *once;
	size_t parts; /* number of parts in both `once` and `times` */
	/* the same parts, with their counts multiplied by the number of repetitions that is tried */
	struct acct_spec *times;
	struct acct_method_answer first; /* the answer for all rounds once */
	struct acct_method_answer best;  /* the answer for the largest number of repetitions that fitted */
	enum acct_rc rc;
	const char *why;
};

static enum cmd_fit fits(void *user, uint64_t times)
{
	struct repeated *r = user;
	struct acct_method_answer a;

	for (size_t i = 0; i < r->parts; i++) {
		r->times[i] = r->once[i];
		r->times[i].round.count *= times; /* stays at most ACCT_MAX_COUNT: see most_times */
	}
	r->rc = cmd_epsilon(r->method, r->q->published, r->times, r->parts, r->q->delta, &a, &r->why);
	if (r->rc)
		return CMD_FAULT;
	if (times == 1)
		r->first = a;
	if (!(a.bound.upper <= r->q->epsilon))
		return CMD_TOO_MUCH;
	r->best = a;
	return CMD_FITS;
}

static uint64_t most_times(const struct acct_spec *s, size_t n)
{
	uint64_t most = ACCT_MAX_COUNT;

	for (size_t i = 0; i < n; i++)
		if (ACCT_MAX_COUNT / s[i].round.count < most)
			most = ACCT_MAX_COUNT / s[i].round.count;
	return most;
}

static void print(const struct repeated *r, uint64_t fit, bool limited, double seconds)
{
	const struct cmd_question *q = r->q;
	const struct acct_method *m = q->method[0];
	struct acct_method_answer a = r->best;

	if (fit == 0)
		a = (struct acct_method_answer){ .worth = m->worth };
	if (q->format == CMD_OBJECT) {
		struct cmd_json j = cmd_json_begin(stdout);

		cmd_json_count(&j, "fit", fit);
		cmd_json_bool(&j, "limited", limited);
		cmd_json_bound(&j, "epsilon", a.bound);
		cmd_json_bound(&j, "delta", (struct acct_bound){ q->delta, q->delta });
		cmd_json_method(&j, m, q->published, &a);
		cmd_json_count(&j, "rounds", cmd_repetitions(r->once, r->parts));
		cmd_json_number(&j, "seconds", seconds);
		cmd_json_close(&j, '}');
		putchar('\n');
		return;
	}
	if (fit == 0) {
		fputs("the list does not fit once: ", stdout);
		a = r->first;
	} else {
		printf("the list fits %s%llu times", limited ? "at least " : "", (unsigned long long)fit);
	}
	if (limited)
		fputs(" (the limit of this command)", stdout);
	if (fit > 0)
		fputs(": ", stdout);
	cmd_say_bound("epsilon", &a);
	printf(" at delta %g\n", q->delta);
	cmd_say_worth(m, q->published, &a);
}

enum cm_rc cmd_run_rounds(const struct cmd_question *q)
{
	struct repeated r = { .q = q };
	struct acct_spec *once = NULL;
	uint64_t fit = 0;
	enum cm_rc code;

	if (q->method[0]->worth == ACCT_LOWER)
		return cmd_fail(CM_EUSAGE, "rounds: --method %s bounds from below: nothing fits by it",
			q->method[0]->name);
	code = cmd_rounds(q->text, q->rounds, q->published, &once, &r.parts);

	if (!once)
		return code;
	r.once = once;
	r.times = calloc(r.parts, sizeof *r.times);
	if (!r.times) {
		free(once);
		return cmd_fail(CM_EINTERNAL, "out of memory");
	}
	double start = cmd_now();
	struct cmd_range range = {
		.least = 1, .most = most_times(once, r.parts), .start = 1, .stride = 1, .largest = true
	};
	/* the number of repetitions by the normal limit, which answers at once, is where the search
	 * starts */
	r.method = acct_method_find("clt");
	enum cmd_edge edge = q->method[0]->cells ? cmd_search(&range, fits, &r, &fit) : CMD_EDGE_NONE;
	if (edge == CMD_EDGE || edge == CMD_EDGE_LIMIT) {
		range.start = fit;
		range.stride = 1 + fit / 64;
	}
	r.method = q->method[0];
	edge = cmd_search(&range, fits, &r, &fit);
	if (edge == CMD_EDGE_FAULT)
		code = cmd_refused(q->method[0], r.rc, r.why);
	else
		print(&r, edge == CMD_EDGE_NONE ? 0 : fit, edge == CMD_EDGE_LIMIT, cmd_now() - start);
	if (edge == CMD_EDGE_NONE)
		code = CM_EBUDGET;
	free(r.times);
	free(once);
	return code;
}
