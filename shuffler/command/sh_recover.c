/* sh_recover.c - the verbs with which an operator resumes work after a loss. */
#include "sh_recover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cm_file.h"
#include "cm_lock.h"
#include "sh_conf.h"
#include "sh_marks.h"
#include "sh_policy.h"
#include "sh_round.h"
#include "sh_stores.h"
#include "sh_vault.h"

struct recovery {
	struct sh_conf conf;
	const struct sh_store_kind *kind;
	struct sh_policy policy;
	struct sh_store store;
	char *key_dir;
};

static enum cm_rc begin(const struct cm_cli *cli, struct recovery *m, struct cm_err *err)
{
	*m = (struct recovery){ .key_dir = NULL };
	(void)umask(077);
	enum cm_rc rc = sh_conf_load(cli->config, &m->conf, stderr, err);
	if (rc == CM_OK)
		rc = sh_stores_of(&m->conf, &m->kind, err);
	if (rc == CM_OK)
		rc = sh_policy_load(m->conf.policy, &m->policy, stderr, err);
	if (rc == CM_OK)
		rc = cm_lock_take(m->conf.state_dir, SH_PARTY, err);
	return rc;
}

static void end(struct recovery *m)
{
	if (m->store.close)
		m->store.close(m->store.ctx);
	free(m->key_dir);
	sh_policy_fini(&m->policy);
	sh_conf_free(&m->conf);
}

/* ---- accept-loss ---- */

static enum cm_rc read_loss(const struct cm_cli *cli, struct sh_loss *loss, struct cm_err *err)
{
	const char *said = cli->option[SH_RECOVER_LEDGER];
	bool spent = cli->option[SH_RECOVER_SPENT];

	*loss = (struct sh_loss){ .closed_to = spent ? INT64_MAX : 0, .waits = !spent };
	if (said && spent)
		return cm_fail(err, CM_EUSAGE, "--ledger and --spent exclude each other");
	return said ? cm_cli_u64(said, "ledger", 1, INT64_MAX, &loss->closed_to, err) : CM_OK;
}

static void say_closed(const struct recovery *m, const struct sh_loss *loss)
{
	(void)printf("%s is new; that the old one was lost is noted in %s/in-service\n",
		m->conf.database ? "the state in the database" : "state.db", m->conf.state_dir);
	if (!loss->waits) {
		(void)printf("the population's budget counts as spent here: no plan is taken any more\n");
		return;
	}
	(void)printf(
		"the daemon waits until clients of more than %" PRId64
		" devices (colluders) have stated how long the ledger was: plans up to there are closed, "
		"their slices are spent, and what is left of the budget is for later plans\n",
		m->policy.shared.colluders);
	if (loss->closed_to > 0)
		(void)printf("plans of the first %" PRIu64 " ledger records are closed in any case\n",
			loss->closed_to);
}

enum cm_rc sh_recover_accept_loss(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct recovery m = { .key_dir = NULL };
	struct sh_loss loss;

	(void)exit_code;
	enum cm_rc rc = read_loss(cli, &loss, err);
	if (rc == CM_OK)
		rc = begin(cli, &m, err);
	if (rc == CM_OK)
		rc = cm_cli_confirmed(cli->option[SH_RECOVER_CONFIRM], m.policy.shared.population,
			"open rounds are lost, and every plan that the lost state may have pinned is closed "
			"with its slice spent: those that clients know of, or with --spent all",
			err);
	if (rc == CM_OK)
		rc = m.kind->anew(&m.conf, &loss, err);
	if (rc == CM_OK) {
		cm_log(CM_LOG_WARN, "the loss of this shuffler's state was accepted",
			CM_S("population", m.policy.shared.population), CM_S("state_dir", m.conf.state_dir));
		say_closed(&m, &loss);
	}
	end(&m);
	return rc;
}

/* ---- round give-up ---- */

/* A copy of a round's row. */
struct found {
	uint64_t sequence;
	bool there;
	struct sh_row row;
	struct cm_buf bytes; /* descriptor and its signature, manifest and its signature, charge */
};

