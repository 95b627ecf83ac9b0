/* tool_plan.c - the plan verbs: faults and digest. */
#include "tool_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "pl_load.h"
#include "pl_make.h"
#include "pl_plan.h"

static enum cm_rc note_fit(
	void *user, size_t i, const struct rd_account *before, const struct rd_verdict *v, struct cm_err *err)
{
	bool *fits = user;

	(void)before;
	(void)err;
	fits[i] = v->fits;
	return CM_OK;
}

/* Prints what the file does not show: how many of the recurring rounds fit, and whether any is refused. */
static enum cm_rc say_fit(const struct pl_plan *p, struct cm_err *err)
{
	bool *fits = calloc(p->rounds, sizeof *fits);
	size_t refused = 0;
	enum cm_rc rc = fits ? pl_plan_accept(p, NULL, note_fit, fits, err)
			     : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK) {
		pl_plan_print_recurring(p, fits, stdout);
		for (size_t i = 0; i < p->rounds; i++)
			refused += !fits[i];
	}
	if (refused > 0)
		printf("%zu of %zu round%s not fit its budget: `tombola plan cost` says which\n", refused,
			p->rounds, p->rounds == 1 ? " does" : "s do");
	free(fits);
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
		rc = say_fit(&p, err);
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
