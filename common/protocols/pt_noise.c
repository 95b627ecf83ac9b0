/* pt_noise.c - blanket messages whose number is discrete Laplace noise. */
#include "pt_noise.h"

#include <math.h>
#include <stdlib.h>

#include "pt_exact.h"

/* Powers, sums and quotients of long doubles err by far less. */
#define SLACK 1e-12L

static long double decay(const struct pt_params *p)
{
	return ldexpl((long double)p->noise_decay, -64);
}

/* Sum of a^|l| over -mean..mean. */
static long double total(uint64_t threshold, uint32_t mean)
{
	long double a = ldexpl((long double)threshold, -64),
		    rest = ldexpl((long double)pt_complement(threshold), -64);

	return 1 + 2 * a * (1 - powl(a, mean)) / rest;
}

/* a^mean. */
static long double end_of(uint64_t threshold, uint32_t mean)
{
	return powl(ldexpl((long double)threshold, -64), mean);
}

static double defect_of(uint64_t threshold, uint32_t mean)
{
	return pt_round_up(end_of(threshold, mean) / total(threshold, mean) * (1 + SLACK));
}

enum cm_rc pt_noise_request(
	const char *name, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	long double a = expl(-(long double)r->noise_epsilon / 2);

	if (!(r->noise_epsilon >= PT_NOISE_EPSILON_MIN && r->noise_epsilon <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: noise for epsilon %g, must be for %g to %g", name,
			r->noise_epsilon, PT_NOISE_EPSILON_MIN, PT_EPSILON0_MAX);
	if (!(r->noise_delta > 0 && r->noise_delta < 1))
		return cm_fail(err, CM_ECONFIG, "%s: noise for delta %g, must be for one in (0, 1)", name,
			r->noise_delta);
	if (r->dummies > 0 || r->dummy_chance > 0 || r->shuffler_dummies > 0)
		return cm_fail(
			err, CM_ECONFIG, "%s: noise of the shuffler stands alone, without dummies", name);
	out->noise_decay = (uint64_t)ceill(ldexpl(a, 64) + PT_THRESHOLD_MARGIN);
	/* From just below the number that a^mean (1 - a) / (1 + a) says. */
	long double most = (long double)r->noise_delta / 2,
		    first = logl(most * (1 + a) / (1 - a)) / logl(a) - 2;
	out->noise_mean = first > 1 ? (uint32_t)fminl(first, PT_NOISE_MEAN_MAX) : 1;
	while (out->noise_mean < PT_NOISE_MEAN_MAX &&
		(defect_of(out->noise_decay, out->noise_mean) > most ||
			end_of(out->noise_decay, out->noise_mean) > PT_NOISE_END_MAX))
		out->noise_mean++;
	if (out->noise_mean >= PT_NOISE_MEAN_MAX ||
		(uint64_t)out->noise_mean * 2 * out->bins > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_ECONFIG,
			"%s: noise for epsilon %g in %u bins would be more than %u dummies", name,
			r->noise_epsilon, (unsigned)out->bins, PT_SHUFFLER_DUMMIES_MAX);
	return CM_OK;
}

enum cm_rc pt_noise_check(const char *name, const struct pt_params *p, struct cm_err *err)
{
	if (p->noise_decay == 0 && p->noise_mean == 0)
		return CM_OK;
	if (!p->keep_always || p->dummies > 0 || p->dummy_chance > 0 || p->shuffler_dummies > 0)
		return cm_fail(err, CM_EPROTO, "%s: noise of the shuffler stands alone", name);
	if (p->noise_decay == 0 || p->noise_mean == 0 || p->noise_mean > PT_NOISE_MEAN_MAX)
		return cm_fail(err, CM_EPROTO, "%s: noise that is none, or too much", name);
	if ((uint64_t)p->noise_mean * 2 * p->bins > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(
			err, CM_EPROTO, "%s: noise of more than %u dummies", name, PT_SHUFFLER_DUMMIES_MAX);
	if (!(end_of(p->noise_decay, p->noise_mean) <= PT_NOISE_END_MAX))
		return cm_fail(err, CM_EPROTO, "%s: noise that is cut off too early", name);
	return CM_OK;
}

double pt_noise_defect(const struct pt_params *p)
{
	return defect_of(p->noise_decay, p->noise_mean);
}

/* Kept with chance 1 / (1 + a), omega downwards and the ratio upwards. */
void pt_noise_cells(const struct pt_params *p, struct acct_round *out)
{
	long double a = decay(p);
	double omega = nextafter((double)(a / (1 + a)), 0), ratio = nextafter((double)(1 / a), INFINITY);

	*out = (struct acct_round){ .cells = 2, .count = 2, .defect = pt_noise_defect(p) };
	out->cell[0] = (struct acct_cell){ .omega = omega, .u = ratio, .v = 1 };
	out->cell[1] = (struct acct_cell){ .omega = omega, .u = 1, .v = ratio };
}

double pt_noise_variance(const struct pt_params *p)
{
	long double a = decay(p), power = 1, sum = 0;

	for (uint32_t l = 1; l <= p->noise_mean; l++)
		sum += (long double)l * l * (power *= a);
	return (double)(2 * sum / total(p->noise_decay, p->noise_mean));
}

bool pt_noise_law(const struct pt_params *p, struct pt_law *out)
{
	long double a = decay(p), chance = 1 / total(p->noise_decay, p->noise_mean);
	size_t mean = p->noise_mean;

	*out = (struct pt_law){ .len = 2 * mean + 1, .p = calloc(2 * mean + 1, sizeof *out->p) };
	if (out->p == NULL)
		return false;
	for (size_t l = 0; l <= mean; l++, chance *= a)
		out->p[mean - l] = out->p[mean + l] = (double)chance;
	return true;
}

/* How often in a row a chance of a comes true. */
static uint64_t run(const struct pt_params *p, const struct cm_rng *rng)
{
	uint64_t n = 0;

	while (cm_rng_bernoulli(rng, p->noise_decay))
		n++;
	return n;
}

/* The difference of two runs is l with a chance proportional to a^|l|; drawn again when it is beyond the
 * ends. */
uint32_t pt_noise_draw(const struct pt_params *p, const struct cm_rng *rng)
{
	uint64_t n;

	do
		n = p->noise_mean + run(p, rng) - run(p, rng);
	while (n > 2 * (uint64_t)p->noise_mean);
	return (uint32_t)n;
}
