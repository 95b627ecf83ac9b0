/* bench_permute.c - what a message costs the shuffler: Fisher-Yates alone, then commit, root and release
 * through the real store, with the tree over all messages and its leaves kept, and without; and what a
 * receipt costs by device, and over all at once.  CPU time of this thread; the median turn counts.  Usage:
 * bench_permute [messages] [folder] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "bucket_root.h"
#include "rd_manifest.h"
#include "rd_receipt.h"
#include "sh_leaves.h"
#include "sh_permute.h"
#include "sh_sqlite.h"
#include "sh_vault.h"

#define LEN    112u
#define TURNS  5
#define COMMIT 16384u

struct cost {
	double permute, commit, root, tree, release; /* ns a message */
	double whole, receipt;                       /* of a receipt, ns a device with one message */
};

static struct cm_err err;
static struct cr_rng rng;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "bench_permute: %s failed: %s\n", what, err.msg);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0, "clock_gettime");
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void commits(struct sh_vault *v, const uint8_t *messages, size_t n)
{
	for (size_t at = 0; at < n;) {
		struct sh_batch b;
		size_t end = n - at < COMMIT ? n : at + COMMIT;
		sh_batch_init(&b, LEN, 64u << 20);
		must(sh_batch_reserve(&b, end - at, 1, &err) == CM_OK, "reserve");
		for (; at < end; at++) {
			struct sh_tag tag;
			memset(&tag, 1, sizeof tag);
			cm_put_le64(tag.tag, at);
			sh_batch_add(&b, &tag, messages + at * LEN, LEN);
		}
		must(sh_vault_commit(v, &b, &rng, &err) == CM_OK, "commit");
		sh_batch_fini(&b);
	}
}

