/* an_sign.c - carries out the verb by which a person signs a plan, after seeing what it takes. */
#include "an_sign.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "an_budget.h"
#include "an_command.h"
#include "an_daemon.h"
#include "an_rehearsal.h"
#include "an_result.h"
#include "an_signed.h"
#include "cm_clock.h"
#include "cm_round.h"
#include "cm_table.h"
#include "cr_sign.h"
#include "pl_slice.h"

#define REHEARSE_MS 10000u

/* What became of the plan, for --json. */
struct outcome {
	json_t *rehearsal; /* the document of the rehearsal; NULL: there was none */
	bool is_signed, is_pinned;
	struct cm_err fault; /* what the rehearsal found; signed all the same with --anyway */
};

/* ---- what is shown ---- */

/* How much of the slice the accepted rounds use.  An adaptive plan counts as using all of it, because
 * rounds may follow. */
static double used_of(const struct rd_plan *p)
{
	if (rd_plan_is_adaptive(p))
		return p->epsilon;
	return p->entries > 0 ? p->entry[p->entries - 1].epsilon_total : 0;
}

/* The population's budget after the plan is pinned. */
static struct rd_figure after(const struct an_ledger_files *b)
{
	const struct rd_slices all = an_ledger_files_budget(b);
	struct rd_figure f;
	struct cm_err unused;

	/* The only part that may fail is `used`, which is not shown here. */
	(void)(an_budget_figure(&b->state, &all, &f, &unused) == CM_OK);
	return f;
}

void an_sign_warn(const struct an_ledger_files *b, FILE *out)
{
	const struct rd_figure f = after(b);

	pl_slice_warn(&b->plan, used_of(&b->state.current->signed_plan), out);
	if (!rd_figure_full(&f))
		return;
	(void)fprintf(out,
		"warning: population %s has nothing left after it, and no other plan will ever fit\n",
		b->plan.population);
	if (!b->state.opened && !(b->epsilon > 0))
		(void)fputs(
			"  its budget for life is by default the slice of its first plan: 'budget' in the "
			"analyzer's configuration gives it more, before the first plan is signed and never "
			"after\n",
			out);
}

static void print_budget(const struct an_ledger_files *b, const char *path, FILE *out)
{
	const struct rd_plan *p = &b->state.current->signed_plan;
	const struct rd_figure f = after(b);
	double used = used_of(p);

	(void)fprintf(out, "plan %s of %s, number %llu of population %s\n", p->name, path,
		(unsigned long long)p->number, p->population);
	(void)fprintf(out, "slice   epsilon %g at delta %g, spent whole and for life once it is signed\n",
		cm_digits_up(p->epsilon, 6), cm_digits_up(p->delta, 6));
	if (rd_plan_is_adaptive(p))
		(void)fputs("used    mode adaptive: a filter keeps the slice, and rounds may follow\n", out);
	else
		(void)fprintf(out, "used    epsilon %.4f, by the %zu of %zu rounds that fit\n",
			an_round_up(used), p->entries, p->entries + p->refusals);
	if (!rd_plan_is_adaptive(p))
		(void)fprintf(out, "lost    epsilon %.4f of the slice, which no round uses\n",
			an_round_up(fmax(p->epsilon - an_round_up(used), 0)));
	(void)fprintf(out, "budget  epsilon %g at delta %g for the population's life\n", f.limit, f.delta);
	(void)fprintf(out, "left    epsilon %.4f at delta %g for other plans\n", an_round_down(f.free),
		cm_digits_down(f.free_delta, 6));
}

/* Count this query's rounds from round i on that are entries; *total: epsilon of these and of the entries
 * before them. */
static size_t entries_of(const struct an_state *s, size_t i, double *total)
{
	size_t n = 0, item = s->plan->round[i].item;

	for (; i < s->plan->rounds && s->plan->round[i].item == item; i++) {
		if (!s->round[i].entry)
			continue;
		*total = s->round[i].epsilon_total;
		n++;
	}
	return n;
}

/* Say when the first of these rounds opens. */
static void opens(const struct pl_round *r, char out[80])
{
	char every[32], at[32] = "at once";

	cm_clock_duration_text(r->every_ms, every);
	if (r->start_ms != 0)
		cm_clock_text(r->start_ms, at);
	if (r->every_ms > 0)
		(void)snprintf(out, 80, "%s, then every %s", at, every);
	else
		(void)snprintf(out, 80, "%s", r->number == 1 ? at : "in its turn");
}

