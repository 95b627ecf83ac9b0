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

/* Where nobody but the victim is honest for sure, everybody else may be none. */
static double most_others(uint64_t min_batch, uint64_t target_batch, uint64_t honest)
{
	if (honest >= min_batch)
		return 0;
	if (honest <= 1)
		return (double)target_batch;
	return ceil((double)(min_batch - honest) / (double)min_batch * (double)target_batch * (1 + 1e-15));
}

void rd_honest_tags(const struct pt_protocol *row, struct pt_params *p, uint32_t messages_each,
	uint64_t min_batch, uint64_t target_batch, uint64_t honest)
{
	double most = most_others(min_batch, target_batch, honest), messages = most * messages_each;

	for (uint32_t i = 0; i < PT_SLOTS_MAX; i++)
		if (p->tag_least[i] > 0)
			p->tag_least[i] = most + 1 < p->tag_least[i] ? p->tag_least[i] - (uint32_t)most : 1;
	if (p->tag_messages == 0)
		return;
	if (row->routes_by_value && most > 0 &&
		(double)p->tag_messages < (double)target_batch * messages_each)
		p->tag_messages = 0;
	else
		p->tag_messages =
			messages + 1 < (double)p->tag_messages ? p->tag_messages - (uint64_t)messages : 1;
}

enum cm_rc rd_loss(const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	return rd_loss_for(d, rd_honest(d->min_batch, d->honest_fraction, d->colluders), true, out, err);
}

enum cm_rc rd_loss_for(
	const struct rd_descriptor *d, uint64_t honest, bool trusted, struct pt_loss *out, struct cm_err *err)
{
	struct pt_params p = d->params;

	if (!trusted)
		pt_without_shuffler(&p);
	rd_honest_tags(d->protocol, &p, d->messages_per_client, d->min_batch, d->target_batch, honest);
	return pt_loss(d->protocol, &p, honest, out, err);
}

uint64_t rd_messages(const struct rd_descriptor *d, uint64_t participants)
{
	const struct pt_params *p = &d->params;

	return p->tag_messages > 0 ? p->tags * p->tag_messages
				   : participants * d->messages_per_client + p->shuffler_dummies +
					     (uint64_t)p->bins * p->noise_mean;
}
