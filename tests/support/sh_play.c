/* sh_play.c - a shuffler in a scratch folder, driven by a made-up analyzer, for tests of its cores. */
#include "sh_play.h"

#include "sh_blanket.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void sh_play_folder(char dir[64])
{
	struct stat st;

	(void)snprintf(dir, 64, "%s/tombola-sh-XXXXXX",
		stat("/dev/shm", &st) == 0 && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(dir));
}

void sh_play_remove(const char *dir)
{
	DIR *d = opendir(dir);
	char path[512];

	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (unlink(path) != 0)
			sh_play_remove(path);
	}
	(void)closedir(d);
	(void)rmdir(dir);
}

void sh_play_init(struct sh_play *p)
{
	struct round_keys analyzer, shuffler;

	round_keys_make(&analyzer);
	round_keys_make(&shuffler);
	sh_play_init_with(p, &analyzer, &shuffler);
	p->own_keys = true;
}

void sh_play_init_with(
	struct sh_play *p, const struct round_keys *analyzer, const struct round_keys *shuffler)
{
	*p = (struct sh_play){ .now_ms = SH_PLAY_NOW, .analyzer = *analyzer, .shuffler = *shuffler };
	sh_play_folder(p->dir);
	(void)snprintf(p->key_dir, sizeof p->key_dir, "%s/keys", p->dir);
	assert_int_equal(mkdir(p->key_dir, 0700), 0);
	(void)snprintf(p->leaves_dir, sizeof p->leaves_dir, "%s/leaves", p->dir);
	assert_int_equal(mkdir(p->leaves_dir, 0700), 0);
	sh_play_store_init(p);
	p->policy = (struct sh_policy){
		.shared.population = SH_PLAY_POPULATION,
		.shared.max_epsilon0 = 8,
		.shared.min_batch = 1,
		.shared.max_epsilon = 1e6,
		.shared.delta = 0.5,
		.shared.max_plan_entries = 256,
		.shared.max_tries = 3,
		.max_target = 2000000,
		.max_shuffler_dummies = 1000000,
		.shared.max_payload = 1 << 20,
		.max_window_ms = 7 * 86400000LL,
		.shared.honest_fraction = 1,
		.max_share = 1,
	};
	assert_int_equal(cr_rng_system(&p->rng, &p->err), CM_OK);
	p->work_rng = p->rng;
	cm_buf_init(&p->record, PR_RECORD_MAX);
	cm_buf_init(&p->plan, PR_PLAN_MAX);
	cm_buf_init(&p->descriptor, PR_DESCRIPTOR_MAX);
	cm_buf_init(&p->charge, PR_CHARGE_MAX);
}

void sh_play_start(struct sh_play *p)
{
	struct rd_record open = { .kind = RD_OPEN, .epsilon_limit = 1e6, .delta = 0.5 };

	enum cm_rc rc = CM_OK;
	if (p->kept.row_put)
		p->store = p->kept;
	else
		rc = sh_play_store_open(p);
	if (rc != CM_OK)
		fail_msg("store: %s", p->err.msg);
	struct sh_core_conf conf = {
		.env = { .store = &p->store,
			.key_dir = p->key_dir,
			.signer = p->shuffler.signer,
			.max_bytes = 32u << 20,
			.ahead_bytes = p->ahead_bytes,
			.leaves = { p->leaves_dir, SH_PLAY_WINDOW },
			.intakes = p->intakes },
		.policy = &p->policy,
		.analyzer = p->analyzer.verifier,
		.commit_messages = 1000,
		.commit_wait_ms = 100,
	};
	rc = sh_core_new(&conf, &p->core, &p->err);
	if (rc != CM_OK)
		fail_msg("core: %s", p->err.msg);
	if (p->chain.seq > 0) {
		sh_play_compose(p);
		sh_play_jobs(p);
		return;
	}
	strcpy(open.population, SH_PLAY_POPULATION);
	strcpy(open.unit, "device");
	assert_int_equal(sh_play_record(p, &open), CM_OK);
}

