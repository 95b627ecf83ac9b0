/* bench_encode.c - what randomizing and sealing one device's report costs the client, per row of the protocol
 * table, on this thread's processor time; without the seals, what it costs to encode, count and estimate, of
 * a small question and of long vectors.  Usage: bench_encode [devices] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cl_encode.h"
#include "encode_in_room.h"
#include "pr_limits.h"
#include "pt_classes_analysis.h"
#include "queries.h"

#define TURNS 7
#define MOST  1000 /* devices of a batch: those that the requests of queries.h are for */

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
static void describe(struct rd_descriptor *d, const struct pt_protocol *row, const struct cr_rng *rng)
{
	struct cr_key secret;
	struct cm_err err;

	memset(d, 0, sizeof *d);
	d->query = query_of_row(row);
	must(query_derive(row, &d->query, 2, &d->randomizer, &err) == CM_OK, "derive");
	d->messages_per_client = row->device->messages(&d->randomizer);
	d->record_len = row->device->record_len(&d->randomizer);
	d->suite = CR_HPKE_AES128GCM;
	must(cr_hpke_keygen(rng, &secret, d->hpke_key, &err) == CM_OK, "cr_hpke_keygen");
	cr_key_fini(&secret);
}

/* Without seals, in microseconds: a device's messages, the count of one, the estimate. */
struct cost {
	double encode, tally, estimate;
};

/* The shuffler fills up the messages of each tag; of these rows none has too many. */
static void even(const struct pt_protocol *row, const struct pt_randomizer *p, const struct cr_rng *rng,
	uint64_t *sent, uint64_t *counts)
{
	uint8_t record[PT_RECORD_MAX];
	struct cm_err err;

	for (uint32_t tag = 0; tag < p->shuffler.tags; tag++)
		for (; sent[tag] < p->shuffler.tag_messages; sent[tag]++) {
			row->device->dummy(p, tag, rng, record);
			must(row->tally(p, record, counts, &err) == CM_OK, "tally");
		}
}

static struct cost measure(
	const struct rd_descriptor *d, const struct cl_entry *entry, size_t devices, const struct cr_rng *rng)
{
	const struct pt_protocol *row = pt_protocol_of(d->randomizer.row);
	size_t messages = row->device->messages(&d->randomizer),
	       len = row->device->record_len(&d->randomizer);
	uint64_t *counts = calloc(row->tallies(&d->randomizer), sizeof *counts);
	uint64_t *sent = calloc(d->randomizer.shuffler.tags + (size_t)1, sizeof *sent);
	uint16_t *tags = calloc(messages, sizeof *tags);
	uint8_t *records = calloc(devices, messages * len);
	struct es_estimate e;
	struct cost c;
	struct cm_err err;
	double start = now_us();

	must(counts && sent && tags && records != NULL, "malloc");
	for (size_t i = 0; i < devices; i++)
		encode_in_room(row->device, &d->query, &d->randomizer, &entry[i].value, rng,
			records + i * messages * len);
	c.encode = (now_us() - start) / (double)devices;
	start = now_us();
	for (size_t i = 0; i < devices * messages; i++)
		must(row->tally(&d->randomizer, records + i * len, counts, &err) == CM_OK, "tally");
	c.tally = (now_us() - start) / (double)(devices * messages);
	for (size_t i = 0; d->randomizer.shuffler.tag_messages > 0 && i < devices; i++) {
		row->device->route(&d->randomizer, &entry[i].value, records + i * messages * len, tags);
		for (size_t m = 0; m < messages; m++)
			sent[tags[m]]++;
	}
	if (d->randomizer.shuffler.tag_messages > 0)
		even(row, &d->randomizer, rng, sent, counts);
	start = now_us();
	must(pt_answer(&d->query, &d->randomizer, counts, devices, &e, &err) == CM_OK, "estimate");
	c.estimate = now_us() - start;
	es_estimate_fini(&e);
	free(counts);
	free(sent);
	free(tags);
	free(records);
	return c;
}

