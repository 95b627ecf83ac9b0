/* bench_encode.c - what randomizing and sealing one device's report costs the client, per row of the protocol
 * table, on this thread's processor time.  Usage: bench_encode [devices] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cl_encode.h"

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

/* A round of seven categories, or of a number in [0, 10]. */
static void describe(struct rd_descriptor *d, const struct pt_protocol *row, const struct cm_rng *rng)
{
	static char *category[] = { "a", "b", "c", "d", "e", "f", "g" };
	struct pt_request request = { .epsilon0 = 2, .min_batch = 10000 };
	struct cm_key secret;
	struct cm_err err;

	memset(d, 0, sizeof *d);
	d->protocol = row;
	(void)snprintf(d->query.name, sizeof d->query.name, "q");
	(void)snprintf(d->query.field, sizeof d->query.field, "f");
	if (row->kinds & PT_HISTOGRAM) {
		d->query.kind = PT_HISTOGRAM;
		d->query.category = category;
		d->query.categories = 7;
		request.dummies = strstr(row->name, "bins") != NULL ? 3 : 0;
		request.epsilon0 = strcmp(row->name, "bins") == 0 ? INFINITY : 2;
	} else {
		d->query.kind = PT_MEAN;
		d->query.high = 10;
	}
	must(row->derive(&d->query, &request, &d->params, &err) == CM_OK, "derive");
	d->messages_per_client = row->messages(&d->params);
	d->record_len = row->record_len(&d->params);
	d->suite = CM_HPKE_AES128GCM;
	must(cm_hpke_keygen(rng, &secret, d->hpke_key, &err) == CM_OK, "cm_hpke_keygen");
	cm_key_fini(&secret);
}

static void bench_row(const struct pt_protocol *row, const struct cm_rng *rng, size_t devices)
{
	struct cl_entry *entry = calloc(devices, sizeof *entry);
	struct rd_descriptor d;
	struct cm_err err;
	double turn[TURNS];
	uint8_t *sealed;

	describe(&d, row, rng);
	sealed = malloc(devices * cl_device_len(&d));
	must(entry != NULL && sealed != NULL, "malloc");
	for (size_t i = 0; i < devices; i++)
		entry[i].value.x = i % 7;
	for (int t = 0; t < TURNS; t++) {
		double start = now_us();

		must(cl_encode(&d, entry, devices, rng, sealed, &err) == CM_OK, "cl_encode");
		turn[t] = (now_us() - start) / (double)devices;
	}
	qsort(turn, TURNS, sizeof turn[0], compare);
	(void)printf("%-10s %8u %10.1f %12.1f %14.0f\n", row->name, d.messages_per_client, turn[TURNS / 2],
		turn[TURNS / 2] / d.messages_per_client, 1e6 / turn[TURNS / 2]);
	free(entry);
	free(sealed);
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
	return 0;
}