void sh_play_stop(struct sh_play *p)
{
	sh_core_free(p->core);
	p->core = NULL;
	if (p->store.close)
		p->store.close(p->store.ctx);
	p->store = (struct sh_store){ 0 };
}

void sh_play_fini(struct sh_play *p)
{
	sh_play_stop(p);
	rd_descriptor_fini(&p->d);
	rd_manifest_fini(&p->manifest);
	cm_buf_fini(&p->record);
	cm_buf_fini(&p->plan);
	cm_buf_fini(&p->descriptor);
	cm_buf_fini(&p->charge);
	if (p->own_keys) {
		round_keys_free(&p->analyzer);
		round_keys_free(&p->shuffler);
	}
	sh_play_store_fini(p);
	sh_play_remove(p->dir);
}

enum cm_rc sh_play_record(struct sh_play *p, struct rd_record *r)
{
	r->seq = p->chain.seq + 1;
	r->time_ms = p->now_ms;
	p->record.len = 0;
	if (rd_record_encode(r, &p->record, &p->err) != CM_OK)
		fail_msg("record: %s", p->err.msg);
	const struct cr_span span = { p->record.data, p->record.len };
	enum cm_rc rc = sh_play_extend(p, r->seq, &span, 1);
	assert_int_equal(rd_chain_extend(&p->chain, p->record.data, p->record.len, NULL, &p->err), CM_OK);
	return rc;
}

enum cm_rc sh_play_void(struct sh_play *p)
{
	struct rd_record r = { .kind = RD_VOID, .reason = "gave up" };

	memcpy(r.round_id, p->d.round_id, PR_ROUND_ID_LEN);
	return sh_play_record(p, &r);
}

enum cm_rc sh_play_extend(struct sh_play *p, uint64_t first, const struct cr_span *records, size_t n)
{
	uint8_t signature[CR_SIGN_LEN], bytes[RD_HEAD_MAX], head[PR_HASH_LEN];
	const struct sh_extend e = { first, records, n, { signature, sizeof signature } };

	/* After the head that the analyzer has, unless it says again what it said. */
	memcpy(head, first == p->chain.seq + 1 ? p->chain.head : p->before, PR_HASH_LEN);
	memcpy(p->before, head, PR_HASH_LEN);
	for (size_t i = 0; i < n; i++) {
		const struct cr_span spans[] = { { head, PR_HASH_LEN }, records[i] };
		uint8_t next[PR_HASH_LEN];
		cr_sha256_spans(spans, 2, next);
		memcpy(head, next, PR_HASH_LEN);
	}
	size_t len = rd_head_bytes(SH_PLAY_POPULATION, first + n - 1, head, bytes);
	assert_int_equal(
		cr_sign(p->analyzer.signer, RD_PURPOSE_LEDGER, bytes, len, signature, &p->err), CM_OK);
	return sh_core_extend(p->core, &e, &p->no, &p->err);
}

enum cm_rc sh_play_reserve(struct sh_play *p)
{
	struct rd_record r = { .kind = RD_RESERVE, .epsilon_round = 1, .epsilon_total = 1, .plan_round = 1 };

	memcpy(r.round_id, p->d.round_id, PR_ROUND_ID_LEN);
	memcpy(r.plan_hash, p->d.plan_hash, PR_HASH_LEN);
	r.descriptor = p->descriptor;
	enum cm_rc rc = sh_play_record(p, &r);
	if (rc == CM_OK) {
		p->sequence = p->d.sequence;
		memcpy(p->previous, p->d.hash, PR_HASH_LEN);
	}
	return rc;
}

enum cm_rc sh_play_announce(struct sh_play *p)
{
	const struct sh_announce a = { .descriptor = { p->descriptor.data, p->descriptor.len },
		.signature = { p->signature, CR_SIGN_LEN } };
	struct sh_announced made;

	return sh_core_announce(p->core, &a, p->now_ms, &p->rng, &made, &p->no, &p->err);
}

