/* cl_recover.c - accepts that this client's ledger lost rounds. */
#include "cl_recover.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "cl_conf.h"
#include "cl_db.h"
#include "cl_ledger.h"
#include "cl_standing.h"
#include "cm_clock.h"
#include "cm_lock.h"

enum { PLANS, NO_COPY, CONFIRM };

/* Sets *plans to 0 with --no-copy. */
static enum cm_rc read_options(
	const struct cm_cli *cli, const struct cl_setup *setup, uint64_t *plans, struct cm_err *err)
{
	bool no_copy = cli->option[NO_COPY] != NULL;
	enum cm_rc rc = cm_cli_confirmed(cli->option[CONFIRM], setup->conf.population,
		no_copy ? "should another copy of this state have answered, its devices give more than this "
			  "ledger says"
			: "nothing is answered any more of the plans up to the number that --plans says, and "
			  "their slices stay spent",
		err);

	*plans = 0;
	if (rc == CM_OK && no_copy == (cli->option[PLANS] != NULL))
		rc = cm_fail(err, CM_EUSAGE,
			"one of --no-copy, and --plans: the number of the population's last plan, as "
			"tombola-analyzer plan show says it");
	return rc == CM_OK && !no_copy ? cm_cli_u64(cli->option[PLANS], "--plans", 1, INT64_MAX, plans, err)
				       : rc;
}

static enum cm_rc decide(
	struct cl_db *db, const struct cl_setup *setup, bool anew, uint64_t plans, struct cm_err *err)
{
	struct cl_loss loss = { .lost = false };
	bool charged = false;
	enum cm_rc rc = cl_loss_read(db, &loss, err);

	if (rc == CM_OK)
		rc = cl_ledger_any(db, &charged, err);
	if (rc != CM_OK)
		return rc;
	/* A state without a charge may have been made in place of a lost one, whose secret is lost, too. */
	if (!loss.lost && !anew && !charged && !loss.accepted && plans > 0)
		return cl_loss_accept(db, plans, cm_clock_wall_ms(), err);
	if (!loss.lost && !anew)
		return cm_fail(err, CM_EOTHER, "%s/client.db: no loss to accept", setup->conf.state_dir);
	if (plans == 0 && !loss.conflict)
		return cm_fail(err, CM_EOTHER,
			"%s/client.db lacks a round that the shuffler has, which --no-copy does not explain: "
			"close plans with --plans",
			setup->conf.state_dir);
	if (!loss.lost)
		return CM_OK;
	return plans > 0 ? cl_loss_accept(db, plans, cm_clock_wall_ms(), err)
			 : cl_loss_deny(db, cm_clock_wall_ms(), err);
}

static enum cm_rc open_db(
	const struct cl_setup *setup, uint64_t plans, bool *anew, struct cl_db **db, struct cm_err *err)
{
	*anew = false;
	if (plans > 0)
		return cl_db_open_after_loss(setup->conf.state_dir, setup->conf.population, plans,
			cm_clock_wall_ms(), anew, db, err);
	return cl_db_open(setup->conf.state_dir, setup->conf.population, db, err);
}

static enum cm_rc accept_loss(const struct cm_cli *cli, const struct cl_setup *setup, struct cm_err *err)
{
	struct cl_loss loss = { .lost = false };
	struct cl_db *db = NULL;
	uint64_t plans = 0;
	bool anew = false;
	enum cm_rc rc = read_options(cli, setup, &plans, err);

	if (rc == CM_OK)
		rc = cm_lock_take(setup->conf.state_dir, CL_PARTY, err);
	if (rc == CM_OK)
		rc = open_db(setup, plans, &anew, &db, err);
	if (rc == CM_OK)
		rc = decide(db, setup, anew, plans, err);
	if (rc == CM_OK)
		rc = cl_loss_read(db, &loss, err);
	if (rc == CM_OK && plans == 0) {
		cm_log(CM_LOG_WARN, "an operator says that no copy of this client's state answered",
			CM_S("population", setup->conf.population));
		(void)printf("this client goes on, nothing is closed; that is noted in %s/client.db\n",
			setup->conf.state_dir);
	} else if (rc == CM_OK) {
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
