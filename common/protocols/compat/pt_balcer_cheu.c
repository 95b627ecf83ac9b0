/* pt_balcer_cheu.c - coins: the true value is hidden among coins, each of which states a category by
 * chance; no local guarantee. */
#include "pt_balcer_cheu.h"

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_mixbins.h"
#include "pt_multi.h"
#include "pt_record.h"
#include "pt_rows.h"

/* Balcer and Cheu, "Separating local and shuffled differential privacy via histograms", ITC 2020.  A coin
 * of a category is a message that states the category with chance t = 1/size, and else states nothing: it
 * has the value `bins`, so that every client sends equally many messages. */

static uint32_t coins(const struct pt_randomizer *p)
{
	return p->multi.dummies * p->multi.bins;
}

static uint32_t messages(const struct pt_randomizer *p)
{
	return 1 + coins(p);
}

enum cm_rc pt_coins_bounds(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err)
{
	if (p->shuffler.dummies != 0)
		return cm_fail(err, code, "%s: the shuffler has no coins to add", p->row->name);
	if (p->multi.dummies > (PR_BLANKET_MAX - 1) / p->multi.bins)
		return cm_fail(err, code, "%s: dummies times categories must be at most %u", p->row->name,
			PR_BLANKET_MAX - 1);
	return CM_OK;
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_multi_check_true(q, p, err);

	return rc == CM_OK ? pt_coins_bounds(p, CM_EPROTO, err) : rc;
}

/* The time is constant in the value, in the place of its message and in what the coins show: all pass
 * through masks.  The order of the coins does not depend on them, and is drawn first (Knuth 3.4.2 P); then
 * the value's message is put between. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint32_t order[PR_BLANKET_MAX] = { 0 }, n = coins(p);
	uint64_t place;

	(void)q;
	(void)room;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t j = cr_rng_below(rng, i + 1);

		order[i] = order[j];
		order[j] = i % p->multi.bins;
	}
	place = cr_rng_below(rng, (uint64_t)n + 1);
	for (uint32_t i = 0; i <= n; i++) {
		uint64_t real = pt_equal_mask(i, place), after = pt_below_mask(place, i);
		uint64_t coin = pt_choose(after, order[i > 0 ? i - 1 : 0], order[i]);
		uint64_t shows = pt_equal_mask(cr_rng_below(rng, p->multi.size), 0);

		pt_record_put(records + (size_t)i * PT_RECORD_LEN,
			pt_choose(real, value->x, pt_choose(shows, coin, p->multi.bins)));
	}
}

static const struct pt_field fields[] = {
	{ "bins", offsetof(struct pt_randomizer, multi.bins), PT_FIELD_U32 },
	{ "dummies", offsetof(struct pt_randomizer, multi.dummies), PT_FIELD_U32 },
	{ "size", offsetof(struct pt_randomizer, multi.size), PT_FIELD_U32 },
};
static const struct pt_layout parameters = { .field = fields, .fields = sizeof fields / sizeof *fields };

const struct pt_device pt_device_balcer_cheu = {
	.name = "balcer-cheu",
	.summary = "coins: a histogram from the true value among a coin for each category",
	.parameters = &parameters,
	.kinds = QY_HISTOGRAM,
	.none_symbol = QY_HISTOGRAM,
	.check = check,
	.messages = messages,
	.record_len = pt_mixbins_record_len,
	.epsilon0 = pt_multi_no_guarantee,
	.encode = encode,
};
