/* bench_batch.c - what the analyzer does to a released batch of up to 10^9 messages beside opening each:
 * hashes, the tree, and duplicates, in memory and beside it.
 *
 * bench_batch [MESSAGES [DIFFERENT [MIB [FOLDER [THREADS [open]]]]]]: so many messages, in buckets as a
 * shuffler makes them, of which DIFFERENT (default: all) have keys of their own; the others repeat them in
 * later buckets.  MIB is the analyzer's opening_mib.  Exits 1 unless each key counts once.
 *
 * Measured is an_open_bucket, in processor time, and of that what the calling thread does between the works
 * of the crew (cm_crew.h): that one core does for all, whatever THREADS (default: 1) is.  Not measured are
 * what makes the messages, the network, and the roots of buckets (bench_round has them); and without `open`
 * no message is opened, nor decoded and counted: they all end as messages that do not open, at the place
 * where an_open.c asks for it (bench_open has the price of that). 4096 messages are sealed, all others are
 * copies of these with 16 other bytes of key, so that no two agree.  With `open` such a copy costs the
 * X25519, the key schedule and the AES-GCM of any message, but it does not open. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "an_scratch.h"
#include "bucket_root.h"
#include "cm_crew.h"
#include "encode_in_room.h"
#include "pl_load.h"
#include "pl_plan.h"

#define SEALED  4096u
#define BUCKET  8192u /* messages of a bucket, unless that makes more buckets than a round has */
#define BUCKETS 4096u

static const char text[] =
	"name = \"b\"\npopulation = \"b\"\nbudget = { epsilon = 1.0, delta = 1e-6 }\n"
	"rounds = ({ query = \"q\", type = \"histogram\", protocol = \"grr\", field = \"f\",\n"
	"epsilon0 = 4.0, min_reports = 1000, values = [\"a\", \"b\", \"c\", \"d\", \"e\"] })\n";

static struct cm_err err;
static struct pl_plan plan;
static struct rd_descriptor d;
static struct cr_key secret;
static struct cr_rng rng;
static uint8_t *pool; /* SEALED messages */
static bool opens;
static double in_crew; /* processor time of the calling thread */

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "bench_batch: %s: %s\n", what, err.msg);
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec t;

	must(clock_gettime(clock, &t) == 0, "clock_gettime");
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The linker puts the second of each pair in the place of the first. */
enum cm_rc __real_cm_crew_run(struct cm_crew *c, cm_crew_fn *fn, void *ctx, size_t pieces, struct cm_err *e);
enum cm_rc __wrap_cm_crew_run(struct cm_crew *c, cm_crew_fn *fn, void *ctx, size_t pieces, struct cm_err *e);
enum cm_rc __wrap_cm_crew_run(struct cm_crew *c, cm_crew_fn *fn, void *ctx, size_t pieces, struct cm_err *e)
{
	double began = now(CLOCK_THREAD_CPUTIME_ID);
	enum cm_rc rc = __real_cm_crew_run(c, fn, ctx, pieces, e);

	in_crew += now(CLOCK_THREAD_CPUTIME_ID) - began;
	return rc;
}

enum cm_rc __real_cr_hpke_open_many(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *const *sealed, size_t n, size_t len, uint8_t *plain, bool *good, struct cm_err *e);
enum cm_rc __wrap_cr_hpke_open_many(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *const *sealed, size_t n, size_t len, uint8_t *plain, bool *good, struct cm_err *e);
enum cm_rc __wrap_cr_hpke_open_many(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *const *sealed, size_t n, size_t len, uint8_t *plain, bool *good, struct cm_err *e)
{
	if (opens)
		return __real_cr_hpke_open_many(o, aad, aad_len, sealed, n, len, plain, good, e);
	memset(good, 0, n * sizeof *good);
	return CM_OK;
}

static void seal_pool(void)
{
	struct cr_hpke_sealer *sealer = NULL;
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], record[PT_RECORD_MAX];

	must(pl_plan_parse((const uint8_t *)text, strlen(text), "plan", NULL, &plan, &err) == CM_OK, "plan");
	d = (struct rd_descriptor){ .query = plan.round[0].query,
		.randomizer = plan.round[0].randomizer,
		.messages_per_client = 1,
		.record_len = plan.round[0].protocol->device->record_len(&plan.round[0].randomizer),
		.suite = CR_HPKE_AES128GCM };
	rd_hpke_info(&d, info);
	rd_hpke_aad(&d, aad);
	pool = malloc(SEALED * rd_sealed_len(&d));
	must(pool && cr_hpke_keygen(&rng, &secret, d.hpke_key, &err) == CM_OK &&
			cr_hpke_sealer_new(d.suite, d.hpke_key, info, sizeof info, &sealer, &err) == CM_OK,
		"sealer");
	for (size_t i = 0; i < SEALED; i++) {
		const struct qy_value v = { .x = i % 5 };

		encode_in_room(d.randomizer.row, &d.query, &d.randomizer, &v, &rng, record);
		must(cr_hpke_seal(sealer, &rng, aad, sizeof aad, record, d.record_len,
			     pool + i * rd_sealed_len(&d), &err) == CM_OK,
			"seal");
	}
	cr_hpke_sealer_free(sealer);
}

