/* bench_open.c - reports opened and counted per second on all cores, beside raw X25519 on the same cores.
 *
 * bench_open [REPORTS [THREADS]].  Rounds of both are interleaved and the best of each is compared, so that a
 * busy machine disturbs the ratio less. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <openssl/evp.h>

#include "an_scratch.h"
#include "bucket_root.h"
#include "cm_crew.h"
#include "encode_in_room.h"
#include "pl_load.h"
#include "pl_plan.h"

#define TURNS 5

static const char plan[] =
	"name = \"b\"\npopulation = \"b\"\nbudget = { epsilon = 1.0, delta = 1e-6 }\n"
	"rounds = ({ query = \"q\", type = \"histogram\", protocol = \"grr\", field = \"f\",\n"
	"epsilon0 = 4.0, min_reports = 1000, values = [\"a\", \"b\", \"c\", \"d\", \"e\"] })\n";

static void die(const char *what)
{
	fprintf(stderr, "bench_open: %s\n", what);
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		die("no clock");
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Raw derivations with everything reusable reused: the ceiling of any opener. */
struct raw {
	size_t n;
	pthread_t thread;
};

static void *derive(void *arg)
{
	const struct raw *r = arg;
	EVP_PKEY *own = EVP_PKEY_Q_keygen(NULL, NULL, "X25519"),
		 *peer = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
	EVP_PKEY_CTX *ctx = own ? EVP_PKEY_CTX_new(own, NULL) : NULL;
	unsigned char secret[32];

	if (!ctx || !peer || EVP_PKEY_derive_init(ctx) != 1)
		die("no X25519");
	for (size_t i = 0; i < r->n; i++) {
		size_t len = sizeof secret;

		if (EVP_PKEY_derive_set_peer_ex(ctx, peer, 0) != 1 || EVP_PKEY_derive(ctx, secret, &len) != 1)
			die("X25519 failed");
	}
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(own);
	EVP_PKEY_free(peer);
	return NULL;
}

static double raw_rate(size_t n, unsigned threads, double *cpu)
{
	struct raw r[256];
	double start = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID);

	for (unsigned i = 0; i < threads; i++) {
		r[i].n = n / threads;
		if (pthread_create(&r[i].thread, NULL, derive, &r[i]) != 0)
			die("no thread");
	}
	for (unsigned i = 0; i < threads; i++)
		(void)pthread_join(r[i].thread, NULL);
	*cpu = (now(CLOCK_PROCESS_CPUTIME_ID) - used) / (double)(n / threads * threads) * 1e6;
	return (double)(n / threads * threads) / (now(CLOCK_MONOTONIC) - start);
}

struct batch {
	struct pl_plan plan;
	struct rd_descriptor d;
	struct cr_key secret;
	struct cr_rng rng;
	uint8_t *sealed, root[PR_HASH_LEN];
};

static void seal_all(struct batch *b, size_t n)
{
	struct cr_hpke_sealer *sealer = NULL;
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], record[PT_RECORD_MAX];
	struct cm_err err = { 0 };

	if (pl_plan_parse((const uint8_t *)plan, strlen(plan), "plan", NULL, &b->plan, &err) != CM_OK ||
		cr_rng_system(&b->rng, &err) != CM_OK)
		die(err.msg);
	b->d = (struct rd_descriptor){ .query = b->plan.round[0].query,
		.randomizer = b->plan.round[0].randomizer,
		.messages_per_client = 1,
		.record_len = b->plan.round[0].protocol->device->record_len(&b->plan.round[0].randomizer),
		.suite = CR_HPKE_AES128GCM };
	rd_hpke_info(&b->d, info);
	rd_hpke_aad(&b->d, aad);
	b->sealed = malloc(n * rd_sealed_len(&b->d));
	if (!b->sealed || cr_hpke_keygen(&b->rng, &b->secret, b->d.hpke_key, &err) != CM_OK ||
		cr_hpke_sealer_new(b->d.suite, b->d.hpke_key, info, sizeof info, &sealer, &err) != CM_OK)
		die("cannot seal");
	for (size_t i = 0; i < n; i++) {
		const struct qy_value v = { .x = i % 5 };

		encode_in_room(b->d.randomizer.row, &b->d.query, &b->d.randomizer, &v, &b->rng, record);
		if (cr_hpke_seal(sealer, &b->rng, aad, sizeof aad, record, b->d.record_len,
			    b->sealed + i * rd_sealed_len(&b->d), &err) != CM_OK)
			die(err.msg);
	}
	cr_hpke_sealer_free(sealer);
	bucket_root(b->sealed, n, rd_sealed_len(&b->d), b->root);
}

static double open_rate(struct batch *b, size_t n, unsigned threads, double *cpu)
{
	struct an_open *o = NULL;
	struct an_scratch *scratch = NULL;
	struct cm_err err = { 0 };
	bool right = false;
	double start = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID), rate;
	struct an_open_conf conf = {
		.d = &b->d, .secret = &b->secret, .threads = threads, .messages = n, .bytes = (size_t)1 << 30
	};

	if (an_scratch_new("/tmp", &scratch, &err) != CM_OK)
		die(err.msg);
	conf.spill = an_scratch_spills(scratch);
	if (an_open_new(&conf, &o, &err) != CM_OK ||
		an_open_bucket(o, b->sealed, n, b->root, &right, &err) != CM_OK || !right)
		die(err.msg);
	rate = (double)n / (now(CLOCK_MONOTONIC) - start);
	*cpu = (now(CLOCK_PROCESS_CPUTIME_ID) - used) / (double)n * 1e6;
	if (an_open_tally(o)->counted != n)
		die("not every report was counted");
	an_open_free(o);
	an_scratch_free(scratch);
	return rate;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 50000;
	unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : cm_crew_cores();
	double best_open = 0, best_raw = 0, least_cpu = 1e9, least_raw = 1e9;
	const char *line;
	struct cm_err err;
	struct rusage use;
	struct batch b = { 0 };

	if (n < 1000 || n > 10000000 || threads < 1 || threads > 256)
		die("usage: bench_open [REPORTS 1000..10000000 [THREADS 1..256]]");
	if (cr_hpke_begin(&line, &err) != CM_OK)
		die(err.msg);
	seal_all(&b, n);
	for (int turn = 0; turn < TURNS; turn++) {
		double raw_cpu, cpu, raw = raw_rate(n, threads, &raw_cpu),
				     opened = open_rate(&b, n, threads, &cpu);

		best_raw = raw > best_raw ? raw : best_raw;
		best_open = opened > best_open ? opened : best_open;
		least_cpu = cpu < least_cpu ? cpu : least_cpu;
		least_raw = raw_cpu < least_raw ? raw_cpu : least_raw;
	}
	(void)getrusage(RUSAGE_SELF, &use);
	puts(line);
	printf("reports             %zu on %u threads, best of %d\n", n, threads, TURNS);
	printf("opened and counted  %.0f /s, %.1f us CPU each\n", best_open, least_cpu);
	printf("raw X25519          %.0f /s, %.1f us CPU each (OpenSSL, one by one)\n", best_raw, least_raw);
	printf("ratio               %.2f of its rate, %.2f of its CPU time\n", best_open / best_raw,
		least_cpu / least_raw);
	printf("resident, at most   %ld MiB (the sealed batch included)\n", use.ru_maxrss / 1024);
	free(b.sealed);
	cr_key_fini(&b.secret);
	pl_plan_fini(&b.plan);
	return 0;
}
