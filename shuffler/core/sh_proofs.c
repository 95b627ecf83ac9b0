/* sh_proofs.c - proves to clients what is in a sealed round. */
#include "sh_proofs.h"

#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_fault.h"

static enum cm_rc prove_all(
	struct sh_leaves *l, const uint8_t (*hashes)[PR_HASH_LEN], struct cm_buf *out, struct cm_err *err)
{
	size_t len = rd_entry_len(sh_leaves_count(l));
	enum cm_rc rc = CM_OK;

	out->len = 0;
	uint8_t *at = cm_buf_room(out, PR_PROOF_HASHES * len);
	if (!at)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; rc == CM_OK && i < PR_PROOF_HASHES; i++)
		rc = sh_leaves_prove(l, hashes[i], at + i * len, err);
	out->len = PR_PROOF_HASHES * len;
	return rc;
}

enum cm_rc sh_proofs_prove(const struct sh_proofs *p, const uint8_t round_id[PR_ROUND_ID_LEN],
	const uint8_t (*hashes)[PR_HASH_LEN], struct cm_buf *out, struct sh_refusal *no, struct cm_err *err)
{
	struct sh_leaves *l = NULL;
	bool kept = false;

	for (size_t i = 0; i < p->n; i++)
		kept |= memcmp(p->row[i].round_id, round_id, PR_ROUND_ID_LEN) == 0;
	enum cm_rc rc = kept ? sh_leaves_open(p->place, round_id, &l, err) : CM_ENOINPUT;
	if (rc == CM_ENOINPUT)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0,
			"no proofs are given of this round, or not any more");
	if (rc == CM_OK)
		rc = prove_all(l, hashes, out, err);
	sh_leaves_close(l);
	/* Damaged leaves prevent only their proofs: accepted reports do not depend on them. */
	if (rc == CM_EDATA || rc == CM_EIO || rc == CM_EPERM)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE, 0,
			"the proofs of this round cannot be read");
	return rc;
}

/* ---- For how long ---- */

static enum cm_rc keep(
	struct sh_proofs *p, const uint8_t round_id[PR_ROUND_ID_LEN], int64_t until_ms, struct cm_err *err)
{
	struct sh_proof *grown = cm_grow(p->row, p->n, &p->room, sizeof *p->row);

	if (!grown)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	p->row = grown;
	grown[p->n].until_ms = until_ms;
	memcpy(grown[p->n++].round_id, round_id, PR_ROUND_ID_LEN);
	return CM_OK;
}

enum cm_rc sh_proofs_keep(
	struct sh_proofs *p, const uint8_t round_id[PR_ROUND_ID_LEN], int64_t sealed_ms, struct cm_err *err)
{
	return p->place->dir && p->place->window_ms > 0
		       ? keep(p, round_id, sealed_ms + p->place->window_ms, err)
		       : CM_OK;
}

struct loading {
	struct sh_proofs *proofs;
	const struct sh_live *live;
};

static enum cm_rc load_one(
	void *user, const uint8_t round_id[PR_ROUND_ID_LEN], int64_t sealed_ms, struct cm_err *err)
{
	const struct loading *g = user;
	const struct sh_round *r = sh_live_find(g->live, round_id);

	if (r && r->state == SH_COLLECTING)
		return CM_OK;
	return keep(g->proofs, round_id, sealed_ms + g->proofs->place->window_ms, err);
}

enum cm_rc sh_proofs_load(struct sh_proofs *p, const struct sh_live *live, struct cm_err *err)
{
	struct loading g = { p, live };

	return sh_leaves_each(p->place, load_one, &g, err);
}

void sh_proofs_fini(struct sh_proofs *p)
{
	free(p->row);
	p->row = NULL;
	p->n = p->room = 0;
}

int64_t sh_proofs_until(const struct sh_proofs *p)
{
	int64_t until = INT64_MAX;

	for (size_t i = 0; i < p->n; i++)
		until = p->row[i].until_ms < until ? p->row[i].until_ms : until;
	return until;
}

enum cm_rc sh_proofs_expire(struct sh_proofs *p, int64_t now_ms, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = p->n; rc == CM_OK && i-- > 0;) {
		if (!CM_CHECKED("shuffler.proof_window") || now_ms < p->row[i].until_ms)
			continue;
		rc = sh_leaves_erase(p->place, p->row[i].round_id, err);
		if (rc == CM_OK)
			p->row[i] = p->row[--p->n];
	}
	return rc;
}
