/* cl_proofs.c - carries out the verb `proofs`: requests the due proofs and prints the results. */
#include "cl_proofs.h"

#include "cl_loop.h"
#include "cl_show.h"
#include "cm_log.h"

static enum cm_rc ask(
	const struct cm_cli *cli, const struct cl_setup *setup, int64_t wait_ms, struct cm_err *err)
{
	const struct cl_loop_conf conf = { .setup = setup,
		.wait_ms = wait_ms,
		.stop_on_fault = true,
		.proofs_only = true,
		.quiet = cli->level < CM_LOG_INFO };
	bool stopped = false;
	enum cm_rc rc = cl_loop_run(&conf, &stopped, err);

	return rc == CM_OK && stopped ? cm_fail(err, CM_ELATER, "stopped; what is left is asked for later")
				      : rc;
}

/* Print the counts in any case; the command then ends with the first fault. */
static enum cm_rc ask_and_show(
	const struct cm_cli *cli, const struct cl_setup *setup, int64_t wait_ms, struct cm_err *err)
{
	enum cm_rc rc = ask(cli, setup, wait_ms, err);
	struct cm_err shown;

	if ((rc == CM_OK || rc == CM_EPROTO) && cl_show_proofs(setup, cli->json, stdout, &shown) != CM_OK &&
		rc == CM_OK) {
		*err = shown;
		rc = err->code;
	}
	return rc;
}

enum cm_rc cl_proofs(const struct cm_cli *cli, int64_t wait_ms, struct cm_err *err)
{
	const char *save = cli->option[CL_PROOFS_SAVE], *out = cli->option[CL_PROOFS_OUT];
	struct cl_setup setup;
	uint64_t number = 0;
	enum cm_rc rc = CM_OK;

	if ((save == NULL) != (out == NULL))
		return cm_fail(err, CM_EUSAGE, "--save N and --out FILE go together");
	if (save)
		rc = cm_cli_u64(save, "--save", 1, INT64_MAX, &number, err);
	if (rc != CM_OK)
		return rc;
	rc = cl_setup_load(cli->config, &setup, stderr, err);
	if (rc == CM_OK)
		rc = save ? cl_save_manifest(&setup, number, out, err)
			  : ask_and_show(cli, &setup, wait_ms, err);
	cl_setup_fini(&setup);
	return rc;
}
