/* an_verbs.c - the verbs that read budget and ledger. */
#include "an_verbs.h"

#include "an_desk.h"
#include "an_result.h"
#include "an_show.h"

enum cm_rc an_verb_budget(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_desk d;
	json_t *doc = NULL;
	enum cm_rc rc = an_desk_open(cli, &d, true, err);

	(void)exit_code;
	if (rc == CM_OK && cli->json) {
		rc = an_budget_json(&d.books, &doc, err);
		if (rc == CM_OK)
			rc = an_json_print(doc, 0, stdout, err);
	} else if (rc == CM_OK) {
		rc = an_budget_print(&d.books, stdout, err);
	}
	json_decref(doc);
	an_desk_close(&d);
	return rc;
}

/* The round a person most likely means: the first that was refused, else the next one. */
static struct an_round_state *interesting(const struct an_state *s)
{
	for (size_t i = 0; i < s->plan->rounds; i++)
		if (s->round[i].stage == AN_REFUSED)
			return &s->round[i];
	for (size_t i = 0; i < s->plan->rounds; i++)
		if (s->round[i].stage == AN_PLANNED)
			return &s->round[i];
	return &s->round[s->plan->rounds - 1];
}

enum cm_rc an_verb_budget_explain(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_desk d;
	struct an_round_state *r = NULL;
	struct an_explanation e;
	json_t *doc = NULL;
	enum cm_rc rc = an_desk_open(cli, &d, true, err);

	if (rc == CM_OK && cli->argc > 1)
		rc = an_desk_round(cli, &d, &r, err);
	else if (rc == CM_OK)
		r = interesting(&d.books.state);
	if (rc == CM_OK)
		rc = an_budget_explain(&d.books.state, r, &e, err);
	if (rc == CM_OK && cli->json) {
		doc = an_explanation_json(&d.books.state, &e);
		rc = an_json_print(doc, 0, stdout, err);
	} else if (rc == CM_OK) {
		an_explanation_print(&d.books.state, &e, stdout);
	}
	if (rc == CM_OK && !e.verdict.fits)
		*exit_code = cm_exit_code(CM_EBUDGET);
	json_decref(doc);
	an_desk_close(&d);
	return rc;
}

enum cm_rc an_verb_ledger_verify(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_desk d;
	char head[2 * PR_HASH_LEN + 1];
	enum cm_rc rc = an_desk_open(cli, &d, true, err);

	(void)exit_code;
	if (rc == CM_OK) {
		const struct rd_chain *chain = an_ledger_chain(d.books.ledger);

		cm_hex(chain->head, PR_HASH_LEN, head);
		if (cli->json)
			(void)printf("{\"schema\":\"tombola.ledger-verify/1\",\"intact\":true,\"seq\":%llu,"
				     "\"head\":\"%s\",\"torn_bytes\":%zu}\n",
				(unsigned long long)chain->seq, head, d.books.torn);
		else
			(void)printf("%s/ledger: intact, %llu records, head %s\n", d.conf.state_dir,
				(unsigned long long)chain->seq, head);
		if (d.books.torn > 0 && !cli->json)
			(void)printf("  a torn last record of %zu bytes was never acknowledged and does not "
				     "count\n",
				d.books.torn);
	}
	an_desk_close(&d);
	return rc;
}

enum cm_rc an_verb_ledger_export(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_desk d;
	enum cm_rc rc = an_desk_open(cli, &d, true, err);

	(void)exit_code;
	if (rc == CM_OK)
		rc = an_ledger_export(&d.books, stdout, err);
	an_desk_close(&d);
	return rc;
}
