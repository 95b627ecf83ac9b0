/* bench_round.c - a round of many messages in one process: through the shuffler's intake, store, seal and
 * release, and the analyzer's opening, with no network between.
 *
 * bench_round [MESSAGES [DIFFERENT [FOLDER [release]]]]: so many devices of one message each, of which
 * DIFFERENT are sealed apart; the others repeat them, and are duplicates to the analyzer.  Exits 1 unless
 * every bucket is its manifest's, and the analyzer finds the manifest's tree, counts each different message
 * once, and drops the rest; with `release` it opens nothing.  On one thread; prints
 * of each stage processor time and the clock, and the most memory that was resident. */
#include "sh_play.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "an_scratch.h"
#include "encode_in_room.h"
#include "rd_manifest.h"

#define COMMIT        16384u
#define PART          1000000u            /* bytes pulled at once */
#define OPENING_BYTES ((size_t)256 << 20) /* the analyzer's default */

struct spent {
	double cpu, clock; /* seconds */
};

static struct sh_play play;
static struct cr_key secret;
static struct spent gather, commit, seal, release, opening;
static uint8_t *pool; /* sealed messages */
static uint64_t messages, different;
static bool opens;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "bench_round: %s failed: %s %s\n", what, play.err.msg, play.no.text);
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	must(clock_gettime(clock, &t) == 0, "clock_gettime");
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Call twice: before, with -1, and after with 1. */
static void count(struct spent *s, int sign)
{
	s->cpu += sign * seconds(CLOCK_THREAD_CPUTIME_ID);
	s->clock += sign * seconds(CLOCK_MONOTONIC);
}

/* MiB resident at most since the last call. */
static long peak(void)
{
	FILE *status = fopen("/proc/self/status", "r"), *reset = fopen("/proc/self/clear_refs", "w");
	char line[128];
	long kib = 0;

	while (status && fgets(line, sizeof line, status))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (status)
		(void)fclose(status);
	if (reset) {
		(void)fputs("5", reset);
		(void)fclose(reset);
	}
	return kib / 1024;
}

static void say(const char *stage, const struct spent *s)
{
	(void)printf("%-34s %8.1f s CPU %8.1f s %9.3f us CPU a message %6ld MiB\n", stage, s->cpu, s->clock,
		1e6 * s->cpu / (double)messages, peak());
	(void)fflush(stdout);
}

/* The play is on the disk, where the round does not take memory. */
static void begin(const char *folder)
{
	uint8_t key[PR_HPKE_KEY_LEN];

	sh_play_init(&play);
	sh_play_remove(play.dir);
	must((size_t)snprintf(play.dir, sizeof play.dir, "%s/bench-round-XXXXXX", folder) < sizeof play.dir,
		"a folder of a shorter name");
	must(mkdtemp(play.dir) != NULL, "folder");
	(void)snprintf(play.key_dir, sizeof play.key_dir, "%s/keys", play.dir);
	(void)snprintf(play.leaves_dir, sizeof play.leaves_dir, "%s/leaves", play.dir);
	must(mkdir(play.key_dir, 0700) == 0 && mkdir(play.leaves_dir, 0700) == 0, "folders");
	play.policy.max_target = (int64_t)messages;
	must(cr_hpke_keygen(&play.rng, &secret, key, &play.err) == CM_OK, "key");
	sh_play_start(&play);
	sh_play_round(
		&play, &(struct sh_wish){ .target = messages, .min_reports = messages, .hpke_key = key });
}

static void seal_all(void)
{
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], record[CR_HPKE_MANY][PT_RECORD_MAX];
	size_t len = rd_sealed_len(&play.d), each = play.d.record_len;
	struct cr_hpke_sealer *sealer = NULL;
	struct cr_key ephemeral[CR_HPKE_MANY];

	rd_hpke_info(&play.d, info);
	rd_hpke_aad(&play.d, aad);
	pool = malloc(different * len);
	must(pool && cr_hpke_sealer_new(
			     play.d.suite, play.d.hpke_key, info, sizeof info, &sealer, &play.err) == CM_OK,
		"sealer");
	for (uint64_t at = 0; at < different;) {
		size_t n = different - at < CR_HPKE_MANY ? different - at : CR_HPKE_MANY;
		for (size_t i = 0; i < n; i++) {
			const struct qy_value v = { .x = (at + i) % 4 };
			encode_in_room(play.d.randomizer.row, &play.d.query, &play.d.randomizer, &v,
				&play.rng, record[0] + i * each);
			play.rng.fill(play.rng.ctx, ephemeral[i].bytes, sizeof ephemeral[i].bytes);
		}
		must(cr_hpke_seal_many(sealer, ephemeral, n, aad, sizeof aad, record[0], each,
			     pool + at * len, len, &play.err) == CM_OK,
			"seal");
		at += n;
	}
	cr_hpke_sealer_free(sealer);
}

