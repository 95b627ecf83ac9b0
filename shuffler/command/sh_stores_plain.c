/* sh_stores_plain.c - lists the stores of tombola-shuffler. */
#include "sh_stores.h"

const struct sh_store_kind *const sh_stores[] = { &sh_store_sqlite, NULL };

enum cm_rc sh_intake_run(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	(void)cli;
	(void)exit_code;
	return sh_stores_become(err);
}

enum cm_rc sh_intake_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	(void)cli;
	(void)exit_code;
	return sh_stores_become(err);
}