/* A permutation of all 64-bit numbers (Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static void make(uint64_t i, uint8_t *message)
{
	size_t len = rd_sealed_len(&d);

	memcpy(message, pool + i % SEALED * len, len);
	if (i < SEALED)
		return;
	cm_put_le64(message, mix(i));
	cm_put_le64(message + 8, mix(~i));
}

/* Bytes of this process's files that have no name. */
static double beside(void)
{
	DIR *fds = opendir("/proc/self/fd");
	const struct dirent *e;
	struct stat st;
	double bytes = 0;

	while (fds && (e = readdir(fds)))
		if (fstat(atoi(e->d_name), &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0)
			bytes += 512 * (double)st.st_blocks;
	if (fds)
		(void)closedir(fds);
	return bytes;
}

static long peak_mib(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[128];
	long kib = 0;

	while (status && fgets(line, sizeof line, status))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (status)
		(void)fclose(status);
	return kib / 1024;
}

/* Opens all; the last bucket's time, which is the end of the sorts too, is said apart. */
static void open_all(struct an_open *o, uint64_t messages, uint64_t different)
{
	size_t each = messages / BUCKETS > BUCKET ? messages / BUCKETS + 1 : BUCKET, len = rd_sealed_len(&d);
	uint8_t *bucket = malloc(each * len);
	double cpu = 0, clock = 0, last = 0, last_clock = 0, caller = 0;
	uint8_t root[PR_HASH_LEN];
	bool right;

	must(bucket != NULL, "memory");
	for (uint64_t at = 0; at < messages;) {
		size_t n = messages - at < each ? messages - at : each;

		for (size_t i = 0; i < n; i++)
			make((at + i) % different, bucket + i * len);
		bucket_root(bucket, n, len, root);
		last = now(CLOCK_PROCESS_CPUTIME_ID);
		last_clock = now(CLOCK_MONOTONIC);
		caller -= now(CLOCK_THREAD_CPUTIME_ID);
		must(an_open_bucket(o, bucket, n, root, &right, &err) == CM_OK && right, "opening");
		caller += now(CLOCK_THREAD_CPUTIME_ID);
		last = now(CLOCK_PROCESS_CPUTIME_ID) - last;
		last_clock = now(CLOCK_MONOTONIC) - last_clock;
		cpu += last;
		clock += last_clock;
		at += n;
	}
	free(bucket);
	(void)printf("all of it            %.1f s CPU, %.3f us each, %.1f s by the clock\n", cpu,
		1e6 * cpu / (double)messages, clock);
	(void)printf("  on one core        %.1f s CPU, %.3f us each\n", caller - in_crew,
		1e6 * (caller - in_crew) / (double)messages);
	(void)printf("  after the last     %.1f s CPU, %.3f us each, %.1f s by the clock\n", last,
		1e6 * last / (double)messages, last_clock);
}

int main(int argc, char **argv)
{
	uint64_t messages = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64_t different = argc > 2 ? strtoull(argv[2], NULL, 10) : messages;
	size_t mib = argc > 3 ? strtoul(argv[3], NULL, 10) : 256, good;
	unsigned threads = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 1;
	struct an_scratch *scratch = NULL;
	struct an_open *o = NULL;
	const char *line;

	must(messages >= SEALED && messages <= 1000000000 && different >= SEALED && different <= messages &&
			mib > 0,
		"usage: bench_batch [MESSAGES 4096..1e9 [DIFFERENT [MIB [FOLDER [THREADS [open]]]]]]");
	opens = argc > 6;
	good = opens ? SEALED : 0;
	must(cr_hpke_begin(&line, &err) == CM_OK && cr_rng_system(&rng, &err) == CM_OK, "crypto");
	seal_pool();
	must(an_scratch_new(argc > 4 ? argv[4] : "/tmp", &scratch, &err) == CM_OK, "scratch");
	const struct an_open_conf conf = { &d, &secret, threads, messages, mib << 20,
		an_scratch_spills(scratch) };
	must(an_open_new(&conf, &o, &err) == CM_OK, "opener");
	(void)printf("%s\nmessages             %llu of %zu bytes, %llu different, in %zu MiB, %u threads\n",
		opens ? line : "none is opened", (unsigned long long)messages, rd_sealed_len(&d),
		(unsigned long long)different, mib, threads);
	open_all(o, messages, different);
	const struct an_tally *t = an_open_tally(o);
	must(an_open_root(o) && t->counted == good && t->bad == different - good &&
			t->duplicates == messages - different,
		"the count");
	(void)printf("beside memory        %.1f bytes a message\nresident, at most    %ld MiB\n",
		beside() / (double)messages, peak_mib());
	an_open_free(o);
	an_scratch_free(scratch);
	free(pool);
	cr_key_fini(&secret);
	pl_plan_fini(&plan);
	return 0;
}
