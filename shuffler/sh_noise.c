/* sh_noise.c - how many dummies of each bin a shuffler adds to a round with noise. */
#include "sh_noise.h"

#include <stdlib.h>

#include "cm_secret.h"
#include "pt_noise.h"
#include "sh_round.h"

enum cm_rc sh_noise_draw(struct sh_round *r, struct cm_err *err)
{
	const struct pt_params *p = &r->d.params;
	struct cm_rng rng;
	struct cm_rng_seeded *g = sh_vault_stream(&r->vault, "noise", 5, &rng);
	uint64_t sum = 0, *drawn = calloc(p->bins, sizeof *drawn);

	if (!g || !drawn) {
		cm_rng_seeded_free(g);
		free(drawn);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	for (uint32_t b = 0; b < p->bins; b++)
		drawn[b] = sum += pt_noise_draw(p, &rng);
	cm_rng_seeded_free(g);
	r->noise = drawn;
	return CM_OK;
}

void sh_noise_forget(struct sh_round *r)
{
	if (r->noise)
		cm_wipe(r->noise, r->d.params.bins * sizeof *r->noise);
	free(r->noise);
	r->noise = NULL;
}

uint32_t sh_noise_bin(const struct sh_round *r, uint64_t made)
{
	uint32_t low = 0, high = r->d.params.bins - 1;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (r->noise[mid] > made)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}
