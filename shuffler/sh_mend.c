/* sh_mend.c - the verbs by which an operator goes on after a loss. */
#include "sh_mend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cm_file.h"
#include "sh_conf.h"
#include "sh_policy.h"
#include "sh_round.h"
#include "sh_sqlite.h"
#include "sh_vault.h"

struct mend {
	struct sh_conf conf;
	struct sh_policy policy;
	struct sh_store store;
	char *key_dir;
};

static enum cm_rc begin(const struct cm_cli *cli, struct mend *m, struct cm_err *err)
{
	*m = (struct mend){ .key_dir = NULL };
	(void)umask(077);
	enum cm_rc rc = sh_conf_load(cli->config, &m->conf, stderr, err);
	if (rc == CM_OK)
		rc = sh_policy_load(m->conf.policy, &m->policy, stderr, err);
	if (rc == CM_OK)
		rc = cm_file_lock(m->conf.state_dir, err);
	return rc;
}

static void end(struct mend *m)
{
	if (m->store.close)
		m->store.close(m->store.ctx);
	free(m->key_dir);
	sh_policy_fini(&m->policy);
	sh_conf_free(&m->conf);
}

/* ---- accept-loss ---- */

enum cm_rc sh_mend_accept_loss(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct mend m;

	(void)exit_code;
	enum cm_rc rc = begin(cli, &m, err);
	if (rc == CM_OK)
		rc = cm_cli_confirmed(cli->option[SH_MEND_CONFIRM], m.policy.population,
			"the ledger that the analyzer shows next is believed, were it an older copy, and "
			"open rounds are lost",
			err);
	if (rc == CM_OK)
		rc = sh_sqlite_anew(m.conf.state_dir, err);
	if (rc == CM_OK) {
		cm_log(CM_LOG_WARN, "the loss of this shuffler's state was accepted",
			CM_S("population", m.policy.population), CM_S("state_dir", m.conf.state_dir));
		(void)printf("%s/state.db is new; that the old one was lost is noted in %s/in-service\n",
			m.conf.state_dir, m.conf.state_dir);
	}
	end(&m);
	return rc;
}

/* ---- round give-up ---- */

/* The row of a round, as long as we need it. */
struct found {
	uint64_t sequence;
	bool there;
	struct sh_row row;
	struct cm_buf bytes; /* descriptor, signature, manifest, its signature, charge */
};

static enum cm_rc keep(struct cm_buf *bytes, struct cm_span *span)
{
	size_t at = bytes->len;
	enum cm_rc rc = span->len > 0 ? cm_buf_put(bytes, span->data, span->len) : CM_OK;

	span->data = bytes->data + at;
	return rc;
}

static enum cm_rc take_row(void *user, const struct sh_row *row, struct cm_err *err)
{
	struct found *f = user;
	size_t room = row->descriptor.len + row->signature.len + row->manifest.len +
		      row->manifest_signature.len + row->charge.len;

	if (row->sequence != f->sequence)
		return CM_OK;
	f->there = true;
	f->row = *row;
	/* Room for all of it, so that nothing moves. */
	if (!cm_buf_room(&f->bytes, room) || keep(&f->bytes, &f->row.descriptor) != CM_OK ||
		keep(&f->bytes, &f->row.signature) != CM_OK || keep(&f->bytes, &f->row.manifest) != CM_OK ||
		keep(&f->bytes, &f->row.manifest_signature) != CM_OK ||
		keep(&f->bytes, &f->row.charge) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return CM_OK;
}

/* A round that has all it needs goes on by itself: its reports were acknowledged. */
static enum cm_rc check_lost(const struct mend *m, const struct sh_row *row, struct cm_err *err)
{
	const struct sh_env env = {
		.store = &m->store, .key_dir = m->key_dir, .max_bytes = (size_t)m->conf.max_waiting_mib << 20
	};
	struct sh_round *r = NULL;
	struct cm_err why;

	if (row->state == SH_ERASED || row->state == SH_VOID)
		return cm_fail(err, CM_EOTHER, "round %" PRIu64 " is over", row->sequence);
	enum cm_rc rc = sh_round_restore(&env, row, &r, &why);
	sh_round_free(r);
	if (rc == CM_OK)
		return cm_fail(err, CM_EOTHER,
			"round %" PRIu64 " has its key and its messages: it is not lost", row->sequence);
	if (rc == CM_ENOINPUT || rc == CM_EDATA)
		return CM_OK;
	*err = why;
	return rc;
}

static enum cm_rc give_up(const struct mend *m, const struct sh_row *row, struct cm_err *err)
{
	struct sh_row over = *row;

	/* Without a manifest: none of its messages will come. */
	over.state = SH_ERASED;
	over.manifest = over.manifest_signature = over.charge = (struct cm_span){ 0 };
	enum cm_rc rc = m->store.row_put(m->store.ctx, &over, err);
	if (rc == CM_OK)
		rc = sh_vault_destroy(&m->store, m->key_dir, row->round_id, err);
	return rc;
}

static enum cm_rc find(const struct cm_cli *cli, struct mend *m, struct found *f, struct cm_err *err)
{
	enum cm_rc rc = cm_cli_u64(cli->argv[1], "round", 1, INT64_MAX, &f->sequence, err);
	if (rc == CM_OK)
		rc = begin(cli, m, err);
	if (rc == CM_OK && !(m->key_dir = cm_file_join(m->conf.state_dir, "keys")))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = sh_sqlite_open(m->conf.state_dir, &m->store, err);
	if (rc == CM_OK)
		rc = m->store.row_each(m->store.ctx, take_row, f, err);
	if (rc == CM_OK && !f->there)
		rc = cm_fail(err, CM_EOTHER, "there is no round %" PRIu64 " here", f->sequence);
	return rc;
}

enum cm_rc sh_mend_give_up(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct mend m = { .key_dir = NULL };
	struct found f = { .there = false };
	struct rd_descriptor d = { 0 };

	(void)exit_code;
	cm_buf_init(&f.bytes, PR_DESCRIPTOR_MAX + 2 * PR_FRAME_MAX);
	enum cm_rc rc = find(cli, &m, &f, err);
	if (rc == CM_OK)
		rc = check_lost(&m, &f.row, err);
	if (rc == CM_OK)
		rc = rd_descriptor_decode(f.row.descriptor.data, f.row.descriptor.len, &d, err);
	if (rc == CM_OK)
		rc = cm_cli_confirmed(cli->option[SH_MEND_CONFIRM], d.query.name,
			"what devices reported in this round is lost for good", err);
	if (rc == CM_OK)
		rc = give_up(&m, &f.row, err);
	if (rc == CM_OK) {
		cm_log(CM_LOG_WARN, "round was given up", CM_I("round", f.row.sequence),
			CM_S("query", d.query.name));
		(void)printf("round %" PRIu64
			     " (%s) is given up; if the analyzer has charged it, it is given up there "
			     "too\n",
			f.row.sequence, d.query.name);
	}
	rd_descriptor_fini(&d);
	cm_buf_fini(&f.bytes);
	end(&m);
	return rc;
}
