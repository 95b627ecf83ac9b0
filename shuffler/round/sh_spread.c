/* sh_spread.c - the head's part of a round whose reports intakes take: epochs, claims, places. */
#include "sh_spread.h"

#include "cm_fault.h"

/* A claim in the n of an sh_count: the intake's number, doubled, plus one if the certificate has left
 * it. */
#define CLAIM(intake) ((intake) << 1)
#define LEFT          1u

void sh_spread_fini(struct sh_spread *s)
{
	sh_counts_fini(&s->claims);
}

static int64_t pause_ms(const struct sh_spread *s)
{
	return s->pause_ms > 0 ? s->pause_ms : SH_SPREAD_PAUSE_MS;
}

void sh_spread_begin(struct sh_spread *s, const struct sh_epoch *epoch, int64_t now_ms)
{
	int64_t pause = pause_ms(s),
		twice = 2 * pause < SH_SPREAD_LONGEST_MS ? 2 * pause : SH_SPREAD_LONGEST_MS;

	sh_counts_fini(&s->claims);
	if (s->moves)
		s->pause_ms = now_ms - s->began_ms < 4 * pause ? twice : SH_SPREAD_PAUSE_MS;
	s->moves = false;
	s->wanted = false;
	s->epoch = epoch->number;
	s->promised = epoch->devices;
	s->began_ms = now_ms;
}

static bool is_now(const struct sh_spread *s, uint64_t epoch)
{
	return !s->closed && s->epoch != 0 && s->epoch == epoch;
}

enum cm_rc sh_spread_claim(struct sh_spread *s, uint32_t intake, uint64_t epoch,
	const uint8_t tag[SH_TAG_LEN], uint64_t target, int64_t now_ms, enum sh_claim *out,
	struct cm_err *err)
{
	*out = is_now(s, epoch) ? SH_CLAIM_OTHER : SH_CLAIM_ENDED;
	if (*out == SH_CLAIM_ENDED || s->claims.used >= target + SH_CLAIMS_MORE)
		return CM_OK;
	struct sh_count *claim = sh_counts_at(&s->claims, tag);
	if (!claim)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = SH_CLAIM_MINE;
	if (CM_CHECKED("shuffler.claims") && claim->n != 0 && (claim->n & ~LEFT) != CLAIM(intake)) {
		*out = SH_CLAIM_OTHER;
		/* A clock that was set back must not keep the certificate waiting. */
		if ((claim->n & LEFT) && (now_ms < s->began_ms || now_ms - s->began_ms >= pause_ms(s)))
			s->wanted = s->moves = true;
		return CM_OK;
	}
	claim->n = CLAIM(intake);
	return CM_OK;
}

void sh_spread_leave(struct sh_spread *s, uint32_t intake, uint64_t epoch, const uint8_t tag[SH_TAG_LEN])
{
	/* A certificate that nobody claimed cannot leave, and takes no memory. */
	struct sh_count *claim = is_now(s, epoch) ? sh_counts_find(&s->claims, tag) : NULL;

	if (claim && claim->n == CLAIM(intake))
		claim->n |= LEFT;
}

bool sh_spread_has(const struct sh_spread *s, uint32_t intake, const uint8_t tag[SH_TAG_LEN])
{
	const struct sh_count *claim = sh_counts_find(&s->claims, tag);

	return claim && (claim->n & ~LEFT) == CLAIM(intake);
}

bool sh_spread_promise(struct sh_spread *s, uint64_t epoch, uint64_t target, uint64_t devices)
{
	if (!is_now(s, epoch))
		return false;
	if (CM_CHECKED("shuffler.places") && (s->promised > target || devices > target - s->promised))
		return false;
	s->promised += devices;
	return true;
}
