/* sh_core_left_out.c - counts the devices that a round does not take, and those whose clients decline it. */
#include "sh_core_left_out.h"

#include "sh_core_private.h"

void sh_core_count_left_out(
	struct sh_round *r, const struct cr_identity *peer, const struct sh_receipt *receipt)
{
	uint64_t over = 0, closed = 0;

	for (size_t i = 0; i < receipt->n; i++) {
		over += receipt->outcomes[i] == TOMBOLA__V1__OUTCOME__OUTCOME_OVER_LIMIT;
		closed += receipt->outcomes[i] == TOMBOLA__V1__OUTCOME__OUTCOME_CLOSED;
	}
	if (over + closed > 0 || r->left_out.declined.used > 0)
		sh_round_left_out(r, peer, over, closed);
}

void sh_core_decline(
	struct sh_core *c, const struct cr_identity *who, uint64_t sequence, uint32_t why, uint64_t listed)
{
	struct sh_round *r = sh_live_collecting(&c->live);
	uint8_t tag[SH_TAG_LEN];

	if (!r || sequence == 0 || r->d.sequence != sequence)
		return;
	sh_vault_certificate(&r->vault, who->key_hash, tag);
	/* Who has reports in the round takes part in it. */
	const struct sh_count *has = sh_counts_find(&r->intake.counts, tag);
	if (!has || has->n == 0)
		sh_left_out_decline(
			&r->left_out, &(struct sh_leaver){ tag, who->name, who->devices }, why, listed);
}
