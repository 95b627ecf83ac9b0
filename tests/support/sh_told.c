/* sh_told.c - a ledger of three rounds, told to a shuffler that lost its state or was restored. */
#include "sh_told.h"

#include <string.h>
#include <unistd.h>

struct sh_told told;
struct sh_announced told_made;

void told_keep(struct cm_buf *to, const struct cm_buf *from)
{
	cm_buf_init(to, PR_RECORD_MAX);
	assert_int_equal(cm_buf_put(to, from->data, from->len), CM_OK);
}

static void tell(void)
{
	const struct sh_wish wish = { .min_reports = 10, .slice = 20, .entries = 3 };

	told_keep(&told.record[0], &play.record);
	sh_play_describe(&play, &wish);
	told_keep(&told.record[1], &play.record);
	for (uint32_t i = 0; i < 3; i++) {
		told.after[1 + i] = play;
		if (i > 0)
			sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entry = i + 1 });
		assert_int_equal(sh_play_reserve(&play), CM_OK);
		told_keep(&told.record[2 + i], &play.record);
		told_keep(&told.descriptor[i], &play.descriptor);
		memcpy(told.signature[i], play.signature, CR_SIGN_LEN);
	}
	told.after[4] = play;
}

int told_set_up(void **state)
{
	int rc = steps_set_up(state);

	play.policy.shared.colluders = 10;
	play.policy.shared.max_epsilon = 50;
	tell();
	return rc;
}

int told_tear_down(void **state)
{
	for (size_t i = 0; i < TOLD_RECORDS; i++)
		cm_buf_fini(&told.record[i]);
	for (size_t i = 0; i < 3; i++)
		cm_buf_fini(&told.descriptor[i]);
	return steps_tear_down(state);
}

/* The analyzer goes on after its record n. */
void told_back_to(size_t n)
{
	const struct sh_play *p = &told.after[n - 1];

	play.chain = p->chain;
	play.plans = p->plans;
	play.sequence = p->sequence;
	memcpy(play.previous, p->previous, PR_HASH_LEN);
	memcpy(play.plan_hash, p->plan_hash, PR_HASH_LEN);
}

void told_lose(struct sh_loss loss)
{
	sh_play_lose(&play, &loss);
	sh_play_start(&play);
}

/* Records from..to of the ledger, from 1. */
enum cm_rc told_show(size_t from, size_t to)
{
	struct cr_span spans[TOLD_RECORDS];
	uint8_t signature[CR_SIGN_LEN], bytes[RD_HEAD_MAX], head[PR_HASH_LEN] = { 0 };

	for (size_t i = 1; i <= to; i++) {
		const struct cr_span link[] = { { head, PR_HASH_LEN },
			{ told.record[i - 1].data, told.record[i - 1].len } };
		uint8_t next[PR_HASH_LEN];
		cr_sha256_spans(link, 2, next);
		memcpy(head, next, PR_HASH_LEN);
		if (i >= from)
			spans[i - from] = link[1];
	}
	size_t n = rd_head_bytes(play.policy.shared.population, to, head, bytes);
	assert_int_equal(
		cr_sign(play.analyzer.signer, RD_PURPOSE_LEDGER, bytes, n, signature, &play.err), CM_OK);
	const struct sh_extend e = { from, spans, to - from + 1, { signature, CR_SIGN_LEN } };
	enum cm_rc rc = sh_core_extend(play.core, &e, &play.no, &play.err);
	if (rc == CM_OK)
		sh_play_compose(&play);
	return rc;
}

enum sh_stated told_state_bytes(
	unsigned certificate, uint32_t devices, struct cr_span descriptor, struct cr_span signature)
{
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = devices };
	enum sh_stated what = SH_STATED_ENOUGH;

	memset(who.key_hash, (int)certificate + 1, sizeof who.key_hash);
	assert_int_equal(sh_core_state_head(play.core, &who, descriptor, signature, &what, &play.err), CM_OK);
	return what;
}

/* A certificate states descriptor i (0..2), which record i + 3 reserves. */
enum sh_stated told_state_head(unsigned certificate, uint32_t devices, size_t i)
{
	return told_state_bytes(certificate, devices,
		(struct cr_span){ told.descriptor[i].data, told.descriptor[i].len },
		(struct cr_span){ told.signature[i], CR_SIGN_LEN });
}

enum cm_rc told_announce(size_t i, bool again)
{
	const struct sh_announce a = { .descriptor = { told.descriptor[i].data, told.descriptor[i].len },
		.signature = { told.signature[i], CR_SIGN_LEN },
		.again = again };

	return sh_core_announce(play.core, &a, play.now_ms, &play.rng, &told_made, &play.no, &play.err);
}
