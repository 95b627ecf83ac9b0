/* tool_plan.c - carries out the plan verbs except cost: prints faults, digest and protocols, and chooses
 * numbers for a plan. */
#include "tool_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "cm_clock.h"
#include "cm_file.h"
#include "cm_round.h"
#include "cm_table.h"
#include "pl_load.h"
#include "pl_make.h"
#include "pl_optimise.h"
#include "pl_plan.h"
#include "pl_slice.h"
#include "pt_device.h"
#include "rd_mode.h"

struct fitting {
	bool *fits;
	double used; /* epsilon of the rounds that fit */
};

static enum cm_rc note_fit(
	void *user, size_t i, const struct rd_account *before, const struct rd_verdict *v, struct cm_err *err)
{
	struct fitting *f = user;

	(void)before;
	(void)err;
	f->fits[i] = v->fits;
	if (v->fits)
		f->used = v->total;
	return CM_OK;
}

/* Prints what the file does not show: how many of the recurring rounds fit, whether any is refused, and what
 * of the slice would be lost. */
static enum cm_rc say_fit(const struct pl_plan *p, const char *file, struct cm_err *err)
{
	struct fitting f = { .fits = calloc(p->rounds, sizeof *f.fits) };
	size_t refused = 0;
	enum cm_rc rc = f.fits ? pl_plan_accept(p, NULL, note_fit, &f, err)
			       : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK) {
		pl_plan_print_recurring(p, f.fits, stdout);
		for (size_t i = 0; i < p->rounds; i++)
			refused += !f.fits[i];
	}
	if (refused > 0)
		printf("%zu of %zu round%s not fit its budget: `tombola plan cost` says which\n", refused,
			p->rounds, p->rounds == 1 ? " does" : "s do");
	if (rc == CM_OK) {
		pl_slice_warn(p, f.used, stdout);
		pl_plan_print_alone(p, file, stdout);
		(void)pl_plan_print_over(p, file, cm_clock_wall_ms(), stdout);
	}
	if (rc == CM_OK && refused == p->rounds && rd_mode_filter(p->mode) == 0)
		rc = cm_fail(err, CM_EBUDGET, "%s: no round of plan %s fits its slice of epsilon %g", file,
			p->name, p->epsilon);
	free(f.fits);
	return rc;
}

enum cm_rc tool_plan_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct pl_plan p;
	char digest[2 * PR_HASH_LEN + 1];
	enum cm_rc rc = pl_plan_load(cli->argv[1], stderr, &p, err);

	(void)exit_code;
	if (rc == CM_OK) {
		cm_hex(p.digest, PR_HASH_LEN, digest);
		printf("%s is valid: plan %s, %zu round%s, population %s, digest %s\n", cli->argv[1], p.name,
			p.rounds, p.rounds == 1 ? "" : "s", p.population, digest);
		rc = say_fit(&p, cli->argv[1], err);
	}
	pl_plan_fini(&p);
	return rc;
}

enum cm_rc tool_plan_digest(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct pl_plan p;
	char digest[2 * PR_HASH_LEN + 1];
	enum cm_rc rc = pl_plan_load(cli->argv[1], stderr, &p, err);

	(void)exit_code;
	if (rc == CM_OK) {
		cm_hex(p.digest, PR_HASH_LEN, digest);
		puts(digest);
	}
	pl_plan_fini(&p);
	return rc;
}

/* ---- plan optimise: numbers for what its rounds say is wanted ---- */

/* Print what was granted on standard error, because standard output has the plan itself. */
static void print_granted(const struct pl_optimised *o)
{
	static const char *const head[] = { "round", "query", "wanted", "found", "error" };
	struct cm_table *t = cm_table_new("><<<>", head);
	double most = 0;

	for (size_t i = 0; i < o->n; i++) {
		const struct pl_granted *g = &o->granted[i];
		char number[24], wanted[48], found[80], error[24];

		(void)snprintf(number, sizeof number, "%u", g->round->number);
		(void)snprintf(
			wanted, sizeof wanted, "%s %g", g->wish.error ? "error" : "weight", g->wish.number);
		(void)snprintf(found, sizeof found, "%s = %s", pl_open_name(g->wish.key), g->value);
		(void)snprintf(error, sizeof error, "%.3g", g->error);
		most = fmax(most, g->error / g->wish.number);
		if (t)
			cm_table_row(t,
				(const char *const[]){ number, g->round->query.name, wanted, found, error });
	}
	if (t)
		cm_table_print(t, stderr);
	cm_table_free(t);
	if (o->last.adaptive)
		(void)fprintf(stderr, "all rounds take %.2f %% of the filter's budget",
			cm_percent_up(o->last.share_total, 2));
	else
		(void)fprintf(stderr, "all rounds cost epsilon %.4f of %.4f at delta %g",
			tool_spent(o->last.total), o->plan.epsilon, o->plan.delta);
	if (o->n > 0 && o->granted[0].wish.error)
		(void)fprintf(stderr, "; errors are at most %.3g times what is wanted", most);
	(void)fputc('\n', stderr);
}

