/* rd_bind.c - what follows from a descriptor: sealing context, honest participants, messages. */
#include <string.h>

#include "acct_decimal.h"
#include "rd_descriptor.h"

static const char info_label[16] = "tombola/1 report"; /* no NUL: the separator follows */

size_t rd_sealed_len(const struct rd_descriptor *d)
{
	return (size_t)d->record_len + CR_HPKE_OVERHEAD;
}

size_t rd_message_len(const struct rd_descriptor *d)
{
	return rd_sealed_len(d) + (d->randomizer.shuffler.tags > 0 ? PR_TAG_LEN : 0);
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

uint64_t rd_share_of(double share, uint64_t n)
{
	uint64_t part = acct_decimal_floor(share, n);

	return part < n ? part : n;
}

uint64_t rd_honest(uint64_t n, double honest_fraction, uint64_t colluders)
{
	uint64_t honest = rd_share_of(honest_fraction, n);

	return honest > colluders && honest - colluders > 1 ? honest - colluders : 1;
}

uint64_t rd_honest_as(const struct rd_descriptor *d, double honest_fraction, uint64_t colluders)
{
	double h = d->honest_fraction < honest_fraction ? d->honest_fraction : honest_fraction;
	uint64_t c = d->colluders > colluders ? d->colluders : colluders;

	return rd_honest(d->min_reports, h, c);
}

uint64_t rd_messages(const struct rd_descriptor *d, uint64_t participants)
{
	const struct pt_shuffler *s = &d->randomizer.shuffler;

	return s->tag_messages > 0 ? s->tags * s->tag_messages
				   : participants * d->messages_per_client + s->dummies +
					     (uint64_t)pt_noise_bins(&d->randomizer) * s->noise_mean;
}