static enum cm_rc keep(struct cm_buf *bytes, struct cr_span *span)
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
	/* Reserve room for all parts first, so that later copies do not move earlier ones. */
	if (!cm_buf_room(&f->bytes, room) || keep(&f->bytes, &f->row.descriptor) != CM_OK ||
		keep(&f->bytes, &f->row.signature) != CM_OK || keep(&f->bytes, &f->row.manifest) != CM_OK ||
		keep(&f->bytes, &f->row.manifest_signature) != CM_OK ||
		keep(&f->bytes, &f->row.charge) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return CM_OK;
}

/* Read the blocks.  CM_EDATA: one is damaged, or they hold another number of messages than the tags say. */
static enum cm_rc read_blocks(struct sh_round *r, struct cm_err *err)
{
	uint64_t wanted = r->intake.participants * r->d.messages_per_client + r->dummies, n = 0;
	struct cm_buf messages;
	enum cm_rc rc = CM_OK;

	cm_buf_init(&messages, SIZE_MAX / 4);
	messages.secret = 1;
	for (uint32_t i = 0; rc == CM_OK && i < r->vault.buckets; i++) {
		messages.len = 0;
		rc = sh_vault_read(&r->vault, i, &messages, err);
		n += messages.len / r->vault.message_len;
	}
	cm_buf_fini(&messages);
	/* Where tags are released evenly, some messages are dropped and others added. */
	return rc == CM_OK && n != wanted && r->d.randomizer.shuffler.tag_messages == 0
		       ? cm_fail(err, CM_EDATA, "%" PRIu64 " messages are stored, not %" PRIu64, n, wanted)
		       : rc;
}

/* Refuse to give up a round that has its key and its messages, all of them readable: it continues by itself,
 * and its reports were acknowledged. */
static enum cm_rc check_lost(const struct recovery *m, const struct sh_row *row, struct cm_err *err)
{
	const struct sh_env env = { .store = &m->store,
		.key_dir = m->key_dir,
		.max_bytes = (size_t)m->conf.limits.max_waiting_mib << 20 };
	struct sh_round *r = NULL;
	struct cm_err why;

	if (row->state == SH_ERASED || row->state == SH_VOID)
		return cm_fail(err, CM_EOTHER, "round %" PRIu64 " is over", row->sequence);
	enum cm_rc rc = sh_round_restore(&env, row, &r, &why);
	if (rc == CM_OK)
		rc = read_blocks(r, &why);
	sh_round_free(r);
	if (rc == CM_OK)
		return cm_fail(err, CM_EOTHER,
			"round %" PRIu64 " has its key and its messages: it is not lost", row->sequence);
	if (rc == CM_ENOINPUT || rc == CM_EDATA)
		return CM_OK;
	*err = why;
	return rc;
}

/* Refuse --newest if devices have a receipt: a VOID manifest would deny their reports. */
static enum cm_rc check_newest(const struct recovery *m, const struct sh_row *row, struct cm_err *err)
{
	uint64_t devices = 0;
	bool there;

	enum cm_rc rc = sh_mark_read(m->key_dir, row->round_id, &there, &devices, err);
	if (rc != CM_OK || devices == 0 || row->state != SH_COLLECTING)
		return rc == CM_EDATA ? CM_OK : rc;
	return cm_fail(err, CM_EOTHER,
		"round %" PRIu64 ": reports of %" PRIu64
		" devices were acknowledged, and a VOID manifest would deny them: give it up without --newest",
		row->sequence, devices);
}

