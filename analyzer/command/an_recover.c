/* an_recover.c - carries out the verb by which an operator continues after a loss. */
#include "an_recover.h"

#include <string.h>
#include <sys/stat.h>

#include "an_command.h"
#include "an_result.h"
#include "cm_clock.h"

static const char lost[] = "lost: given up by the operator";

static enum cm_rc confirmed(const struct cm_cli *cli, const struct an_round_state *r, struct cm_err *err)
{
	char what[96];

	(void)snprintf(what, sizeof what, "round %u %s", r->plan->number,
		r->stage == AN_CHARGED
			? "ends without an estimate, and what it was charged stays charged"
			: "is never answered: what devices reported is not used, and its entry is spent");
	return cm_cli_confirmed(cli->option[AN_RECOVER_CONFIRM], r->plan->label, what, err);
}

/* Append a record of `kind` about the round. */
static enum cm_rc append(
	struct an_command *d, const struct an_round_state *r, struct rd_record *record, struct cm_err *err)
{
	enum cm_rc rc;

	memcpy(record->round_id, r->descriptor.round_id, PR_ROUND_ID_LEN);
	(void)snprintf(record->reason, sizeof record->reason, "%s", lost);
	rc = an_ledger_files_append(&d->files, record, cm_clock_wall_ms(), err);
	if (rc == CM_OK)
		cm_log(CM_LOG_WARN, "round was given up", CM_I("round", r->plan->number),
			CM_S("query", r->plan->label), CM_S("record", rd_record_kind_name(record->kind)),
			CM_I("seq", record->seq));
	return rc;
}

/* Settle the round with a result that says why it has no estimate; the ledger has the hash of this result
 * as of any other. */
static enum cm_rc settle(struct an_command *d, const struct an_round_state *r, struct cm_err *err)
{
	struct rd_record record = { .kind = RD_SETTLE };
	struct cm_buf bytes;
	enum cm_rc rc;

	cm_buf_init(&bytes, AN_RESULT_MAX);
	rc = an_result_make(&d->files.state, r, NULL, NULL, lost, &bytes, err);
	if (rc == CM_OK)
		rc = an_result_write(d->conf.state_dir, r, &bytes, err);
	if (rc == CM_OK) {
		cr_sha256(bytes.data, bytes.len, record.result_hash);
		rc = append(d, r, &record, err);
	}
	cm_buf_fini(&bytes);
	return rc;
}

enum cm_rc an_recover_give_up(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	struct an_round_state *r = NULL;
	struct rd_record nothing = { .kind = RD_VOID };
	bool charged = false;
	enum cm_rc rc = an_command_open(cli, &d, false, err);

	(void)exit_code;
	(void)umask(077);
	if (rc == CM_OK)
		rc = an_ledger_files_open(&d.conf, true, &d.files, err);
	if (rc == CM_OK)
		rc = an_command_round(cli, &d, &r, err);
	if (rc == CM_OK && r->stage != AN_CHARGED && r->stage != AN_RESERVED)
		rc = cm_fail(err, CM_EOTHER, "round %u (%s) is %s: there is nothing to give up",
			r->plan->number, r->plan->label, an_stage_name(r->stage));
	if (rc == CM_OK)
		rc = confirmed(cli, r, err);
	if (rc == CM_OK) {
		charged = r->stage == AN_CHARGED;
		rc = charged ? settle(&d, r, err) : append(&d, r, &nothing, err);
	}
	if (rc == CM_OK)
		(void)printf("round %u (%s) is given up%s\n", r->plan->number, r->plan->label,
			charged ? "; its charge stays" : " and void; nothing was estimated");
	an_command_close(&d);
	return rc;
}
