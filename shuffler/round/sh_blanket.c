/* sh_blanket.c - makes the messages that a shuffler adds to a round whose descriptor prescribes some. */
#include "sh_blanket.h"

#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"

static enum cm_rc sealer_for(const struct rd_descriptor *d, struct cr_hpke_sealer **out, struct cm_err *err)
{
	uint8_t info[RD_INFO_LEN];

	rd_hpke_info(d, info);
	return cr_hpke_sealer_new(d->suite, d->hpke_key, info, sizeof info, out, err);
}

enum cm_rc sh_blanket_possible(const struct rd_descriptor *d, struct cm_err *err)
{
	struct cr_hpke_sealer *sealer = NULL;
	enum cm_rc rc = CM_OK;

	if (pt_rests_on_shuffler(&d->randomizer))
		rc = sealer_for(d, &sealer, err);
	cr_hpke_sealer_free(sealer);
	return rc;
}

uint32_t sh_blanket_next(const struct sh_round *r)
{
	if (r->state != SH_COLLECTING || r->cancelled || !sh_route_enough(r) || sh_route_next(r) ||
		!CM_CHECKED("shuffler.dummies"))
		return 0;
	const struct pt_randomizer *p = &r->d.randomizer;
	uint64_t left = p->shuffler.tag_messages > 0 ? sh_route_missing(r)
			: p->shuffler.noise_mean > 0 ? r->noise[pt_noise_bins(p) - 1] - r->dummies
						     : p->shuffler.dummies - r->dummies;
	return left < SH_BLANKET_SLICE ? (uint32_t)left : SH_BLANKET_SLICE;
}

/* Messages that are sealed together. */
struct some {
	uint8_t *records, *sealed;
	struct cr_key secret[CR_HPKE_MANY]; /* ephemeral secrets, one for each message */
	uint16_t tag[CR_HPKE_MANY];
	bool take[CR_HPKE_MANY];
};

/* Seal messages `made` to made + n - 1 of a round, and append them to batch, which has room for them.
 * Leaves out those that are not needed. */
static enum cm_rc seal_some(struct sh_round *r, const struct cr_rng *rng, struct cr_hpke_sealer *sealer,
	struct some *s, uint64_t made, uint32_t n, struct sh_batch *batch, struct cm_err *err)
{
	const struct rd_descriptor *d = &r->d;
	size_t sealed_len = rd_sealed_len(d);
	uint8_t aad[RD_AAD_LEN];

	rd_hpke_aad(d, aad);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t tag = 0;

		s->take[i] = d->randomizer.shuffler.tags == 0 || sh_route_take(r, made + i, &tag);
		if (r->noise)
			tag = sh_noise_bin(r, made + i);
		s->tag[i] = (uint16_t)tag;
		d->randomizer.row->dummy(&d->randomizer, tag, rng, s->records + (size_t)i * d->record_len);
		rng->fill(rng->ctx, s->secret[i].bytes, sizeof s->secret[i].bytes);
	}
	enum cm_rc rc = cr_hpke_seal_many(
		sealer, s->secret, n, aad, sizeof aad, s->records, d->record_len, s->sealed, sealed_len, err);
	for (uint32_t i = 0; rc == CM_OK && i < n; i++) {
		uint8_t *at = batch->sealed.data + batch->sealed.len;

		if (d->randomizer.shuffler.tags > 0)
			cm_put_le16(at, s->tag[i]);
		memcpy(at + (batch->message_len - sealed_len), s->sealed + i * sealed_len, sealed_len);
		batch->sealed.len += s->take[i] ? batch->message_len : 0;
	}
	return rc;
}

static enum cm_rc seal(
	struct sh_round *r, const struct cr_rng *rng, uint32_t n, struct sh_batch *batch, struct cm_err *err)
{
	struct some s = { malloc(CR_HPKE_MANY * (size_t)r->d.record_len),
		malloc(CR_HPKE_MANY * rd_sealed_len(&r->d)), { { { 0 } } }, { 0 }, { 0 } };
	struct cr_hpke_sealer *sealer = NULL;
	enum cm_rc rc = s.records && s.sealed ? sealer_for(&r->d, &sealer, err)
					      : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (uint32_t i = 0; rc == CM_OK && i < n; i += CR_HPKE_MANY)
		rc = seal_some(r, rng, sealer, &s, r->dummies + i,
			n - i < CR_HPKE_MANY ? n - i : CR_HPKE_MANY, batch, err);
	cr_hpke_sealer_free(sealer);
	if (s.records)
		cr_wipe(s.records, CR_HPKE_MANY * (size_t)r->d.record_len);
	cr_wipe(s.secret, sizeof s.secret);
	cr_wipe(s.tag, sizeof s.tag);
	free(s.records);
	free(s.sealed);
	return rc;
}

enum cm_rc sh_blanket_commit(struct sh_round *r, uint32_t n, const struct cr_rng *rng, struct cm_err *err)
{
	struct sh_count count = { .n = n };
	struct sh_batch batch;

	cr_rng_point("dummies", r->d.sequence, r->dummies);
	sh_vault_dummies(&r->vault, count.tag);
	sh_batch_init(&batch, r->vault.message_len, SIZE_MAX / 4);
	enum cm_rc rc = sh_batch_reserve(&batch, 1, n, err);
	if (rc == CM_OK)
		rc = seal(r, rng, n, &batch, err);
	if (rc == CM_OK) {
		sh_batch_count(&batch, &count);
		rc = sh_vault_commit(&r->vault, &batch, rng, err);
	}
	sh_batch_fini(&batch);
	return rc;
}

void sh_blanket_committed(struct sh_round *r, uint32_t n)
{
	r->dummies += n;
}