/* Print a row for each query; for a query that recurs it says how many of its rounds fit. */
static void print_rounds(const struct an_state *s, FILE *out)
{
	struct cm_table *t = cm_table_new("><>>>>><", (const char *const[]){ "round", "query", "fit", "each",
							      "total", "reports >=", "window", "opens" });
	double total = 0;

	for (size_t i = 0; t && i < s->plan->rounds; i++) {
		const struct pl_round *r = &s->plan->round[i];
		unsigned of = r->recurrences > 1 ? r->recurrences : 1;
		char number[32], fit[48], each[32], sum[32], reports[32], window[32], when[80];

		if (pl_repeats(s->plan, i))
			continue;
		(void)snprintf(number, sizeof number, of > 1 ? "%u-%u" : "%u", r->number, r->number + of - 1);
		(void)snprintf(fit, sizeof fit, "%zu of %u", entries_of(s, i, &total), of);
		(void)snprintf(each, sizeof each, "%.4f", an_round_up(s->round[i].epsilon_round));
		(void)snprintf(sum, sizeof sum, "%.4f", an_round_up(total));
		cm_clock_duration_text(r->window_ms, window);
		opens(r, when);
		if (an_state_adaptive(s))
			memcpy(fit, "-", 2), memcpy(each, "-", 2), memcpy(sum, "-", 2);
		cm_table_row(t, (const char *const[]){ number, r->query.name, fit, each, sum,
					cm_thousands((int64_t)r->min_reports, reports), window, when });
	}
	if (t) {
		(void)fputc('\n', out);
		cm_table_print(t, out);
		(void)fputc('\n', out);
	}
	cm_table_free(t);
}

/* The document "tombola.sign/1".  NULL: out of memory. */
static json_t *document(const struct an_command *d, const struct outcome *o, const struct cm_err *why)
{
	const struct rd_plan *p = &d->files.state.current->signed_plan;
	const struct rd_figure f = after(&d->files);
	bool adaptive = rd_plan_is_adaptive(p);
	double used = used_of(p);

	return json_pack(
		"{s:s, s:s, s:s, s:I, s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:b, s:I, s:I, s:o, s:b, "
		"s:O?, s:s?}",
		"schema", "tombola.sign/1", "plan", p->name, "file", d->conf.plan, "number",
		(json_int_t)p->number, "population", p->population, "mode", p->mode, "signed",
		(int)o->is_signed, "pinned", (int)o->is_pinned, "digest", an_json_hex(p->hash, PR_HASH_LEN),
		"epsilon", an_json_real(p->epsilon), "delta", an_json_real(p->delta), "used",
		an_json_real(used), "lost", an_json_real(fmax(p->epsilon - used, 0)), "wide",
		(int)(!adaptive && pl_slice_wide(p->epsilon, used)), "entries", (json_int_t)p->entries,
		"refused", (json_int_t)p->refusals, "population_budget", json_pack(RD_FIGURE_PACK(&f)),
		"nothing_left", (int)rd_figure_full(&f), "rehearsal", o->rehearsal, "fault",
		why->code != CM_OK       ? why->msg
		: o->fault.code != CM_OK ? o->fault.msg
					 : NULL);
}

static enum cm_rc print_document(
	const struct an_command *d, const struct outcome *o, enum cm_rc rc, struct cm_err *err)
{
	struct cm_err none = { .code = CM_OK }, unused;
	json_t *doc = document(d, o, rc == CM_OK ? &none : err);
	enum cm_rc printed = doc ? an_json_print(doc, 0, stdout, &unused)
				 : cm_fail(&unused, CM_EINTERNAL, "out of memory");

	json_decref(doc);
	if (rc == CM_OK && printed != CM_OK)
		*err = unused;
	return rc == CM_OK ? printed : rc;
}

/* ---- what is asked ---- */

static enum cm_rc confirmed(const struct cm_cli *cli, const char *population, struct cm_err *err)
{
	char line[PR_TEXT_MAX + 3] = "";

	if (cli->option[AN_SIGN_YES])
		return CM_OK;
	(void)printf("Signing cannot be undone.  Type the population's name to sign: ");
	(void)fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		(void)putchar('\n');
	line[strcspn(line, "\r\n")] = '\0';
	return strcmp(line, population) == 0
		       ? CM_OK
		       : cm_fail(err, CM_EUSAGE, "not signed, nothing is spent: the population's name is %s",
				 population);
}

/* Rehearse the draft; every fault is printed on stdout.  The shuffler must have said that the draft fits.  A
 * person may expect that a client is away or refuses, so the person decides about that, and a program passes
 * --anyway. */
