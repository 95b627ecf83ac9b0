/* sh_core_proof.c - proofs of what is in a sealed round, for clients that ask. */
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "sh_core_private.h"

/* A round whose leaves are kept. */
struct sh_proofs {
	uint8_t round_id[PR_ROUND_ID_LEN];
	int64_t until_ms;
};

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

enum cm_rc sh_core_prove(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	const uint8_t (*hashes)[PR_HASH_LEN], struct cm_buf *out, struct sh_refusal *no, struct cm_err *err)
{
	struct sh_leaves *l = NULL;

	if (round_id_len != PR_ROUND_ID_LEN)
		return sh_core_not_found(no);
	const struct sh_round *r = sh_core_find(c, round_id);
	if (r && r->state == SH_COLLECTING)
		return sh_refuse(
			no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS, "the round is still open");
	bool kept = false;
	for (size_t i = 0; i < c->n_proofs; i++)
		kept |= memcmp(c->proofs[i].round_id, round_id, PR_ROUND_ID_LEN) == 0;
	enum cm_rc rc = kept ? sh_leaves_open(&c->conf.env.leaves, round_id, &l, err) : CM_ENOINPUT;
	if (rc == CM_ENOINPUT)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0,
			"no proofs are given of this round, or not any more");
	if (rc == CM_OK)
		rc = prove_all(l, hashes, out, err);
	sh_leaves_close(l);
	/* Damaged leaves cost their proofs and nothing else: what was acknowledged does not rest on them. */
	if (rc == CM_EDATA || rc == CM_EIO || rc == CM_EPERM)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE, 0,
			"the proofs of this round cannot be read");
	return rc;
}

/* ---- For how long ---- */

static enum cm_rc keep(
	struct sh_core *c, const uint8_t round_id[PR_ROUND_ID_LEN], int64_t until_ms, struct cm_err *err)
{
	struct sh_proofs *grown = cm_grow(c->proofs, c->n_proofs, &c->room_proofs, sizeof *c->proofs);

	if (!grown)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	c->proofs = grown;
	grown[c->n_proofs].until_ms = until_ms;
	memcpy(grown[c->n_proofs++].round_id, round_id, PR_ROUND_ID_LEN);
	return CM_OK;
}

enum cm_rc sh_core_keep_proofs(
	struct sh_core *c, const uint8_t round_id[PR_ROUND_ID_LEN], int64_t sealed_ms, struct cm_err *err)
{
	const struct sh_leaves_place *place = &c->conf.env.leaves;

	return place->dir && place->window_ms > 0 ? keep(c, round_id, sealed_ms + place->window_ms, err)
						  : CM_OK;
}

static enum cm_rc load_one(
	void *user, const uint8_t round_id[PR_ROUND_ID_LEN], int64_t sealed_ms, struct cm_err *err)
{
	struct sh_core *c = user;
	const struct sh_round *r = sh_core_find(c, round_id);

	/* A round that is being sealed makes them anew. */
	if (r && r->state == SH_COLLECTING)
		return CM_OK;
	return keep(c, round_id, sealed_ms + c->conf.env.leaves.window_ms, err);
}

enum cm_rc sh_core_load_proofs(struct sh_core *c, struct cm_err *err)
{
	return sh_leaves_each(&c->conf.env.leaves, load_one, c, err);
}

int64_t sh_core_proofs_until(const struct sh_core *c)
{
	int64_t until = INT64_MAX;

	for (size_t i = 0; i < c->n_proofs; i++)
		until = c->proofs[i].until_ms < until ? c->proofs[i].until_ms : until;
	return until;
}

enum cm_rc sh_core_expire(struct sh_core *c, int64_t now_ms, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = c->n_proofs; rc == CM_OK && i-- > 0;) {
		if (!CM_CHECKED("shuffler.proof_window") || now_ms < c->proofs[i].until_ms)
			continue;
		rc = sh_leaves_erase(&c->conf.env.leaves, c->proofs[i].round_id, err);
		if (rc == CM_OK)
			c->proofs[i] = c->proofs[--c->n_proofs];
	}
	return rc;
}
