/* an_results_hook.c (an_results.h) - carries out the verb that runs a program for each settled round. */
#include <string.h>

#include "an_command.h"
#include "an_deliver.h"
#include "an_hook.h"
#include "an_results.h"
#include "cm_owned.h"

static enum cm_rc run_hook(void *user, const struct an_event *e, const char *text, struct cm_err *err)
{
	const struct an_conf *conf = user;

	(void)e;
	return an_hook_run(&conf->on_settled.command, conf->on_settled.timeout_ms, text, strlen(text), err);
}

enum cm_rc an_results_hook(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	enum cm_rc rc = an_command_open(cli, &d, false, err);
	const struct an_deliver how = { .conf = &d.conf,
		.cursor = cli->option[AN_DELIVER_CURSOR],
		.what = "on_settled",
		.once = cli->option[AN_DELIVER_ONCE] != NULL,
		.hand_on = run_hook,
		.user = &d.conf };

	(void)exit_code;
	if (rc == CM_OK && !how.cursor)
		rc = cm_fail(err, CM_EUSAGE, "--cursor FILE is required: it keeps which round was the last");
	if (rc == CM_OK && d.conf.on_settled.command.n == 0)
		rc = cm_fail(err, CM_ECONFIG, "%s: has no on_settled.command to run", cli->config);
	if (rc == CM_OK && *d.conf.on_settled.command.item[0] != '/')
		rc = cm_fail(err, CM_ECONFIG,
			"%s: on_settled.command: a program is named by its absolute path", cli->config);
	/* The program is checked before each run, too; this check ends the verb at once if the
	 * configuration is wrong. */
	if (rc == CM_OK)
		rc = cm_owned_path(*d.conf.on_settled.command.item, err);
	if (rc == CM_OK)
		rc = an_deliver_run(&how, err);
	an_command_close(&d);
	return rc;
}
