/* an_verbs.c - carries out the verbs that read budget and ledger. */
#include "an_verbs.h"

#include <string.h>

#include "an_command.h"
#include "an_export.h"
#include "an_result.h"
#include "an_tables.h"
#include "cm_round.h"

enum cm_rc an_verb_budget(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	json_t *doc = NULL;
	enum cm_rc rc = an_command_open(cli, &d, true, err);

	(void)exit_code;
	if (rc == CM_OK && cli->json) {
		rc = an_budget_json(&d.files, &doc, err);
		if (rc == CM_OK)
			rc = an_json_print(doc, 0, stdout, err);
	} else if (rc == CM_OK) {
		rc = an_budget_print(&d.files, stdout, err);
	}
	json_decref(doc);
	an_command_close(&d);
	return rc;
}

/* The round that a person most likely means: the first that was refused, otherwise the next one. */
static struct an_round_state *interesting(const struct an_state *s)
{
	for (size_t i = 0; i < s->plan->rounds; i++)
		if (s->round[i].stage == AN_REFUSED)
			return &s->round[i];
	for (size_t i = 0; i < s->plan->rounds; i++)
		if (an_round_may_be_tried(&s->round[i]))
			return &s->round[i];
	return &s->round[s->plan->rounds - 1];
}

enum cm_rc an_verb_budget_explain(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	struct an_round_state *r = NULL;
	struct an_explanation e;
	json_t *doc = NULL;
	enum cm_rc rc = an_command_open(cli, &d, true, err);

	if (rc == CM_OK)
		rc = an_ledger_files_preview(&d.files, NULL, err);
	if (rc == CM_OK && cli->argc > 1)
		rc = an_command_round(cli, &d, &r, err);
	else if (rc == CM_OK)
		r = interesting(&d.files.state);
	if (rc == CM_OK && (r < d.files.state.round || r >= d.files.state.round + d.files.plan.rounds))
		rc = cm_fail(err, CM_EUSAGE,
			"only rounds of the plan file are explained; the others stand in `ledger export`");
	if (rc == CM_OK)
		rc = an_budget_explain(&d.files.state, r, &e, err);
	if (rc == CM_OK && cli->json) {
		doc = an_explanation_json(&d.files.state, &e);
		rc = an_json_print(doc, 0, stdout, err);
	} else if (rc == CM_OK) {
		an_explanation_print(&d.files.state, &e, stdout);
	}
	if (rc == CM_OK && !e.verdict.fits)
		*exit_code = cm_exit_code(CM_EBUDGET);
	json_decref(doc);
	an_command_close(&d);
	return rc;
}

static void print_slices(const struct an_state *s)
{
	if (s->opened)
		(void)printf("  %zu plan%s, slices of epsilon %g at delta %g of the population's %g at %g\n",
			s->plans, s->plans == 1 ? "" : "s", cm_digits_up(s->slices.epsilon, 6),
			cm_digits_up(s->slices.delta, 6), s->epsilon, s->delta);
}

enum cm_rc an_verb_ledger_verify(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	char head[2 * PR_HASH_LEN + 1];
	enum cm_rc rc = an_command_open(cli, &d, true, err);

	(void)exit_code;
	if (rc == CM_OK) {
		const struct rd_chain *chain = an_ledger_chain(d.files.ledger);

		cm_hex(chain->head, PR_HASH_LEN, head);
		if (cli->json)
			(void)printf("{\"schema\":\"tombola.ledger-verify/1\",\"intact\":true,\"seq\":%llu,"
				     "\"head\":\"%s\",\"torn_bytes\":%zu}\n",
				(unsigned long long)chain->seq, head, d.files.torn);
		else
			(void)printf("%s/ledger: intact, %llu records, head %s\n", d.conf.state_dir,
				(unsigned long long)chain->seq, head);
		if (!cli->json)
			print_slices(&d.files.state);
		if (d.files.torn > 0 && !cli->json)
			(void)printf("  a torn last record of %zu bytes was never acknowledged and does not "
				     "count\n",
				d.files.torn);
	}
	an_command_close(&d);
	return rc;
}

enum cm_rc an_verb_ledger_export(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	enum cm_rc rc = an_command_open(cli, &d, true, err);

	(void)exit_code;
	if (rc == CM_OK)
		rc = an_ledger_export(&d.files, stdout, err);
	an_command_close(&d);
	return rc;
}

/* ---- the signed plan ---- */

/* Print what devices compute for an entry, and from which payload. */
static void print_computing(const struct rd_entry *e)
{
	const struct qy_computing *c = &e->computing;
	char hash[2 * PR_HASH_LEN + 1];

	if (!qy_computes(c))
		return;
	cm_hex(c->program, PR_HASH_LEN, hash);
	(void)printf("        devices compute %s%s%s of ", c->map,
		strcmp(c->map, QY_MAP_PROGRAM) == 0 ? " sha256:" : "",
		strcmp(c->map, QY_MAP_PROGRAM) == 0 ? hash : "");
	for (uint32_t i = 0; i < c->fields; i++)
		(void)printf("%s%s", i > 0 ? ", " : "", c->field[i]);
	if (e->payload_max > 0)
		(void)printf("; payload of up to %llu bytes, given when the round is run\n",
			(unsigned long long)e->payload_max);
	else
		(void)puts("; no payload");
}

