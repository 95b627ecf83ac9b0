/* cmd_audit_print.c - prints an audit as text and as JSON (cmd_audit.h). */
#include <math.h>

#include "cm_round.h"
#include "cmd_audit.h"

static bool holds(const struct cmd_audit *a, const struct cmd_audit_row *r)
{
	return r->stage != CMD_VOID || (a->opened.slices && !r->returned) ||
	       (a->opened.slices && !a->plan[r->plan].filter.kind);
}

size_t cmd_audit_held(const struct cmd_audit *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->rows; i++)
		n += holds(a, &a->row[i]);
	return n;
}

bool cmd_audit_adaptive(const struct cmd_audit *a)
{
	return a->plans == 1 && a->plan[0].filter.kind;
}

static size_t voids(const struct cmd_audit *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->rows; i++)
		n += a->row[i].stage == CMD_VOID;
	return n;
}

static const char *stage_name(enum cmd_record_kind stage)
{
	static const char *const name[] = { "open", "reserved", "charged", "settled", "void", "refused",
		"plan", "planned" };

	return name[stage];
}

static void print_head(bool adaptive)
{
	printf("\n%4s %5s  %-20s %-8s %12s %12s %12s %12s\n%42s %12s %12s %12s\n", "line", "round", "query",
		"stage", "epsilon", "computed", adaptive ? "share" : "total",
		adaptive ? "with all" : "computed", "recorded", "at most",
		adaptive ? "of budget" : "recorded", adaptive ? "before" : "at most");
}

static void print_row(const struct cmd_audit_row *r, bool adaptive)
{
	char n[4][CMD_NUMBER_ROOM];

	printf("%4zu %5llu  %-20.20s %-8s %12s %12s", r->reserved.line,
		(unsigned long long)r->reserved.number, r->reserved.query, stage_name(r->stage),
		cmd_up(r->reserved.epsilon_round, n[0]), cmd_up(r->alone.upper, n[1]));
	if (adaptive)
		printf(" %12s %12s\n", cmd_up(acct_price_share(r->price), n[2]), cmd_up(r->share, n[3]));
	else
		printf(" %12s %12s\n", cmd_up(r->reserved.epsilon_total, n[2]), cmd_up(r->total.upper, n[3]));
}

static void print_plan(const struct cmd_audit *a, size_t plan)
{
	const struct cmd_audit_plan *p = &a->plan[plan];
	bool any = false;

	if (a->opened.slices)
		printf("plan %llu (%s), mode %s: slice epsilon %g at delta %g\n",
			(unsigned long long)p->planned.number, p->planned.name, p->planned.mode,
			cm_digits_up(p->planned.limit, 6), cm_digits_up(p->planned.delta, 6));
	for (size_t i = 0; i < a->rows; i++) {
		if (a->row[i].plan != plan)
			continue;
		if (!any)
			print_head(p->filter.kind != 0);
		any = true;
		print_row(&a->row[i], p->filter.kind != 0);
	}
	if (any)
		putchar('\n');
}

static void print_table(const struct cmd_audit *a)
{
	if (a->opened.slices)
		printf("population %s, unit %s: budget epsilon %g at delta %g\n", a->opened.population,
			a->opened.unit, a->opened.limit, a->opened.delta);
	else
		printf("population %s, unit %s, mode %s: limit epsilon %g at delta %g\n",
			a->opened.population, a->opened.unit, a->opened.mode, a->opened.limit,
			a->opened.delta);
	for (size_t i = 0; i < a->plans; i++)
		print_plan(a, i);
}

static const char *verdict_name(const struct cmd_audit *a)
{
	return a->wrong > 0 ? "WRONG" : a->over ? "OVER THE LIMIT" : "passed";
}

static void print_verdict(const struct cmd_audit *a)
{
	char high[CMD_NUMBER_ROOM], low[CMD_NUMBER_ROOM];

	printf("audit %s: %llu records, %zu rounds hold budget, %zu void, %llu refused; ", verdict_name(a),
		(unsigned long long)a->records, cmd_audit_held(a), voids(a), (unsigned long long)a->refused);
	if (a->opened.slices)
		printf("slices of epsilon %s at delta %g, of %g at %g%s%s%s\n", cmd_up(a->spent.upper, high),
			cm_digits_up(a->spent_delta, 6), a->opened.limit, a->opened.delta,
			cmd_audit_adaptive(a) ? "; " : "", cmd_audit_adaptive(a) ? cmd_up(a->share, low) : "",
			cmd_audit_adaptive(a) ? " of the filter's budget held" : "");
	else if (cmd_audit_adaptive(a))
		printf("epsilon at most %s at delta %g, %s of the filter's budget held\n",
			cmd_up(a->spent.upper, high), a->opened.delta, cmd_up(a->share, low));
	else
		printf("epsilon at most %s (at least %s) of %g at delta %g\n", cmd_up(a->spent.upper, high),
			cmd_down(a->spent.lower, low), a->opened.limit, a->opened.delta);
}

void cmd_audit_print(const struct cmd_audit *a)
{
	print_table(a);
	print_verdict(a);
}

void cmd_audit_json(const struct cmd_audit *a)
{
	struct cmd_json j = cmd_json_begin(stdout);

	cmd_json_text(&j, "verdict", a->wrong > 0 ? "wrong" : a->over ? "over" : "passed");
	cmd_json_count(&j, "wrong", a->wrong);
	cmd_json_text(&j, "population", a->opened.population);
	cmd_json_text(&j, "mode",
		!a->opened.slices ? a->opened.mode
		: a->plans == 1   ? a->plan[0].planned.mode
				  : "plans");
	cmd_json_number(&j, "epsilon_limit", a->opened.limit);
	cmd_json_bound(&j, "epsilon", a->spent);
	cmd_json_bound(&j, "delta", (struct acct_bound){ a->opened.delta, a->opened.delta });
	cmd_json_text(&j, "worth", acct_worth_text(ACCT_PROVED));
	if (cmd_audit_adaptive(a))
		cmd_json_number(&j, "share", a->share);
	cmd_json_count(&j, "plans", a->plans);
	cmd_json_count(&j, "records", a->records);
	cmd_json_count(&j, "refused", a->refused);
	cmd_json_open(&j, "rounds", '[');
	for (size_t i = 0; i < a->rows; i++) {
		const struct cmd_audit_row *r = &a->row[i];

		cmd_json_open(&j, NULL, '{');
		cmd_json_count(&j, "line", r->reserved.line);
		cmd_json_count(&j, "round", r->reserved.number);
		cmd_json_text(&j, "round_id", r->reserved.id);
		cmd_json_text(&j, "query", r->reserved.query);
		cmd_json_text(&j, "stage", stage_name(r->stage));
		cmd_json_number(&j, "epsilon_round", r->reserved.epsilon_round);
		cmd_json_bound(&j, "epsilon_round", r->alone);
		cmd_json_number(&j, "epsilon_total", r->reserved.epsilon_total);
		if (a->plan[r->plan].filter.kind)
			cmd_json_number(&j, "share", acct_price_share(r->price));
		else
			cmd_json_bound(&j, "epsilon_total", r->total);
		cmd_json_close(&j, '}');
	}
	cmd_json_close(&j, ']');
	cmd_json_close(&j, '}');
	putchar('\n');
}
