/* pt_noise_analysis.c - derives the noise for an epsilon: its decay, its mean from the delta of the ends
 * that are cut off, and its cells. */
#include "pt_noise_analysis.h"

#include <math.h>

#include "pt_exact.h"

/* bounds the relative error of powers, sums and quotients of long doubles */
#define SLACK 1e-12L

static long double decay(const struct pt_randomizer *p)
{
	return ldexpl((long double)p->shuffler.noise_decay, -64);
}

static double defect_of(uint64_t threshold, uint32_t mean)
{
	return pt_round_up(pt_noise_end(threshold, mean) /
			   es_noise_total(&(struct es_noise){ threshold, mean }) * (1 + SLACK));
}

enum cm_rc pt_noise_request(const struct pt_protocol *row, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	long double a = expl(-(long double)r->noise_epsilon / 2);

	if (!(r->noise_epsilon >= PT_NOISE_EPSILON_MIN && r->noise_epsilon <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: noise for epsilon %g, must be for %g to %g",
			row->device->name, r->noise_epsilon, PT_NOISE_EPSILON_MIN, PT_EPSILON0_MAX);
	if (!(r->noise_delta > 0 && r->noise_delta < 1))
		return cm_fail(err, CM_ECONFIG, "%s: noise for delta %g, must be for one in (0, 1)",
			row->device->name, r->noise_delta);
	if (r->dummies > 0 || r->dummy_chance > 0 || r->shuffler_dummies > 0)
		return cm_fail(err, CM_ECONFIG, "%s: noise of the shuffler stands alone, without dummies",
			row->device->name);
	out->shuffler.noise_decay = (uint64_t)ceill(ldexpl(a, 64) + PT_THRESHOLD_MARGIN);
	/* the mean is at least where a^mean (1 - a) / (1 + a) is the chance of both ends: search from just
	 * below it */
	long double most = (long double)r->noise_delta / 2,
		    first = logl(most * (1 + a) / (1 - a)) / logl(a) - 2;
	out->shuffler.noise_mean = first > 1 ? (uint32_t)fminl(first, PT_NOISE_MEAN_MAX) : 1;
	while (out->shuffler.noise_mean < PT_NOISE_MEAN_MAX &&
		(defect_of(out->shuffler.noise_decay, out->shuffler.noise_mean) > most ||
			pt_noise_end(out->shuffler.noise_decay, out->shuffler.noise_mean) > PT_NOISE_END_MAX))
		out->shuffler.noise_mean++;
	if (out->shuffler.noise_mean >= PT_NOISE_MEAN_MAX ||
		(uint64_t)out->shuffler.noise_mean * 2 * out->mixbins.bins > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_ECONFIG,
			"%s: noise for epsilon %g in %u bins would be more than %u dummies",
			row->device->name, r->noise_epsilon, (unsigned)out->mixbins.bins,
			PT_SHUFFLER_DUMMIES_MAX);
	return CM_OK;
}

double pt_noise_defect(const struct pt_randomizer *p)
{
	return defect_of(p->shuffler.noise_decay, p->shuffler.noise_mean);
}

/* The value is kept with chance 1 / (1 + a); omega is rounded down and the ratio up. */
void pt_noise_cells(const struct pt_randomizer *p, struct acct_round *out)
{
	long double a = decay(p);
	double omega = nextafter((double)(a / (1 + a)), 0), ratio = nextafter((double)(1 / a), INFINITY);

	*out = (struct acct_round){ .cells = 2, .count = 2, .defect = pt_noise_defect(p) };
	out->cell[0] = (struct acct_cell){ .omega = omega, .u = ratio, .v = 1 };
	out->cell[1] = (struct acct_cell){ .omega = omega, .u = 1, .v = ratio };
}
