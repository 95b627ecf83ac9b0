/* bench_encode.c - what randomizing and sealing one device's report costs the client, per row of the protocol
 * table, on this thread's processor time; of long vectors without the seals, and their estimate.
 * Usage: bench_encode [devices] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cl_encode.h"
#include "pr_limits.h"
#include "queries.h"

#define TURNS 7

static void must(int ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "bench_encode: %s failed\n", what);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0, "clock_gettime");
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A round of a small question of the first kind that the row answers. */
static void describe(struct rd_descriptor *d, const struct pt_protocol *row, const struct cm_rng *rng)
{
	struct cm_key secret;
	struct cm_err err;

	memset(d, 0, sizeof *d);
	d->protocol = row;
	d->query = query_of_row(row);
	must(query_derive(row, &d->query, 2, &d->params, &err) == CM_OK, "derive");
	d->messages_per_client = row->messages(&d->params);
	d->record_len = row->record_len(&d->params);
	d->suite = CM_HPKE_AES128GCM;
	must(cm_hpke_keygen(rng, &secret, d->hpke_key, &err) == CM_OK, "cm_hpke_keygen");
	cm_key_fini(&secret);
}

static void bench_row(const struct pt_protocol *row, const struct cm_rng *rng, size_t devices)
{
	struct cl_entry *entry = calloc(devices, sizeof *entry);
	uint32_t(*at)[QUERIES_DIMENSION] = calloc(devices, sizeof *at);
	struct rd_descriptor d;
	struct cm_err err;
	double turn[TURNS];
	uint8_t *sealed;

	describe(&d, row, rng);
	sealed = malloc(devices * cl_device_len(&d));
	must(entry != NULL && at != NULL && sealed != NULL, "malloc");
	for (size_t i = 0; i < devices; i++)
		entry[i].value = query_value(&d.query, (uint32_t)i % query_values(&d.query), at[i]);
	for (int t = 0; t < TURNS; t++) {
		double start = now_us();

		must(cl_encode(&d, entry, devices, rng, sealed, &err) == CM_OK, "cl_encode");
		turn[t] = (now_us() - start) / (double)devices;
	}
	qsort(turn, TURNS, sizeof turn[0], compare);
	(void)printf("%-10s %8u %10.1f %12.1f %14.0f\n", row->name, d.messages_per_client, turn[TURNS / 2],
		turn[TURNS / 2] / d.messages_per_client, 1e6 / turn[TURNS / 2]);
	free(entry);
	free(at);
	free(sealed);
}

static void bench_vector(
	const char *name, uint32_t dimension, uint32_t slots, uint32_t size, const struct cm_rng *rng)
{
	const struct pt_protocol *row = pt_find(name);
	struct pt_query q = {
		.kind = PT_VECTOR, .name = "v", .field = "f", .low = -1, .high = 1, .dimension = dimension
	};
	struct pt_request r = { .epsilon0 = 4, .slots = slots, .size = size };
	uint32_t *at = calloc(dimension, sizeof *at), devices = 200;
	struct pt_value v = { .at = at };
	struct pt_estimate e;
	struct pt_params p;
	struct cm_err err;
	uint64_t *counts;
	uint8_t *records;
	double start, encode, tally;

	must(row->derive(&q, &r, &p, &err) == CM_OK, "derive");
	counts = calloc(row->tallies(&p), sizeof *counts);
	records = calloc(devices, (size_t)row->messages(&p) * row->record_len(&p));
	must(at != NULL && counts != NULL && records != NULL, "malloc");
	for (uint32_t c = 0; c < dimension; c++)
		at[c] = (uint32_t)(((uint64_t)c << 31) / dimension);
	start = now_us();
	for (uint32_t i = 0; i < devices; i++)
		row->encode(&q, &p, &v, rng, records + (size_t)i * row->messages(&p) * row->record_len(&p));
	encode = (now_us() - start) / devices;
	start = now_us();
	for (size_t i = 0; i < (size_t)devices * row->messages(&p); i++)
		must(row->tally(&p, records + i * row->record_len(&p), counts, &err) == CM_OK, "tally");
	tally = (now_us() - start) / devices / row->messages(&p);
	start = now_us();
	must(row->estimate(&q, &p, counts, devices, &e, &err) == CM_OK, "estimate");
	(void)printf("%-10s %8u %8u %12.1f %14.3f %14.1f\n", name, dimension, row->messages(&p), encode,
		tally, (now_us() - start) * 1e-3);
	pt_estimate_fini(&e);
	free(at);
	free(counts);
	free(records);
}

int main(int argc, char **argv)
{
	unsigned long devices = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	struct cm_rng rng;
	struct cm_err err;

	must(devices > 0 && devices <= 1000000, "usage: bench_encode [devices]:");
	must(cm_rng_system(&rng, &err) == CM_OK, "cm_rng_system");
	(void)printf("%-10s %8s %10s %12s %14s\n", "protocol", "messages", "us/device", "us/message",
		"devices/s/core");
	for (size_t i = 0; pt_row(i) != NULL; i++)
		bench_row(pt_row(i), &rng, devices);
	(void)printf("\n%-10s %8s %8s %12s %14s %14s\n", "vector", "d", "messages", "us/device",
		"tally us/mess.", "estimate ms");
	bench_vector("words", 784, 16, 3, &rng);
	bench_vector("words", PR_DIMENSION_MAX, 64, 4, &rng);
	bench_vector("harmony", PR_DIMENSION_MAX, 0, 0, &rng);
	bench_vector("rotated", 784, 16, 3, &rng);
	bench_vector("rotated", PR_DIMENSION_MAX, 64, 4, &rng);
	bench_vector("vrr", 784, 0, 4, &rng);
	bench_vector("vrr", PR_DIMENSION_MAX, 0, 16, &rng);
	return 0;
}
