/* cmd_describe.c - the verb describe: prints what the accountant knows of a round without any question. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "acct_share.h"
#include "cmd.h"

/* The chance that k-ary response sends the participant's own symbol; NAN for other randomizers. */
static double kept(const struct acct_spec *s)
{
	return s->k >= 2 && isfinite(s->eps0) ? 1 / (1 + (s->k - 1) * exp(-s->eps0)) : NAN;
}

/* The chance that another participant's report is blanket, so does not depend on that participant's
 * input. */
static double blanket(const struct acct_spec *s)
{
	double sum = 0;

	for (size_t j = 0; j < s->round.cells; j++)
		sum += s->round.cell[j].omega;
	return fmin(1, sum);
}

static void print_json(const struct acct_spec *s, struct cmd_json *j)
{
	const double none = s->p > 0 ? 0 : NAN;

	cmd_json_open(j, NULL, '{');
	cmd_json_text(j, "name", s->name);
	cmd_json_count(j, "n", s->participants);
	cmd_json_count(j, "count", s->round.count);
	cmd_json_count(j, "dummies", s->round.dummies);
	cmd_json_bool(j, "central", s->round.event != ACCT_SHUFFLED && !(s->p > 0));
	cmd_json_number(j, "eps0", s->eps0);
	cmd_json_number(j, "p", s->p + none);
	cmd_json_number(j, "beta", s->beta + none);
	cmd_json_number(j, "q", s->q + none);
	cmd_json_number(j, "kept", kept(s));
	cmd_json_number(j, "blanket", s->round.others > 0 ? blanket(s) : NAN);
	cmd_json_number(j, "error", acct_share_error(s, 1));
	cmd_json_open(j, "cells", '[');
	for (size_t i = 0; i < s->round.cells; i++) {
		cmd_json_open(j, NULL, '{');
		cmd_json_number(j, "omega", s->round.cell[i].omega);
		cmd_json_number(j, "u", s->round.cell[i].u);
		cmd_json_number(j, "v", s->round.cell[i].v);
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
	cmd_json_close(j, '}');
}

static void print_central(const struct acct_spec *s)
{
	printf("%s: central, no local guarantee\n", s->name);
	if (s->round.event == ACCT_PROFILE)
		printf("  a curve of %zu points, of %s\n", s->round.profile->points,
			s->round.profile->exact ? "a pair of laws" : "upper bounds");
	else
		printf("  noise %.6g\n", s->round.scale);
	if (s->round.event == ACCT_GAUSSIAN && s->round.rate < 1)
		printf("  a record takes part with chance %.6g\n", s->round.rate);
}

/* Print the error of the best estimate.  Both ends of a range are inputs, too, so for numbers this is the
 * error of a mean. */
static void print_error(const struct acct_spec *s)
{
	double error = acct_share_error(s, 1);

	if (error > 0 && error < INFINITY)
		printf("  the share of either input, where half hold each, is known with standard error "
		       "%.6g, "
		       "variance %.6g\n",
			error, error * error);
}

static void print_text(const struct acct_spec *s)
{
	if (s->round.event == ACCT_PROFILE && s->p > 0) {
		printf("%s: eps0 %.6g\n  largest of all pairs of inputs: p %.6g, beta %.6g, q %.6g\n",
			s->name, s->eps0, s->p, s->beta, s->q);
		printf("  the pairs differ: the curve above all of theirs has %zu points\n",
			s->round.profile->points);
		return;
	}
	if (s->round.event == ACCT_CLASSES_APART) {
		printf("%s: at each epsilon the largest loss of these classes\n", s->name);
		for (size_t i = 0; i < s->round.levels; i++)
			printf("  %" PRIu64 " participants of eps0 %.6g\n", s->round.level[i].count,
				s->round.level[i].share);
		return;
	}
	if (s->round.event != ACCT_SHUFFLED) {
		print_central(s);
		return;
	}
	printf("%s: eps0 %.6g\n", s->name, s->eps0);
	if (s->p > 0)
		printf("  pair: p %.6g, beta %.6g, q %.6g\n", s->p, s->beta, s->q);
	if (!isnan(kept(s)))
		printf("  a report is the participant's own symbol with chance %.6g\n", kept(s));
	if (s->round.others > 0)
		printf("  a report of another participant is blanket with chance %.6g\n", blanket(s));
	print_error(s);
	printf("  %-12s %-12s %s\n", "omega", "u", "v");
	for (size_t j = 0; j < s->round.cells; j++)
		printf("  %-12.6g %-12.6g %.6g\n", s->round.cell[j].omega, s->round.cell[j].u,
			s->round.cell[j].v);
}

enum cm_rc cmd_run_describe(const struct cmd_question *q)
{
	struct acct_spec *round = NULL;
	size_t parts;
	enum cm_rc code = cmd_rounds(q->text, q->rounds, false, &round, &parts);

	if (code)
		return code;
	if (q->format == CMD_OBJECT) {
		struct cmd_json j = cmd_json_begin(stdout);

		cmd_json_open(&j, "rounds", '[');
		for (size_t i = 0; i < parts; i++)
			print_json(&round[i], &j);
		cmd_json_close(&j, ']');
		cmd_json_close(&j, '}');
		putchar('\n');
	} else {
		for (size_t i = 0; i < parts; i++)
			print_text(&round[i]);
	}
	free(round);
	return CM_OK;
}
