/* tool_plan.c - the plan verbs: faults and digest. */
#include "tool_plan.h"

#include <stdio.h>

#include "pl_plan.h"

enum cm_rc tool_plan_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct pl_plan p;
	char digest[2 * PR_HASH_LEN + 1];
	enum cm_rc rc = pl_plan_load(cli->argv[1], stderr, &p, err);

	(void)exit_code;
	if (rc == CM_OK) {
		cm_hex(p.digest, PR_HASH_LEN, digest);
		printf("%s is valid: plan %s, %zu rounds, population %s, digest %s\n", cli->argv[1], p.name,
			p.rounds, p.population, digest);
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
