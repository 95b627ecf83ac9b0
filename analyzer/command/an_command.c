/* an_command.c - opens the files that a verb needs. */
#include "an_command.h"

#include <stdio.h>
#include <string.h>

enum cm_rc an_command_open(const struct cm_cli *cli, struct an_command *d, bool files, struct cm_err *err)
{
	struct cf_file *file = NULL;
	struct cm_err why = { 0 };
	enum cm_rc rc;

	memset(d, 0, sizeof *d);
	rc = cf_load(cli->config, an_conf_rows, &d->conf, &file, stderr, err);
	if (rc == CM_OK && an_conf_sign_check(&d->conf, &why) != CM_OK) {
		err->code = CM_OK;
		cf_fault_at(file, "sign", &why, stderr, err);
		rc = err->code;
	}
	cf_file_free(file);
	return rc == CM_OK && files ? an_ledger_files_open(&d->conf, false, &d->files, err) : rc;
}

void an_command_close(struct an_command *d)
{
	an_ledger_files_close(&d->files);
	cf_free(an_conf_rows, &d->conf);
}

/* Find a round named like "2:3", which is round 3 of the population's second plan. */
static enum cm_rc round_of_plan(const char *text, const char *colon, const struct an_state *s,
	struct an_round_state **out, struct cm_err *err)
{
	char plan[24] = "";
	uint64_t k = 0, n = 0;
	enum cm_rc rc;

	(void)snprintf(plan, sizeof plan, "%.*s", (int)(colon - text < 20 ? colon - text : 20), text);
	rc = cm_cli_u64(plan, "plan", 1, s->plans, &k, err);
	if (rc == CM_OK)
		rc = cm_cli_u64(colon + 1, "round", 1, PL_ROUNDS_MAX, &n, err);
	for (size_t i = 0; rc == CM_OK && i < an_state_rounds(s); i++) {
		*out = an_state_at(s, i);
		if ((*out)->of && (*out)->of->signed_plan.number == k && (*out)->plan->number == n)
			return CM_OK;
	}
	return rc != CM_OK ? rc : cm_fail(err, CM_EUSAGE, "plan %.20s has no round %.20s", plan, colon + 1);
}

/* up to this many candidates are all named; if there are more, only the first and the last are */
#define NAMED 5u

/* Find the one round of the plan file whose query has this name.  A query that recurs has several rounds,
 * which is a fault. */
static enum cm_rc round_of_query(
	const char *name, const struct an_state *s, struct an_round_state **out, struct cm_err *err)
{
	const char *label[PL_ROUNDS_MAX];
	char text[NAMED * sizeof s->plan->round->label] = "";
	size_t n = 0, at = 0;

	for (size_t i = 0; i < s->plan->rounds; i++) {
		if (strcmp(s->plan->round[i].query.name, name) != 0)
			continue;
		*out = &s->round[i];
		label[n++] = s->plan->round[i].label;
	}
	if (n == 1)
		return CM_OK;
	if (n == 0)
		return cm_fail(err, CM_EUSAGE, "there is no round '%.80s' (round list shows them)", name);
	if (n > NAMED)
		return cm_fail(err, CM_EUSAGE, "'%.80s' is %zu rounds, %.80s to %.80s: say which", name, n,
			label[0], label[n - 1]);
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i > 0 ? ", " : "", label[i]);
	return cm_fail(err, CM_EUSAGE, "'%.80s' is %zu rounds, %s: say which", name, n, text);
}

enum cm_rc an_command_round(
	const struct cm_cli *cli, const struct an_command *d, struct an_round_state **out, struct cm_err *err)
{
	const char *colon = strchr(cli->argv[1], ':');
	uint64_t n = 1;
	enum cm_rc rc;

	if (strchr(cli->argv[1], '#')) {
		*out = an_state_query(&d->files.state, cli->argv[1]);
		return *out ? CM_OK
			    : cm_fail(err, CM_EUSAGE, "there is no round '%.80s' (round list shows them)",
				      cli->argv[1]);
	}
	if (colon)
		return round_of_plan(cli->argv[1], colon, &d->files.state, out, err);
	if (cli->argv[1][strspn(cli->argv[1], "0123456789")] != '\0')
		return round_of_query(cli->argv[1], &d->files.state, out, err);
	rc = cm_cli_u64(cli->argv[1], "round", 1, d->files.plan.rounds, &n, err);
	*out = &d->files.state.round[n - 1];
	return rc;
}
