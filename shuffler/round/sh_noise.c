/* sh_noise.c - draws how many dummies of each bin a shuffler adds to a round with noise. */
#include "sh_noise.h"

#include <stdlib.h>

#include "cr_secret.h"
#include "pt_noise.h"
#include "sh_round.h"

enum cm_rc sh_noise_draw(struct sh_round *r, struct cm_err *err)
{
	const struct pt_randomizer *p = &r->d.randomizer;
	struct cr_rng rng;
	struct cr_rng_seeded *g = sh_vault_stream(&r->vault, "noise", 5, &rng);
	uint32_t bins = pt_noise_bins(p);
	uint64_t sum = 0, *drawn = calloc(bins, sizeof *drawn);

	if (!g || !drawn) {
		cr_rng_seeded_free(g);
		free(drawn);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	for (uint32_t b = 0; b < bins; b++)
		drawn[b] = sum += pt_noise_draw(&p->shuffler, &rng);
	cr_rng_seeded_free(g);
	r->noise = drawn;
	return CM_OK;
}

void sh_noise_forget(struct sh_round *r)
{
	if (r->noise)
		cr_wipe(r->noise, pt_noise_bins(&r->d.randomizer) * sizeof *r->noise);
	free(r->noise);
	r->noise = NULL;
}

uint32_t sh_noise_bin(const struct sh_round *r, uint64_t made)
{
	uint32_t low = 0, high = pt_noise_bins(&r->d.randomizer) - 1;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (r->noise[mid] > made)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}