void sh_play_round(struct sh_play *p, const struct sh_wish *wish)
{
	sh_play_describe(p, wish);
	if (sh_play_reserve(p) != CM_OK || sh_play_announce(p) != CM_OK)
		fail_msg("round: %s", p->no.text);
}

void sh_play_message(uint64_t device, uint32_t number, uint8_t *out, size_t len)
{
	assert_true(len >= 12);
	cm_put_le64(out, device);
	cm_put_le32(out + 8, number);
	for (size_t i = 12; i < len; i++)
		out[i] = (uint8_t)(device * 31 + number * 7 + i);
}

static uint32_t tag_of(const struct sh_play *p, uint64_t device)
{
	return p->tag ? p->tag(device) : (uint32_t)(device % p->d.randomizer.shuffler.tags);
}

enum cm_rc sh_play_submit(struct sh_play *p, unsigned certificate, uint32_t devices, uint64_t first, size_t n,
	struct sh_receipt *out)
{
	size_t len = rd_sealed_len(&p->d), whole = rd_message_len(&p->d),
	       each = p->d.messages_per_client * whole;
	uint8_t *pseudonyms = calloc(n, PR_PSEUDONYM_LEN), *sealed = calloc(n, each);
	uint8_t *salts = calloc(n, PR_HASH_LEN);
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = devices };
	struct sh_submit submit = { &who, pseudonyms, n * PR_PSEUDONYM_LEN, sealed, n * each, salts,
		n * PR_HASH_LEN, salts, p->gateway };

	assert_true(pseudonyms && sealed && salts);
	memset(salts, (int)certificate + 7, n * PR_HASH_LEN);
	memset(who.key_hash, (int)certificate + 1, sizeof who.key_hash);
	for (size_t i = 0; i < n; i++) {
		cm_put_le64(pseudonyms + i * PR_PSEUDONYM_LEN, first + i);
		for (uint32_t m = 0; m < p->d.messages_per_client; m++) {
			uint8_t *at = sealed + i * each + m * whole;
			if (p->d.randomizer.shuffler.tags > 0)
				cm_put_le16(at, (uint16_t)tag_of(p, first + i));
			sh_play_message(first + i, m, at + (whole - len), len);
		}
	}
	/* An intake's own clock may be wrong. */
	enum cm_rc rc =
		p->to ? sh_intake_submit(&p->to->intake, &submit, 0, out->outcomes, &out->n, &p->no, &p->err)
		      : sh_core_submit(p->core, p->d.round_id, PR_ROUND_ID_LEN, &submit, p->now_ms, out,
				&p->no, &p->err);
	if (p->to && rc == CM_OK)
		sh_intake_root(&p->to->d, &submit, out->outcomes, out->n, p->root);
	free(pseudonyms);
	free(salts);
	free(sealed);
	return rc;
}

void sh_play_work(struct sh_play *p)
{
	struct sh_task_done done;
	struct sh_task t;

	while (sh_core_task_begin(p->core, SH_PACE_FLUSH, p->now_ms, &t) != SH_TASK_NONE) {
		if (t.slow)
			sh_core_task_run(&t, &p->work_rng);
		if (sh_core_task_end(p->core, &t, &done, &p->err) != CM_OK)
			fail_msg("task %d: %s", (int)t.kind, p->err.msg);
	}
	sh_play_jobs(p);
}

void sh_play_deadline(struct sh_play *p)
{
	p->now_ms = p->d.deadline_ms;
	sh_play_work(p);
}

void sh_play_manifest(struct sh_play *p)
{
	struct sh_signed *m = calloc(1, sizeof *m);

	assert_non_null(m);
	assert_int_equal(
		sh_core_manifest(p->core, p->d.round_id, PR_ROUND_ID_LEN, m, &p->no, &p->err), CM_OK);
	rd_manifest_fini(&p->manifest);
	if (rd_manifest_verify(m->bytes, m->len, m->signature, p->shuffler.verifier, &p->d, &p->manifest,
		    &p->err) != CM_OK)
		fail_msg("manifest: %s", p->err.msg);
	cr_sha256(m->bytes, m->len, p->manifest_hash);
	free(m);
}