static void bench_row(const struct pt_protocol *row, const struct cr_rng *rng, size_t devices)
{
	struct cl_entry *entry = calloc(devices, sizeof *entry);
	uint32_t(*at)[QUERIES_DIMENSION] = calloc(devices, sizeof *at);
	struct rd_descriptor d;
	struct cost c;
	struct cm_err err;
	double turn[TURNS];
	uint8_t *sealed;

	describe(&d, row, rng);
	sealed = malloc(devices * cd_device_len(&d));
	must(entry && at && sealed != NULL, "malloc");
	for (size_t i = 0; i < devices; i++) {
		entry[i].value = query_value(&d.query, (uint32_t)i % query_values(&d.query), at[i]);
		if (pt_has_classes(&d.randomizer))
			entry[i].value.level = (uint32_t)i % d.randomizer.shuffler.tags;
	}
	for (int t = 0; t < TURNS; t++) {
		double start = now_us();

		must(cl_encode(&d, entry, devices, rng, sealed, &err) == CM_OK, "cl_encode");
		turn[t] = (now_us() - start) / (double)devices;
	}
	qsort(turn, TURNS, sizeof turn[0], compare);
	c = measure(&d, entry, devices < MOST ? devices : MOST, rng);
	(void)printf("%-14s %8u %10.1f %12.1f %14.0f %10.2f %10.3f %12.1f\n", row->device->name,
		d.messages_per_client, turn[TURNS / 2], turn[TURNS / 2] / d.messages_per_client,
		1e6 / turn[TURNS / 2], c.encode, c.tally, c.estimate);
	free(entry);
	free(at);
	free(sealed);
}

static void bench_vector(const char *name, uint32_t dimension, struct pt_request r, const struct cr_rng *rng)
{
	struct rd_descriptor d = { .query = { .kind = QY_VECTOR,
					   .name = "v",
					   .field = "f",
					   .low = -1,
					   .high = 1,
					   .dimension = dimension } };
	static struct cl_entry entry[200];
	uint32_t *at = calloc(dimension, sizeof *at);
	struct cost c;
	struct cm_err err;

	r.epsilon0 = 4;
	must(pt_derive(pt_find(name), &d.query, &r, &d.randomizer, &err) == CM_OK, "derive");
	must(at != NULL, "malloc");
	for (uint32_t k = 0; k < dimension; k++)
		at[k] = (uint32_t)(((uint64_t)k << 31) / dimension);
	for (size_t i = 0; i < sizeof entry / sizeof *entry; i++)
		entry[i].value = (struct qy_value){ .at = at };
	c = measure(&d, entry, sizeof entry / sizeof *entry, rng);
	(void)printf("%-14s %8u %8u %12.1f %14.3f %14.1f\n", name, dimension,
		d.randomizer.row->messages(&d.randomizer), c.encode, c.tally, c.estimate * 1e-3);
	free(at);
}

int main(int argc, char **argv)
{
	unsigned long devices = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	struct cr_rng rng;
	struct cm_err err;

	must(devices > 0 && devices <= 1000000, "usage: bench_encode [devices]:");
	must(cr_rng_system(&rng, &err) == CM_OK, "cr_rng_system");
	(void)printf("%-14s %8s %10s %12s %14s %10s %10s %12s\n", "protocol", "messages", "us/device",
		"us/message", "devices/s/core", "encode us", "tally us", "estimate us");
	for (size_t i = 0; pt_row(i); i++)
		bench_row(pt_row(i), &rng, devices);
	(void)printf("\n%-14s %8s %8s %12s %14s %14s\n", "vector", "d", "messages", "us/device",
		"tally us/mess.", "estimate ms");
	bench_vector("words", 784, (struct pt_request){ .slots = 16, .size = 3 }, &rng);
	bench_vector("words", PR_DIMENSION_MAX, (struct pt_request){ .slots = 64, .size = 4 }, &rng);
	bench_vector("harmony", PR_DIMENSION_MAX, (struct pt_request){ .slots = 1 }, &rng);
	bench_vector("rotated", 784, (struct pt_request){ .slots = 16, .size = 3 }, &rng);
	/* A vector of several rotations, as gradients of 60,000 devices have. */
	bench_vector(
		"rotated", 1780, (struct pt_request){ .slots = 12, .size = 3, .min_reports = 60000 }, &rng);
	bench_vector(
		"rotated", 7850, (struct pt_request){ .slots = 3, .size = 4, .min_reports = 60000 }, &rng);
	bench_vector("rotated", PR_DIMENSION_MAX - 1, (struct pt_request){ .slots = 64, .size = 4 }, &rng);
	bench_vector("vrr", 784, (struct pt_request){ .size = 4 }, &rng);
	bench_vector("vrr", PR_DIMENSION_MAX, (struct pt_request){ .size = 16 }, &rng);
	bench_vector("ss-simple", 784, (struct pt_request){ .levels = 2 }, &rng);
	bench_vector("ss-double", 784, (struct pt_request){ .slots = 16, .levels = 2, .padded = 100 }, &rng);
	bench_vector("ss-topk", 784, (struct pt_request){ .size = 16, .levels = 2, .padded = 200 }, &rng);
	return 0;
}
