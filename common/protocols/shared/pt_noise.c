/* pt_noise.c - draws the number of blanket messages as discrete Laplace noise. */
#include "pt_noise.h"

#include <math.h>

long double pt_noise_end(uint64_t threshold, uint32_t mean)
{
	return powl(ldexpl((long double)threshold, -64), mean);
}

enum cm_rc pt_noise_check(const struct pt_randomizer *p, struct cm_err *err)
{
	if (p->shuffler.noise_decay == 0 && p->shuffler.noise_mean == 0)
		return CM_OK;
	if (!p->mixbins.keep_always || p->mixbins.dummies > 0 || p->mixbins.dummy_chance > 0 ||
		p->shuffler.dummies > 0)
		return cm_fail(err, CM_EPROTO, "%s: noise of the shuffler stands alone", p->row->name);
	if (p->shuffler.noise_decay == 0 || p->shuffler.noise_mean == 0 ||
		p->shuffler.noise_mean > PT_NOISE_MEAN_MAX)
		return cm_fail(err, CM_EPROTO, "%s: noise that is none, or too much", p->row->name);
	if ((uint64_t)p->shuffler.noise_mean * 2 * p->mixbins.bins > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: noise of more than %u dummies", p->row->name,
			PT_SHUFFLER_DUMMIES_MAX);
	if (!(pt_noise_end(p->shuffler.noise_decay, p->shuffler.noise_mean) <= PT_NOISE_END_MAX))
		return cm_fail(err, CM_EPROTO, "%s: noise that is cut off too early", p->row->name);
	return CM_OK;
}

/* The number of successes in a row, each with chance a. */
static uint64_t run(const struct pt_shuffler *s, const struct cr_rng *rng)
{
	uint64_t n = 0;

	while (cr_rng_bernoulli(rng, s->noise_decay))
		n++;
	return n;
}

/* The difference of two such numbers is l with a chance proportional to a^|l|; draw again if it is beyond
 * the ends. */
uint32_t pt_noise_draw(const struct pt_shuffler *s, const struct cr_rng *rng)
{
	uint64_t n;

	do
		n = s->noise_mean + run(s, rng) - run(s, rng);
	while (n > 2 * (uint64_t)s->noise_mean);
	return (uint32_t)n;
}
