/* es_noise_law.c - computes the law of discrete Laplace noise on a window. */
#include "es_noise_law.h"

#include <math.h>
#include <stdlib.h>

static long double decay_of(const struct es_noise *noise)
{
	return ldexpl((long double)noise->decay, -64);
}

long double es_noise_total(const struct es_noise *noise)
{
	/* 1 - a, without cancellation: 2^64 - decay is exact */
	long double a = decay_of(noise), rest = ldexpl((long double)(UINT64_C(0) - noise->decay), -64);

	return 1 + 2 * a * (1 - powl(a, noise->mean)) / rest;
}

double es_noise_variance(const struct es_noise *noise)
{
	long double a = decay_of(noise), power = 1, sum = 0;

	for (uint32_t l = 1; l <= noise->mean; l++)
		sum += (long double)l * l * (power *= a);
	return (double)(2 * sum / es_noise_total(noise));
}

bool es_noise_law(const struct es_noise *noise, struct es_law *out)
{
	long double a = decay_of(noise), chance = 1 / es_noise_total(noise);
	size_t mean = noise->mean;

	*out = (struct es_law){ .len = 2 * mean + 1, .p = calloc(2 * mean + 1, sizeof *out->p) };
	if (!out->p)
		return false;
	for (size_t l = 0; l <= mean; l++, chance *= a)
		out->p[mean - l] = out->p[mean + l] = (double)chance;
	return true;
}