static void make_tree(struct sh_vault *v, const char *leaves, const uint8_t *round_id, size_t n)
{
	const struct sh_leaves_place place = { leaves, 1000 };
	struct sh_leaves_maker *m = NULL;
	struct cm_crew *crew = NULL;
	uint8_t root[PR_HASH_LEN], (*hashes)[PR_HASH_LEN] = malloc(n * PR_HASH_LEN);
	struct cm_buf bucket;

	cm_buf_init(&bucket, 256u << 20);
	must(cm_crew_new(8, &crew, &err) == CM_OK, "crew");
	must(hashes && sh_leaves_begin(&place, round_id, n, 0, &m, &err) == CM_OK, "leaves");
	for (uint32_t b = 0; b < v->buckets; b++, bucket.len = 0) {
		must(sh_vault_read(v, b, &bucket, &err) == CM_OK, "read");
		size_t messages = bucket.len / LEN;
		rd_bucket_hashes(bucket.data, messages, LEN, hashes);
		rd_bucket_sum((const uint8_t(*)[PR_HASH_LEN])hashes, messages, root);
		must(sh_leaves_add(m, (const uint8_t(*)[PR_HASH_LEN])hashes, messages, &err) == CM_OK, "add");
	}
	struct timespec begin, end;
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	must(sh_leaves_end(m, crew, root, &err) == CM_OK, "tree");
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	(void)printf("end of the tree, first of 8 threads %.1f ns a message\n",
		((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
			(double)n);
	cm_crew_free(crew);
	sh_leaves_maker_free(m);
	must(sh_leaves_erase(&place, round_id, &err) == CM_OK, "erase");
	cm_buf_fini(&bucket);
	free(hashes);
}

static void make_receipts(const uint8_t *messages, size_t n, bool by_device)
{
	const struct rd_receipt_shape shape = { 1, LEN, 0 };
	struct rd_receipt_device device;
	uint8_t hash[PR_HASH_LEN];
	struct rd_tree tree;

	rd_tree_init(&tree);
	if (!by_device)
		cr_sha256(messages, n * LEN, hash);
	for (size_t i = 0; by_device && i < n; i++) {
		rd_receipt_device(
			&shape, messages + i * LEN, messages + i * LEN, messages + i * LEN, &device);
		rd_receipt_leaf(&device, 1, hash);
		rd_tree_add(&tree, hash);
	}
	rd_tree_root(&tree, hash);
}

static struct cost turn(
	const struct sh_store *store, const char *keys, const char *leaves, uint8_t *messages, size_t n)
{
	uint8_t round_id[PR_ROUND_ID_LEN], root[PR_HASH_LEN];
	uint32_t buckets = sh_bucket_count(n, LEN);
	struct sh_vault v;
	struct cm_buf bucket;
	struct cost c;

	double t0 = now_ns();
	sh_permute(messages, n, LEN, &rng);
	double t1 = now_ns();
	rng.fill(rng.ctx, round_id, sizeof round_id);
	must(sh_vault_create(&v, store, keys, round_id, buckets, LEN, &rng, &err) == CM_OK, "create");
	double t2 = now_ns();
	commits(&v, messages, n);
	double t3 = now_ns();
	cm_buf_init(&bucket, 256u << 20);
	for (uint32_t b = 0; b < buckets; b++, bucket.len = 0) {
		must(sh_vault_read(&v, b, &bucket, &err) == CM_OK, "read");
		bucket_root(bucket.data, bucket.len / LEN, LEN, root);
	}
	double t4 = now_ns();
	make_tree(&v, leaves, round_id, n);
	double t4b = now_ns();
	for (uint32_t b = 0; b < buckets; b++, bucket.len = 0)
		must(sh_vault_release(&v, b, &bucket, &err) == CM_OK, "release");
	double t5 = now_ns();
	make_receipts(messages, n, false);
	double t6 = now_ns();
	make_receipts(messages, n, true);
	double t7 = now_ns();
	cm_buf_fini(&bucket);
	sh_vault_close(&v);
	must(sh_vault_destroy(store, keys, round_id, &err) == CM_OK, "destroy");
	c.permute = (t1 - t0) / (double)n;
	c.commit = (t3 - t2) / (double)n;
	c.root = (t4 - t3) / (double)n;
	c.tree = (t4b - t4) / (double)n;
	c.release = (t5 - t4b) / (double)n;
	c.whole = (t6 - t5) / (double)n;
	c.receipt = (t7 - t6) / (double)n;
	return c;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say(const char *what, const struct cost *cost, size_t offset)
{
	double ns[TURNS];

	for (int i = 0; i < TURNS; i++)
		memcpy(&ns[i], (const char *)&cost[i] + offset, sizeof ns[i]);
	qsort(ns, TURNS, sizeof ns[0], ascending);
	(void)printf("%-28s %8.1f ns a message\n", what, ns[TURNS / 2]);
}

static void remove_folder(const char *dir)
{
	static const char *const name[] = { "state.db", "state.db-wal", "rounds", "keys", "leaves", "" };
	char path[400];

	for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", dir, name[i]);
		(void)remove(path); /* what cannot be removed is left in the scratch folder */
	}
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
	char dir[256], keys[300], leaves[300];
	uint8_t *messages = n > 0 ? calloc(n, LEN) : NULL;
	struct sh_store store;
	struct cost cost[TURNS];

	(void)snprintf(dir, sizeof dir, "%s/bench-permute-XXXXXX", argc > 2 ? argv[2] : "/tmp");
	must(messages && mkdtemp(dir) != NULL, "memory or folder");
	(void)snprintf(keys, sizeof keys, "%s/keys", dir);
	(void)snprintf(leaves, sizeof leaves, "%s/leaves", dir);
	must(mkdir(leaves, 0700) == 0, "folder");
	must(cr_rng_system(&rng, &err) == CM_OK, "rng");
	rng.fill(rng.ctx, messages, n * LEN);
	must(sh_sqlite_open(dir, &store, &err) == CM_OK, "store");
	for (int i = 0; i < TURNS; i++)
		cost[i] = turn(&store, keys, leaves, messages, n);
	(void)printf("%zu messages of %u bytes in %u buckets, commits of %u\n", n, LEN,
		sh_bucket_count(n, LEN), COMMIT);
	say("Fisher-Yates in memory", cost, offsetof(struct cost, permute));
	say("commit (draw, seal, store)", cost, offsetof(struct cost, commit));
	say("read and root", cost, offsetof(struct cost, root));
	say("read, root, tree, leaves", cost, offsetof(struct cost, tree));
	say("release (read, permute)", cost, offsetof(struct cost, release));
	say("receipt over all at once", cost, offsetof(struct cost, whole));
	say("receipt by device", cost, offsetof(struct cost, receipt));
	store.close(store.ctx);
	free(messages);
	remove_folder(dir);
	return 0;
}