/* What the shuffler's loop and its worker do. */
static void work(void)
{
	struct sh_task_done done;
	struct sh_task t;

	while (sh_core_task_begin(play.core, SH_PACE_FLUSH, play.now_ms, &t) != SH_TASK_NONE) {
		struct spent *s = t.kind == SH_TASK_SEAL ? &seal : &commit;
		if (t.kind == SH_TASK_SEAL)
			say("  (of the intake: memory)", &gather);
		count(s, -1);
		if (t.slow)
			sh_core_task_run(&t, &play.work_rng);
		must(sh_core_task_end(play.core, &t, &done, &play.err) == CM_OK, "task");
		count(s, 1);
	}
}

static void submit_all(void)
{
	static uint8_t pseudonyms[PR_SUBMISSIONS_MAX * PR_PSEUDONYM_LEN],
		salts[PR_SUBMISSIONS_MAX * PR_HASH_LEN];
	static struct sh_receipt receipt;
	size_t len = rd_sealed_len(&play.d);
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = (uint32_t)messages };

	for (uint64_t at = 0; at < messages;) {
		/* The messages of one frame lie side by side in the pool. */
		uint64_t from = at % different, n = PR_SUBMISSIONS_MAX;
		n = n < messages - at ? n : messages - at;
		n = n < different - from ? n : different - from;
		for (uint64_t i = 0; i < n; i++)
			cm_put_le64(pseudonyms + i * PR_PSEUDONYM_LEN, at + i);
		const struct sh_submit s = { &who, pseudonyms, n * PR_PSEUDONYM_LEN, pool + from * len,
			n * len, salts, n * PR_HASH_LEN, NULL, NULL };
		count(&gather, -1);
		must(sh_core_submit(play.core, play.d.round_id, PR_ROUND_ID_LEN, &s, play.now_ms, &receipt,
			     &play.no, &play.err) == CM_OK,
			"submit");
		count(&gather, 1);
		must(receipt.n == n && receipt.outcomes[n - 1] == TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED,
			"acceptance");
		at += n;
		if (sh_core_not_durable(play.core) >= COMMIT || at == messages)
			work();
	}
}

static void pull(uint32_t bucket, struct cm_buf *out)
{
	size_t len = rd_sealed_len(&play.d);
	struct cr_span part = { .len = 1 };

	for (out->len = 0; part.len > 0;) {
		must(sh_play_segment(&play, bucket, out->len / len, PART, &part) == CM_OK &&
				cm_buf_put(out, part.data, part.len) == CM_OK,
			"pull");
	}
}

static void open_all(void)
{
	size_t len = rd_sealed_len(&play.d);
	struct an_scratch *scratch = NULL;
	struct an_open *o = NULL;
	struct cm_buf bucket;
	bool right;

	cm_buf_init(&bucket, 1u << 30);
	must(an_scratch_new(play.dir, &scratch, &play.err) == CM_OK, "scratch");
	const struct an_open_conf conf = { &play.d, &secret, 1, messages, OPENING_BYTES,
		an_scratch_spills(scratch) };
	must(!opens || an_open_new(&conf, &o, &play.err) == CM_OK, "opener");
	for (uint32_t b = 0; b < play.manifest.buckets; b++) {
		count(&release, -1);
		pull(b, &bucket);
		count(&release, 1);
		must(bucket.len / len == play.manifest.bucket[b].messages, "the size of a bucket");
		count(&opening, -1);
		must(!opens || (an_open_bucket(o, bucket.data, bucket.len / len, play.manifest.bucket[b].root,
					&right, &play.err) == CM_OK &&
				       right),
			"opening");
		count(&opening, 1);
	}
	cm_buf_fini(&bucket);
	const struct an_tally *t = opens ? an_open_tally(o) : NULL;
	must(!opens || (an_open_root(o) && memcmp(an_open_root(o), play.manifest.tree, PR_HASH_LEN) == 0),
		"the tree");
	must(!opens || (t->counted == different && t->duplicates == messages - different && t->bad == 0),
		"the count");
	an_open_free(o);
	an_scratch_free(scratch);
}

int main(int argc, char **argv)
{
	struct spent sealing = { 0 };

	messages = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	different = argc > 2 ? strtoull(argv[2], NULL, 10) : messages;
	opens = argc <= 4;
	must(messages >= 1000 && messages <= PR_ROUND_REPORTS_MAX && different >= 1 && different <= messages,
		"usage: bench_round [MESSAGES 1000..1e8 [DIFFERENT [FOLDER [release]]]]");
	begin(argc > 3 ? argv[3] : "/tmp");
	count(&sealing, -1);
	seal_all();
	count(&sealing, 1);
	(void)printf("%llu messages of %zu bytes, %llu of them different, in %u buckets, commits of %u\n",
		(unsigned long long)messages, rd_sealed_len(&play.d), (unsigned long long)different,
		sh_round_buckets(&play.d), COMMIT);
	say("seal (of the different)", &sealing);
	submit_all();
	gather.cpu += commit.cpu;
	gather.clock += commit.clock;
	say("roots, tree, leaves, manifest", &seal);
	say("intake, of which", &gather);
	say("  commit", &commit);
	free(pool);
	sh_play_manifest(&play);
	sh_play_charge(&play);
	must(sh_play_release(&play) == CM_OK, "release");
	open_all();
	say("release", &release);
	if (opens)
		say("analyzer: tree, duplicates, open", &opening);
	sh_play_fini(&play);
	return 0;
}