static int set_computing(json_t *o, const struct rd_entry *e)
{
	const struct qy_computing *c = &e->computing;
	json_t *fields;

	if (!o || !qy_computes(c))
		return o ? 0 : -1;
	fields = json_array();
	for (uint32_t i = 0; i < c->fields; i++)
		if (json_array_append_new(fields, json_string(c->field[i])) != 0)
			break;
	return json_object_set_new(o, "compute", json_string(c->map)) |
	       (strcmp(c->map, QY_MAP_PROGRAM) == 0
			       ? json_object_set_new(o, "program", an_json_hex(c->program, PR_HASH_LEN))
			       : 0) |
	       (json_array_size(fields) < c->fields ? -1 : 0) | json_object_set_new(o, "fields", fields) |
	       json_object_set_new(o, "payload_max", json_integer((json_int_t)e->payload_max));
}

static void print_plan(const struct an_state *s, bool signed_yet)
{
	const struct rd_plan *p = &s->current->signed_plan;
	char hash[2 * PR_HASH_LEN + 1];

	cm_hex(p->hash, PR_HASH_LEN, hash);
	(void)printf("plan %s, number %llu of population %s, %s\n"
		     "digest  sha256:%s\n"
		     "slice   epsilon %g at delta %g, mode %s, up to %u tries of a round\n",
		p->name, (unsigned long long)p->number, p->population,
		signed_yet ? "signed and pinned" : "as it would be signed now", hash,
		cm_digits_up(p->epsilon, 6), cm_digits_up(p->delta, 6), p->mode, p->tries);
	for (size_t i = 0; i < p->entries; i++) {
		(void)printf("entry %u (%s) epsilon %.4f, with those before it %.4f\n", p->entry[i].number,
			s->round[p->entry[i].number - 1].plan->label, an_round_up(p->entry[i].epsilon_round),
			an_round_up(p->entry[i].epsilon_total));
		print_computing(&p->entry[i]);
	}
	for (size_t i = 0; i < p->refusals; i++)
		(void)printf(
			"round %u (%s) refused: it would need epsilon %.4f, and the total would be %.4f\n",
			p->refused[i].number, s->round[p->refused[i].number - 1].plan->label,
			an_round_up(p->refused[i].epsilon_round), an_round_up(p->refused[i].epsilon_total));
}

static enum cm_rc plan_json(const struct an_state *s, bool signed_yet, struct cm_err *err)
{
	const struct rd_plan *p = &s->current->signed_plan;
	json_t *entries = json_array(), *refused = json_array(), *doc = NULL;
	bool bad = !entries || !refused;
	enum cm_rc rc;

	for (size_t i = 0; !bad && i < p->entries; i++) {
		const struct rd_entry *e = &p->entry[i];
		json_t *o = json_pack("{s:i, s:s, s:o, s:o}", "round", (int)e->number, "query", e->query.name,
			"epsilon_round", an_json_real(e->epsilon_round), "epsilon_total",
			an_json_real(e->epsilon_total));

		bad = set_computing(o, e) != 0;
		bad = json_array_append_new(entries, o) != 0 || bad;
	}
	for (size_t i = 0; !bad && i < p->refusals; i++)
		bad = json_array_append_new(
			      refused, json_pack("{s:i, s:s, s:o, s:o}", "round", (int)p->refused[i].number,
					       "query", p->refused[i].query, "epsilon_round",
					       an_json_real(p->refused[i].epsilon_round), "epsilon_total",
					       an_json_real(p->refused[i].epsilon_total))) != 0;
	if (!bad)
		doc = json_pack("{s:s, s:s, s:I, s:s, s:s, s:b, s:o, s:o, s:o, s:i, s:O, s:O}", "schema",
			"tombola.plan/1", "plan", p->name, "number", (json_int_t)p->number, "population",
			p->population, "mode", p->mode, "pinned", (int)signed_yet, "digest",
			an_json_hex(p->hash, PR_HASH_LEN), "epsilon", an_json_real(p->epsilon), "delta",
			an_json_real(p->delta), "tries", (int)p->tries, "entries", entries, "refused",
			refused);
	rc = doc ? an_json_print(doc, 0, stdout, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	json_decref(entries);
	json_decref(refused);
	json_decref(doc);
	return rc;
}

/* Open the signed plan, or the one that would be signed next. */
static enum cm_rc open_plan(
	const struct cm_cli *cli, struct an_command *d, bool *signed_yet, struct cm_err *err)
{
	enum cm_rc rc = an_command_open(cli, d, true, err);

	*signed_yet = rc == CM_OK && d->files.state.current;
	return rc == CM_OK ? an_ledger_files_preview(&d->files, NULL, err) : rc;
}

enum cm_rc an_verb_plan_show(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	bool signed_yet;
	enum cm_rc rc = open_plan(cli, &d, &signed_yet, err);

	(void)exit_code;
	if (rc == CM_OK && cli->json)
		rc = plan_json(&d.files.state, signed_yet, err);
	else if (rc == CM_OK)
		print_plan(&d.files.state, signed_yet);
	an_command_close(&d);
	return rc;
}

enum cm_rc an_verb_plan_digest(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	char hash[2 * PR_HASH_LEN + 1];
	struct an_command d;
	bool signed_yet;
	enum cm_rc rc = open_plan(cli, &d, &signed_yet, err);

	(void)exit_code;
	if (rc == CM_OK) {
		cm_hex(d.files.state.current->signed_plan.hash, PR_HASH_LEN, hash);
		(void)printf("sha256:%s\n", hash);
	}
	an_command_close(&d);
	return rc;
}