/* Warn of a budget so small that the answers would be mostly noise. */
static void warn_of_noise(const struct pl_optimised *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->granted[i].error > o->granted[i].range)
			(void)fprintf(stderr,
				"warning: round %u (%s): an error of %.3g where answers differ by at most "
				"%.3g: the budget is too small\n",
				o->granted[i].round->number, o->granted[i].round->query.name,
				o->granted[i].error, o->granted[i].range);
}

static json_t *granted_json(const struct pl_optimised *o)
{
	json_t *rounds = json_array();

	for (size_t i = 0; i < o->n; i++) {
		const struct pl_granted *g = &o->granted[i];

		(void)json_array_append_new(rounds,
			json_pack("{s:i, s:s, s:s, s:f, s:s, s:s, s:f}", "round", (int)g->round->number,
				"query", g->round->query.name, "wanted", g->wish.error ? "error" : "weight",
				"number", g->wish.number, "key", pl_open_name(g->wish.key), "value", g->value,
				"expected_error", g->error));
	}
	return rounds;
}

static enum cm_rc print_json(const struct pl_optimised *o, struct cm_err *err)
{
	json_t *doc = json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:o, s:s%}", "schema",
		"tombola.plan-optimised/1", "plan", o->plan.name, "epsilon_limit", o->plan.epsilon, "delta",
		o->plan.delta, "epsilon_total", o->last.total, "share_total", o->last.share_total, "rounds",
		granted_json(o), "text", (const char *)o->text.data, o->text.len);
	bool bad = !doc || json_dumpf(doc, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)) != 0 ||
		   putchar('\n') == EOF;

	json_decref(doc);
	return bad ? cm_fail(err, CM_EIO, "cannot write JSON") : CM_OK;
}

enum cm_rc tool_plan_optimise(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct pl_optimised o = { 0 };
	struct cm_buf b;
	enum cm_rc rc;

	(void)exit_code;
	cm_buf_init(&b, PL_FILE_MAX);
	rc = cm_file_read(cli->argv[1], PL_FILE_MAX, &b, err);
	if (rc == CM_OK && b.len == 0)
		rc = cm_fail(err, CM_ECONFIG, "%s: is empty", cli->argv[1]);
	if (rc == CM_OK)
		rc = pl_optimise(b.data, b.len, cli->argv[1], stderr, &o, err);
	if (rc == CM_OK && cli->json) {
		rc = print_json(&o, err);
	} else if (rc == CM_OK) {
		if (fwrite(o.text.data, 1, o.text.len, stdout) != o.text.len || fflush(stdout) != 0)
			rc = cm_fail(err, CM_EIO, "cannot write the plan");
		else
			print_granted(&o);
	}
	if (rc == CM_OK)
		warn_of_noise(&o);
	pl_optimised_fini(&o);
	cm_buf_fini(&b);
	return rc;
}

/* ---- plan protocols ---- */

#define ANSWERS_LEN 128u

/* Names the kinds of answers of a protocol, such as "mean, sum"; each kind is a bit. */
static const char *answers(const struct pt_device *row, char out[ANSWERS_LEN])
{
	size_t used = 0;

	for (unsigned kind = 1; kind <= row->kinds && used < ANSWERS_LEN; kind <<= 1)
		if (row->kinds & kind)
			used += (size_t)snprintf(out + used, ANSWERS_LEN - used, "%s%s", used > 0 ? ", " : "",
				qy_kind_name((enum qy_kind)kind));
	return out;
}

static enum cm_rc print_protocols(struct cm_err *err)
{
	json_t *list = json_array(), *doc;
	const struct pt_device *row;
	char kinds[ANSWERS_LEN];
	int bad = !list;

	for (size_t i = 0; !bad && (row = pt_device_at(i)); i++)
		bad = json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", row->name, "answers",
							  answers(row, kinds), "summary", row->summary));
	doc = bad ? NULL : json_pack("{s:s, s:O}", "schema", "tombola.protocols/1", "protocols", list);
	bad = !doc || json_dumpf(doc, stdout, JSON_COMPACT) != 0 || putchar('\n') == EOF;
	json_decref(list);
	json_decref(doc);
	return bad ? cm_fail(err, CM_EIO, "cannot write JSON") : CM_OK;
}

enum cm_rc tool_plan_protocols(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	static const char *const head[] = { "protocol", "answers", "how" };
	const struct pt_device *row;
	struct cm_table *table;
	char kinds[ANSWERS_LEN];

	(void)exit_code;
	if (cli->json)
		return print_protocols(err);
	table = cm_table_new("<<<", head);
	for (size_t i = 0; (row = pt_device_at(i)); i++)
		cm_table_row(table, (const char *const[]){ row->name, answers(row, kinds), row->summary });
	cm_table_print(table, stdout);
	cm_table_free(table);
	return CM_OK;
}
