/* sh_core_spread.c - answers the intakes that take the reports of a round. */
#include "sh_core_spread.h"

#include <string.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "sh_core_private.h"

/* The round whose reports intakes may take in this epoch, or NULL. */
static struct sh_round *of_epoch(const struct sh_core *c, uint64_t epoch)
{
	struct sh_round *r = sh_live_collecting(&c->live);

	return r && c->conf.env.intakes && !r->intake.closed && !r->spread.closed && r->spread.epoch != 0 &&
			       r->spread.epoch == epoch
		       ? r
		       : NULL;
}

void sh_core_intakes(struct sh_core *c, size_t intakes)
{
	struct sh_round *r = sh_live_collecting(&c->live);

	c->intakes = intakes;
	if (r)
		r->spread.wanted = true;
}

static uint64_t room_of(const struct sh_round *r)
{
	return r->spread.promised < r->d.target ? r->d.target - r->spread.promised : 0;
}

enum cm_rc sh_core_lend(
	struct sh_core *c, struct sh_loan *out, struct sh_vault_keys *keys, struct cm_err *err)
{
	const struct sh_round *open = sh_live_collecting(&c->live);
	const struct sh_round *r = open ? of_epoch(c, open->spread.epoch) : NULL;

	if (!r)
		return CM_EMORE;
	*out = (struct sh_loan){ .descriptor = { r->descriptor.data, r->descriptor.len },
		.epoch = r->spread.epoch,
		.room = room_of(r),
		.most_of_one = sh_round_most_of_one(r),
		.keys = keys };
	return sh_vault_lend(r->env->key_dir, r->d.round_id, keys, err);
}

enum cm_rc sh_core_claim(struct sh_core *c, uint32_t intake, uint64_t epoch,
	const uint8_t key_hash[PR_HASH_LEN], int64_t now_ms, enum sh_claim *out, struct cm_err *err)
{
	struct sh_round *r = of_epoch(c, epoch);
	uint8_t tag[SH_TAG_LEN];

	*out = SH_CLAIM_ENDED;
	if (!r)
		return CM_OK;
	sh_vault_certificate(&r->vault, key_hash, tag);
	return sh_spread_claim(&r->spread, intake, epoch, tag, r->d.target, now_ms, out, err);
}

void sh_core_leave(struct sh_core *c, uint32_t intake, uint64_t epoch, const uint8_t key_hash[PR_HASH_LEN])
{
	struct sh_round *r = of_epoch(c, epoch);
	uint8_t tag[SH_TAG_LEN];

	if (!r)
		return;
	sh_vault_certificate(&r->vault, key_hash, tag);
	sh_spread_leave(&r->spread, intake, epoch, tag);
}

/* Whether this intake has claimed the clients of all standings.  It cannot speak for a client that another
 * intake has. */
static bool claimed(const struct sh_round *r, uint32_t intake, const struct sh_signing *s)
{
	uint8_t tag[SH_TAG_LEN];

	if (s->stands > s->n)
		return false;
	for (size_t i = 0; i < s->stands; i++) {
		sh_vault_certificate(&r->vault, s->stand[i].key_hash, tag);
		if (CM_CHECKED("shuffler.standing.claimed") && !sh_spread_has(&r->spread, intake, tag))
			return false;
	}
	return true;
}

bool sh_core_promise(struct sh_core *c, uint32_t intake, const struct sh_signing *s, struct sh_promise *out)
{
	struct sh_round *r = of_epoch(c, s->epoch);
	bool granted = r && claimed(r, intake, s) &&
		       sh_spread_promise(&r->spread, s->epoch, r->d.target, s->devices);

	*out = (struct sh_promise){ .room = r ? room_of(r) : 0 };
	for (size_t i = 0; granted && i < s->stands; i++) {
		uint8_t tag[SH_TAG_LEN];

		sh_vault_certificate(&r->vault, s->stand[i].key_hash, tag);
		sh_left_out_takes_part(&r->left_out, tag);
	}
	if (granted) {
		memcpy(out->round_id, r->d.round_id, PR_ROUND_ID_LEN);
		memcpy(out->descriptor_hash, r->d.hash, PR_HASH_LEN);
		out->sequence = r->d.sequence;
	}
	return granted;
}

void sh_core_left_out(struct sh_core *c, uint32_t intake, uint64_t epoch, const struct cr_identity *who,
	uint64_t over_limit, uint64_t closed)
{
	struct sh_round *r = of_epoch(c, epoch);
	uint8_t tag[SH_TAG_LEN];

	if (!r)
		return;
	sh_vault_certificate(&r->vault, who->key_hash, tag);
	if (sh_spread_has(&r->spread, intake, tag))
		sh_round_left_out(r, who, over_limit, closed);
}

enum cm_rc sh_core_sign(const struct sh_core *c, const struct sh_promise *p, const struct sh_signing *s,
	uint8_t *signatures, struct cm_err *err)
{
	enum cm_rc rc =
		sh_intake_stand(c->conf.env.store, p->sequence, p->descriptor_hash, s->stand, s->stands, err);

	for (size_t i = 0; rc == CM_OK && i < s->n; i++) {
		const uint8_t *receipt = s->receipts + i * PR_RECEIPT_LEN;
		rc = sh_round_sign(&c->conf.env, p->round_id, receipt, cm_get_le64(receipt + PR_HASH_LEN),
			signatures + i * CR_SIGN_LEN, err);
	}
	return rc;
}

bool sh_core_stored(struct sh_core *c, uint64_t epoch, uint64_t devices, struct sh_mark **mark, uint64_t *all)
{
	struct sh_round *r = of_epoch(c, epoch);

	/* An intake's statement moves the end of a round, so it must stay within what was promised. */
	if (!r || devices > r->spread.promised - r->intake.participants)
		return false;
	r->intake.participants += devices;
	*mark = sh_mark_hold(r->mark);
	*all = r->intake.participants;
	return true;
}

enum cm_rc sh_core_mark(struct sh_mark *mark, uint64_t devices, struct cm_err *err)
{
	enum cm_rc rc = sh_mark_raise(mark, devices, err);

	return rc == CM_ENOINPUT ? CM_OK : rc;
}
