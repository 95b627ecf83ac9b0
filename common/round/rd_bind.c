/* rd_bind.c - what follows from a descriptor: sealing context, honest participants, what the round costs. */
#include <math.h>
#include <string.h>

#include "rd_descriptor.h"

static const char info_label[16] = "tombola/1 report"; /* no NUL: the separator follows */

size_t rd_sealed_len(const struct rd_descriptor *d)
{
	return (size_t)d->record_len + CM_HPKE_OVERHEAD;
}

size_t rd_message_len(const struct rd_descriptor *d)
{
	return rd_sealed_len(d) + (d->params.tags > 0 ? PR_TAG_LEN : 0);
}

void rd_hpke_info(const struct rd_descriptor *d, uint8_t info[RD_INFO_LEN])
{
	memcpy(info, info_label, sizeof info_label);
	info[sizeof info_label] = 0;
	memcpy(info + sizeof info_label + 1, d->hash, PR_HASH_LEN);
}

void rd_hpke_aad(const struct rd_descriptor *d, uint8_t aad[RD_AAD_LEN])
{
	memcpy(aad, d->hash, RD_AAD_LEN);
}

uint64_t rd_honest(uint64_t n, double honest_fraction, uint64_t colluders)
{
	double product = floor(honest_fraction * (double)n);
	uint64_t honest;

	if (!(product >= 1.0))
		return 1;
	honest = product >= (double)n ? n : (uint64_t)product;
	return honest > colluders && honest - colluders > 1 ? honest - colluders : 1;
}

/* Of the largest batch; where nobody but the victim is honest for sure, everybody else may be none. */
static double most_others(const struct rd_batch *b)
{
	if (b->honest >= b->least)
		return 0;
	if (b->honest <= 1)
		return (double)b->most;
	return ceil((double)(b->least - b->honest) / (double)b->least * (double)b->most * (1 + 1e-15));
}

static void keep_honest_tags(const struct pt_protocol *row, const struct rd_batch *b, struct pt_params *p)
{
	double others = most_others(b), each = row->messages(p), messages = others * each;

	for (uint32_t i = 0; i < PT_SLOTS_MAX; i++)
		if (p->tag_least[i] > 0)
			p->tag_least[i] =
				others + 1 < p->tag_least[i] ? p->tag_least[i] - (uint32_t)others : 1;
	if (p->tag_messages == 0)
		return;
	if (row->routes_by_value && others > 0 && (double)p->tag_messages < (double)b->most * each)
		p->tag_messages = 0;
	else
		p->tag_messages =
			messages + 1 < (double)p->tag_messages ? p->tag_messages - (uint64_t)messages : 1;
}

enum cm_rc rd_loss_of(const struct pt_protocol *row, const struct pt_params *p, const struct rd_batch *b,
	struct pt_loss *out, struct cm_err *err)
{
	struct pt_params honest = *p;

	if (p->tags > 0)
		keep_honest_tags(row, b, &honest);
	return pt_loss(row, &honest, b->honest, out, err);
}

enum cm_rc rd_loss(const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	return rd_loss_for(d, rd_honest(d->min_batch, d->honest_fraction, d->colluders), true, out, err);
}

enum cm_rc rd_loss_for(
	const struct rd_descriptor *d, uint64_t honest, bool trusted, struct pt_loss *out, struct cm_err *err)
{
	const struct rd_batch b = { .least = d->min_batch, .honest = honest, .most = d->target_batch };
	struct pt_params p = d->params;

	if (!trusted)
		pt_without_shuffler(&p);
	return rd_loss_of(d->protocol, &p, &b, out, err);
}

uint64_t rd_messages(const struct rd_descriptor *d, uint64_t participants)
{
	const struct pt_params *p = &d->params;

	return p->tag_messages > 0 ? p->tags * p->tag_messages
				   : participants * d->messages_per_client + p->shuffler_dummies +
					     (uint64_t)p->bins * p->noise_mean;
}