void sh_play_charge(struct sh_play *p)
{
	struct rd_record r = { .kind = RD_CHARGE,
		.participants = p->manifest.participants,
		.epsilon_round = 1,
		.epsilon_total = 1 };
	struct rd_charge c = { 0 };

	memcpy(r.round_id, p->d.round_id, PR_ROUND_ID_LEN);
	memcpy(r.manifest_hash, p->manifest_hash, PR_HASH_LEN);
	assert_int_equal(sh_play_record(p, &r), CM_OK);
	memcpy(c.round_id, p->d.round_id, PR_ROUND_ID_LEN);
	memcpy(c.descriptor_hash, p->d.hash, PR_HASH_LEN);
	memcpy(c.manifest_hash, p->manifest_hash, PR_HASH_LEN);
	c.ledger_seq = p->chain.seq;
	memcpy(c.ledger_head, p->chain.head, PR_HASH_LEN);
	p->charge.len = 0;
	assert_int_equal(rd_charge_encode(&c, &p->charge, &p->err), CM_OK);
	assert_int_equal(cr_sign(p->analyzer.signer, RD_PURPOSE_CHARGE, p->charge.data, p->charge.len,
				 p->charge_signature, &p->err),
		CM_OK);
}

enum cm_rc sh_play_release(struct sh_play *p)
{
	uint8_t round_id[PR_ROUND_ID_LEN];

	return sh_core_release(p->core, (struct cr_span){ p->charge.data, p->charge.len },
		(struct cr_span){ p->charge_signature, CR_SIGN_LEN }, round_id, &p->no, &p->err);
}

void sh_play_killed(struct sh_play *p, void (*act)(struct sh_play *), uint64_t nanoseconds)
{
	/* A database takes longer to connect to than a file to open. */
	uint64_t within = p->database[0] ? 8 * nanoseconds : nanoseconds;
	const struct timespec some = { .tv_nsec = (long)cr_rng_below(&p->rng, within) };
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		sh_play_start(p);
		act(p);
		for (;;)
			(void)pause();
	}
	(void)nanosleep(&some, NULL);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
}

void sh_play_jobs(struct sh_play *p)
{
	struct sh_job j;

	while (sh_core_job_begin(p->core, false, &j) != SH_JOB_NONE) {
		sh_job_run(&j);
		if (sh_core_job_end(p->core, &j, &p->err) != CM_OK)
			fail_msg("job %d: %s", (int)j.kind, p->err.msg);
	}
}

enum cm_rc sh_play_segment(
	struct sh_play *p, uint32_t bucket, uint64_t offset, size_t max, struct cr_span *out)
{
	enum cm_rc rc;

	while ((rc = sh_core_pull(p->core, p->d.round_id, PR_ROUND_ID_LEN, bucket, offset, max, out,
			&p->no)) == CM_EMORE)
		sh_play_jobs(p);
	return rc;
}

enum cm_rc sh_play_settle(struct sh_play *p)
{
	enum cm_rc rc;

	while ((rc = sh_core_settle(p->core, p->d.round_id, PR_ROUND_ID_LEN, &p->no, &p->err)) == CM_EMORE)
		sh_play_jobs(p);
	return rc;
}

void sh_play_pull(struct sh_play *p, size_t max, struct cm_buf *out)
{
	size_t len = rd_sealed_len(&p->d);

	for (uint32_t b = 0; b < p->manifest.buckets; b++) {
		for (uint64_t at = 0;;) {
			struct cr_span part;
			if (sh_play_segment(p, b, at, max, &part) != CM_OK)
				fail_msg("pull: %s", p->no.text);
			if (part.len == 0)
				break;
			assert_int_equal(cm_buf_put(out, part.data, part.len), CM_OK);
			at += part.len / len;
		}
	}
}