/* Sign a VOID manifest for a round that was collecting: none of its messages will be released. */
static enum cm_rc sign_void(const struct recovery *m, const struct rd_descriptor *d, struct cm_buf *manifest,
	uint8_t signature[CR_SIGN_LEN], struct cm_err *err)
{
	struct rd_manifest v = { .is_void = true, .given_up = true };
	struct cr_signer *signer = NULL;

	memcpy(v.round_id, d->round_id, PR_ROUND_ID_LEN);
	memcpy(v.descriptor_hash, d->hash, PR_HASH_LEN);
	enum cm_rc rc = cr_signer_load(m->conf.signing_key, &signer, err);
	if (rc == CM_OK)
		rc = rd_manifest_encode(&v, manifest, err);
	if (rc == CM_OK)
		rc = cr_sign(signer, RD_PURPOSE_MANIFEST, manifest->data, manifest->len, signature, err);
	cr_signer_free(signer);
	return rc;
}

static enum cm_rc give_up(const struct recovery *m, const struct sh_row *row, const struct rd_descriptor *d,
	bool newest, struct cm_err *err)
{
	uint8_t signature[CR_SIGN_LEN];
	struct sh_row over = *row;
	struct cm_buf manifest;
	enum cm_rc rc = CM_OK;

	cm_buf_init(&manifest, PR_MANIFEST_MAX);
	/* The round's entry is spent.  Since it has no manifest, none of its messages will be released. */
	over.state = SH_ERASED;
	over.manifest = over.manifest_signature = over.charge = (struct cr_span){ 0 };
	if (newest && row->state == SH_COLLECTING) {
		rc = sign_void(m, d, &manifest, signature, err);
		over.state = SH_VOID;
		over.manifest = (struct cr_span){ manifest.data, manifest.len };
		over.manifest_signature = (struct cr_span){ signature, sizeof signature };
	}
	if (rc == CM_OK)
		rc = m->store.row_put(m->store.ctx, &over, err);
	cm_buf_fini(&manifest);
	if (rc == CM_OK)
		rc = sh_vault_destroy(&m->store, m->key_dir, row->round_id, err);
	return rc;
}

static enum cm_rc find(const struct cm_cli *cli, struct recovery *m, struct found *f, struct cm_err *err)
{
	enum cm_rc rc = cm_cli_u64(cli->argv[1], "round", 1, INT64_MAX, &f->sequence, err);
	if (rc == CM_OK)
		rc = begin(cli, m, err);
	if (rc == CM_OK && !(m->key_dir = cm_file_join(m->conf.state_dir, "keys")))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = m->kind->open(&m->conf, &m->store, err);
	if (rc == CM_OK)
		rc = m->store.row_each(m->store.ctx, take_row, f, err);
	if (rc == CM_OK && !f->there)
		rc = cm_fail(err, CM_EOTHER, "there is no round %" PRIu64 " here", f->sequence);
	return rc;
}

enum cm_rc sh_recover_give_up(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct recovery m = { .key_dir = NULL };
	struct found f = { .there = false };
	struct rd_descriptor d = { 0 };
	bool newest = cli->option[SH_GIVE_UP_NEWEST] != NULL;

	(void)exit_code;
	cm_buf_init(&f.bytes, PR_DESCRIPTOR_MAX + 2 * PR_FRAME_MAX);
	enum cm_rc rc = find(cli, &m, &f, err);
	if (rc == CM_OK)
		rc = check_lost(&m, &f.row, err);
	if (rc == CM_OK && newest)
		rc = check_newest(&m, &f.row, err);
	if (rc == CM_OK)
		rc = rd_descriptor_decode(f.row.descriptor.data, f.row.descriptor.len, &d, err);
	if (rc == CM_OK)
		rc = cm_cli_confirmed(cli->option[SH_RECOVER_CONFIRM], d.query.name,
			"what devices reported in this round is lost for good", err);
	if (rc == CM_OK)
		rc = give_up(&m, &f.row, &d, newest, err);
	if (rc == CM_OK) {
		cm_log(CM_LOG_WARN, "round was given up", CM_I("round", f.row.sequence),
			CM_S("query", d.query.name));
		(void)printf("round %" PRIu64
			     " (%s) is given up; if the analyzer has charged it, it is given up there too\n",
			f.row.sequence, d.query.name);
	}
	rd_descriptor_fini(&d);
	cm_buf_fini(&f.bytes);
	end(&m);
	return rc;
}