static enum cm_rc rehearse(
	const struct cm_cli *cli, const struct an_conf *conf, struct outcome *o, struct cm_err *err)
{
	bool fits = false;
	const struct an_daemon_conf asks = { .conf = conf,
		.check = true,
		.wait_ms = REHEARSE_MS,
		.fits = &fits,
		.json = cli->json,
		.rehearsal = &o->rehearsal };
	struct cm_err why;
	enum cm_rc rc;

	(void)fflush(stdout); /* so that this precedes the lines that the run logs */
	rc = an_daemon_run(&asks, &why);
	if (rc == CM_OK)
		return CM_OK;
	if (!fits || (rc != CM_ECONFIG && rc != CM_EUNAVAIL && rc != CM_EPROTO)) {
		*err = why;
		return rc;
	}
	if (cli->option[AN_SIGN_YES] && !cli->option[AN_SIGN_ANYWAY])
		return cm_fail(err, rc, "not signed: %s (--anyway signs all the same)", why.msg);
	o->fault = why;
	if (!cli->json)
		(void)printf("warning: %s\n", why.msg);
	return CM_OK;
}

/* May the draft be signed, as far as can be said without asking anybody? */
static enum cm_rc signable(const struct cm_cli *cli, const struct an_command *d, struct cm_err *err)
{
	const struct rd_plan *p = &d->files.state.current->signed_plan;

	if (p->entries == 0 && !rd_plan_is_adaptive(p))
		return an_rehearsal_fit(&d->files, d->conf.plan, 0, cli->json ? stderr : stdout, err);
	if (cli->option[AN_SIGN_YES])
		return CM_OK;
	return cli->json
		       ? cm_fail(err, CM_EUSAGE,
				 "not signed, nothing is spent: with --json nobody is asked, --yes signs the plan")
	       : !isatty(STDIN_FILENO)
		       ? cm_fail(err, CM_EUSAGE,
				 "not signed, nothing is spent: without a terminal to ask on, --yes signs the plan")
		       : CM_OK;
}

static enum cm_rc sign_draft(const struct cm_cli *cli, struct an_command *d, const struct cr_signer *signer,
	const struct cm_buf *draft, struct outcome *o, struct cm_err *err)
{
	const struct rd_plan *p = &d->files.state.current->signed_plan;
	char hash[2 * PR_HASH_LEN + 1];
	enum cm_rc rc;

	if (!cli->json) {
		print_budget(&d->files, d->conf.plan, stdout);
		print_rounds(&d->files.state, stdout);
		an_sign_warn(&d->files, stdout);
	}
	rc = signable(cli, d, err);
	if (rc == CM_OK)
		rc = rehearse(cli, &d->conf, o, err);
	if (rc == CM_OK)
		rc = confirmed(cli, p->population, err);
	if (rc == CM_OK)
		rc = an_signed_write(d->conf.state_dir, draft, signer, err);
	o->is_signed = rc == CM_OK;
	if (cli->json)
		return print_document(d, o, rc, err);
	if (rc != CM_OK)
		return rc;
	cm_hex(p->hash, PR_HASH_LEN, hash);
	(void)printf("signed: plan %s, digest sha256:%s\n"
		     "An analyzer that waits for it takes it up at once, any other when it is started.\n",
		p->name, hash);
	return CM_OK;
}

enum cm_rc an_sign(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	struct cr_signer *signer = NULL;
	struct outcome o = { .rehearsal = NULL };
	struct cm_buf draft;
	enum cm_rc rc = an_command_open(cli, &d, true, err);

	(void)exit_code;
	cm_buf_init(&draft, PR_PLAN_MAX);
	if (rc == CM_OK && d.files.state.current) {
		o.is_signed = o.is_pinned = true;
		if (cli->json)
			rc = print_document(&d, &o, rc, err);
		else
			(void)printf("plan %s is signed and pinned already\n", d.files.plan.name);
		goto out;
	}
	if (rc == CM_OK)
		rc = cr_signer_load(d.conf.signing_key, &signer, err);
	if (rc == CM_OK)
		rc = an_ledger_files_draft(&d.files, NULL, &draft, err);
	if (rc == CM_OK)
		rc = an_ledger_files_show(&d.files, &draft, err);
	if (rc == CM_OK)
		rc = sign_draft(cli, &d, signer, &draft, &o, err);
out:
	json_decref(o.rehearsal);
	cr_signer_free(signer);
	cm_buf_fini(&draft);
	an_command_close(&d);
	return rc;
}
