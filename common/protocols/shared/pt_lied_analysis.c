/* pt_lied_analysis.c - subtracts from a batch what honest devices certainly sent. */
#include "pt_lied_analysis.h"

#include <math.h>
#include <stdlib.h>

#include "es_law.h"
#include "pt_mixbins_analysis.h"
#include "pt_slots_analysis.h"

uint64_t pt_lied_came(const uint64_t *counts, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += counts[i];
	return sum;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct pt_lied without(uint64_t came, uint64_t certain, uint64_t most, uint64_t honest)
{
	uint64_t more = came > certain ? came - certain : 0, messages = lesser(more, most);

	return (struct pt_lied){ .honest = honest, .messages = messages, .rest = came - messages };
}

struct pt_lied pt_lied_mixbins(
	const struct pt_randomizer *p, uint64_t came, const struct pt_crowd *crowd, uint64_t each)
{
	uint64_t honest = crowd->devices - crowd->liars;
	struct pt_lied lied = without(
		came, honest * (1 + p->mixbins.dummies) + p->shuffler.dummies, crowd->liars * each, honest);

	lied.dummies = pt_mixbins_dummies_among(p, lied.rest, honest);
	return lied;
}

struct pt_lied pt_lied_single(uint64_t came, const struct pt_crowd *crowd)
{
	uint64_t honest = crowd->devices - crowd->liars;

	return without(came, honest, crowd->liars, honest);
}

struct pt_lied pt_lied_slot(const struct pt_randomizer *p, const struct pt_slot *s, const uint64_t *counts,
	const struct pt_crowd *crowd)
{
	struct pt_randomizer one = pt_slot_alone(p, s);

	return pt_lied_mixbins(
		&one, pt_lied_came(counts, (size_t)s->groups * s->each.bins), crowd, p->row->messages(p));
}

enum cm_rc pt_lied_supports(const struct pt_lied *lied, struct es_support s, const uint64_t *counts, size_t n,
	size_t joint, struct es_honest *out, struct cm_err *err)
{
	uint64_t *least = calloc(2 * n, sizeof *least);
	enum cm_rc rc = least ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; least && i < n; i++) {
		least[i] = counts[i] - lesser(lied->messages, counts[i]);
		least[n + i] = lesser(counts[i], lied->rest);
	}
	s.dummies = lied->dummies;
	if (least)
		rc = es_support_honest(&s, least, least + n, n, lied->honest, joint, out, err);
	free(least);
	return rc;
}

uint64_t pt_lied_seen(const struct pt_randomizer *p, const struct pt_slot *s, uint64_t came, uint64_t devices)
{
	uint64_t least = 1 + s->each.dummies, most = pt_mixbins_sent(&s->each),
		 more = p->row->messages(p) - most;

	if (came < devices * least)
		return (devices * least - came + least - 1) / least;
	/* in a round of one slot no more can come */
	return came > devices * most && more > 0 ? (came - devices * most + more - 1) / more : 0;
}

uint64_t pt_lied_beyond(uint64_t came, uint64_t sent, double chance, double tail)
{
	double mean = (double)sent * chance,
	       low = mean - es_normal_upper(tail) * sqrt(mean * (1 - chance)) - 1;
	struct es_law law = { 0 };
	uint64_t least;

	/* where the law is too wide to be computed, it is normal */
	if (es_law_binomial(&law, sent, chance))
		low = (double)es_law_lower(&law, tail);
	es_law_fini(&law);
	least = low > 0 ? (uint64_t)low : 0;
	return came > least ? came - least : 0;
}
