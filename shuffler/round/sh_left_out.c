/* sh_left_out.c - the devices of a round that are not taken, each certificate's within what it speaks for. */
#include "sh_left_out.h"

#include <stdio.h>

#include "cm_fault.h"

/* What a certificate declined, in the n of a sh_count: a certificate has at most 10,000,000 devices. */
#define DEVICE_BITS           24u
#define DECLINED(why, n)      ((uint32_t)(why) << DEVICE_BITS | (n))
#define DECLINED_WHY(value)   ((value) >> DEVICE_BITS)
#define DECLINED_COUNT(value) ((value) & ((1u << DEVICE_BITS) - 1))

_Static_assert(CR_PKI_MAX_DEVICES < 1u << DEVICE_BITS, "devices of a certificate fit beside a reason");
_Static_assert(RD_LEFT_OUT <= 1u << (32 - DEVICE_BITS), "a reason fits beside them");

void sh_left_out_fini(struct sh_left_out *l)
{
	sh_counts_fini(&l->sent);
	sh_counts_fini(&l->declined);
	*l = (struct sh_left_out){ 0 };
}

static uint32_t n_of(const struct sh_counts *c, const uint8_t tag[SH_TAG_LEN])
{
	const struct sh_count *at = sh_counts_find(c, tag);

	return at ? at->n : 0;
}

/* NULL: not counted. */
static struct sh_count *place(struct sh_counts *c, const uint8_t tag[SH_TAG_LEN])
{
	struct sh_count *known = sh_counts_find(c, tag);

	return known || c->used >= SH_LEFT_OUT_CERTIFICATES ? known : sh_counts_at(c, tag);
}

static void add(struct sh_left_out *l, unsigned why, uint64_t n, const struct sh_leaver *who, uint32_t all)
{
	struct sh_left_most *most = &l->most[why];

	l->sum.devices[why] += n;
	if (n > 0 && all > most->devices) {
		most->devices = all;
		(void)snprintf(most->name, sizeof most->name, "%s", who->name);
	}
}

void sh_left_out_sent(struct sh_left_out *l, const struct sh_leaver *who, unsigned why, uint64_t n)
{
	struct sh_count *at = n > 0 ? place(&l->sent, who->tag) : NULL;

	sh_left_out_takes_part(l, who->tag);
	if (!at)
		return;
	uint32_t left = at->n < who->devices ? who->devices - at->n : 0;
	if (!CM_CHECKED("shuffler.left_out") || n <= left)
		left = (uint32_t)n;
	at->n += left;
	add(l, why, left, who, at->n);
}

void sh_left_out_decline(struct sh_left_out *l, const struct sh_leaver *who, unsigned why, uint64_t listed)
{
	uint32_t sent = n_of(&l->sent, who->tag), left = sent < who->devices ? who->devices - sent : 0;
	uint32_t n = listed > 0 && listed < left ? (uint32_t)listed : left;

	if (!rd_left_out_declined(why) || why >= RD_LEFT_OUT || n == 0)
		return;
	sh_left_out_takes_part(l, who->tag);
	struct sh_count *at = place(&l->declined, who->tag);
	if (!at)
		return;
	at->n = DECLINED(why, n);
	add(l, why, n, who, n);
}

void sh_left_out_takes_part(struct sh_left_out *l, const uint8_t tag[SH_TAG_LEN])
{
	struct sh_count *at = sh_counts_find(&l->declined, tag);

	if (!at || at->n == 0)
		return;
	l->sum.devices[DECLINED_WHY(at->n)] -= DECLINED_COUNT(at->n);
	at->n = 0;
}

void sh_left_out_news(struct sh_left_out *l, struct rd_left_out *out)
{
	for (unsigned why = 0; why < RD_LEFT_OUT; why++) {
		uint64_t sum = l->sum.devices[why], told = l->told.devices[why];

		out->devices[why] = sum > told ? sum - told : 0;
	}
	l->told = l->sum;
}
