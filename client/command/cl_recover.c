/* cl_recover.c - accepts that this client's ledger lost rounds. */
#include "cl_recover.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "cl_conf.h"
#include "cl_db.h"
#include "cl_standing.h"
#include "cm_clock.h"
#include "cm_file.h"

enum { PLANS, CONFIRM };

static enum cm_rc read_options(
	const struct cm_cli *cli, const struct cl_setup *setup, uint64_t *plans, struct cm_err *err)
{
	enum cm_rc rc = cm_cli_confirmed(cli->option[CONFIRM], setup->conf.population,
		"nothing is answered any more of the plans up to the number that --plans says, and their "
		"slices stay spent",
		err);

	if (rc == CM_OK && !cli->option[PLANS])
		rc = cm_fail(err, CM_EUSAGE,
			"--plans: the number of the population's last plan, as tombola-analyzer plan show "
			"says it");
	return rc == CM_OK ? cm_cli_u64(cli->option[PLANS], "--plans", 1, INT64_MAX, plans, err) : rc;
}

static enum cm_rc accept_loss(const struct cm_cli *cli, const struct cl_setup *setup, struct cm_err *err)
{
	struct cl_loss loss = { .lost = false };
	struct cl_db *db = NULL;
	uint64_t plans = 0;
	bool anew = false;
	enum cm_rc rc = read_options(cli, setup, &plans, err);

	if (rc == CM_OK)
		rc = cm_file_lock(setup->conf.state_dir, CL_PARTY, err);
	if (rc == CM_OK)
		rc = cl_db_open_after_loss(setup->conf.state_dir, setup->conf.population, plans,
			cm_clock_wall_ms(), &anew, &db, err);
	if (rc == CM_OK)
		rc = cl_loss_read(db, &loss, err);
	if (rc == CM_OK && !loss.lost && !anew)
		rc = cm_fail(err, CM_EOTHER, "%s/client.db: no loss to accept", setup->conf.state_dir);
	if (rc == CM_OK && loss.lost)
		rc = cl_loss_accept(db, plans, cm_clock_wall_ms(), err);
	if (rc == CM_OK)
		rc = cl_loss_read(db, &loss, err);
	if (rc == CM_OK) {
		cm_log(CM_LOG_WARN, "a loss of this client's ledger was accepted",
			CM_S("population", setup->conf.population),
			CM_I("plans", (int64_t)loss.closed_plans));
		(void)printf("plans up to %" PRIu64
			     " are closed for this client; that is noted in %s/client.db\n",
			loss.closed_plans, setup->conf.state_dir);
	}
	cl_db_close(db);
	return rc;
}

enum cm_rc cl_recover_accept_loss(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cl_setup setup;
	enum cm_rc rc;

	(void)exit_code;
	(void)umask(077);
	rc = cl_setup_load(cli->config, &setup, stderr, err);
	if (rc == CM_OK)
		rc = accept_loss(cli, &setup, err);
	cl_setup_fini(&setup);
	return rc;
}
