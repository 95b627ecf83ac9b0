/* test_sh_standing.c - the last round of each certificate, and what a lost state leaves of plans. */
#include "sh_steps.h"

#include <string.h>
#include <unistd.h>

/* The standing of a certificate of sh_play: its number, and the descriptor's hash. */
static struct sh_standing standing(unsigned certificate)
{
	struct sh_standing_signed got;
	uint8_t key[32], bytes[RD_STANDING_LEN];

	memset(key, (int)certificate + 1, sizeof key);
	assert_int_equal(sh_core_standing(play.core, key, NULL, &got, &play.err), CM_OK);
	rd_standing_bytes(key, got.standing.sequence, got.standing.descriptor_hash, bytes);
	assert_int_equal(cr_verify(play.shuffler.verifier, RD_PURPOSE_STANDING, bytes, sizeof bytes,
				 got.signature, &play.err),
		CM_OK);
	return got.standing;
}

static void stands_at(unsigned certificate, uint64_t sequence)
{
	static const uint8_t none[PR_HASH_LEN];
	struct sh_standing s = standing(certificate);
	uint8_t mac[PR_MAC_LEN] = { 0 };

	/* A standing as the play's clients send it. */
	if (sequence > 0)
		memset(mac, (int)certificate + 7, sizeof mac);
	assert_memory_equal(s.mac, mac, sizeof mac);
	assert_int_equal(s.sequence, sequence);
	assert_memory_equal(s.descriptor_hash, sequence > 0 ? play.d.hash : none, PR_HASH_LEN);
}

static void a_certificate_stands_at_the_last_round_it_took_part_in(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= 3; round++) {
		sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
		stands_at(1, 0);
		steps_accepted(0, 0, 20);
		sh_play_work(&play);
		stands_at(0, round);
		steps_restart();
		steps_accepted(0, 0, 30);
		sh_play_work(&play);
		stands_at(0, round);
		steps_accepted(7, 1000, 1);
		sh_play_work(&play);
		stands_at(7, round);
		sh_play_deadline(&play);
		steps_restart();
		stands_at(0, round);
	}
}

/* Where the shuffler says that a client stands that comes with this certificate and names this gateway. */
static uint64_t stands_by(unsigned certificate, const uint8_t *gateway)
{
	struct sh_standing_signed got;
	uint8_t key[32], bytes[RD_STANDING_LEN];

	memset(key, (int)certificate + 1, sizeof key);
	assert_int_equal(sh_core_standing(play.core, key, gateway, &got, &play.err), CM_OK);
	rd_standing_bytes(key, got.standing.sequence, got.standing.descriptor_hash, bytes);
	assert_int_equal(cr_verify(play.shuffler.verifier, RD_PURPOSE_STANDING, bytes, sizeof bytes,
				 got.signature, &play.err),
		CM_OK);
	return got.standing.sequence;
}

/* So that a client whose certificate got another key is not taken for one that never took part. */
static void a_gateway_stands_at_its_last_round_under_whatever_certificate(void **state)
{
	static const uint8_t ours[PR_HASH_LEN] = { 1 }, others[PR_HASH_LEN] = { 2 };

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	play.gateway = ours;
	steps_accepted(1, 0, 20);
	sh_play_work(&play);
	assert_int_equal(stands_by(9, NULL), 0);
	assert_int_equal(stands_by(9, ours), 1);
	assert_int_equal(stands_by(9, others), 0);
	assert_int_equal(stands_by(1, NULL), 1);
	sh_play_deadline(&play);
	/* The later of both, whichever it is. */
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	play.gateway = NULL;
	steps_accepted(1, 0, 20);
	sh_play_work(&play);
	assert_int_equal(stands_by(1, ours), 2);
	assert_int_equal(stands_by(9, ours), 1);
	sh_play_deadline(&play);
	/* Two certificates of one gateway in one commit. */
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	play.gateway = ours;
	steps_accepted(2, 0, 10);
	steps_accepted(3, 100, 10);
	sh_play_work(&play);
	steps_restart();
	assert_int_equal(stands_by(1, ours), 3);
	assert_int_equal(stands_by(1, NULL), 2);
	assert_int_equal(stands_by(9, ours), 3);
	play.gateway = NULL;
}

/* A submission that is refused, or is too many, is no report. */
static void who_was_not_accepted_does_not_stand(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 10 });
	/* More devices than the certificate names. */
	steps_refused(sh_play_submit(&play, 3, 4, 0, 5, &receipt), ERROR(BAD_MESSAGE));
	steps_accepted(0, 100, 10);
	steps_submit(4, 200, 1);
	steps_all_are(OUTCOME(CLOSED));
	sh_play_work(&play);
	stands_at(0, 1);
	stands_at(3, 0);
	stands_at(4, 0);
}

static void submit_and_commit(struct sh_play *p)
{
	steps_accepted(5, 0, 3);
	sh_play_work(p);
}

/* Killed at any moment of a commit: if the reports are there, so is the standing. */
static void no_report_is_there_without_its_standing(void **state)
{
	unsigned there = 0;

	(void)state;
	for (uint64_t round = 1; round <= 400 && (round <= 30 || there < 3); round++) {
		sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
		sh_play_stop(&play);
		/* The time before the kill grows, for a server that is busy. */
		sh_play_killed(&play, submit_and_commit, (12 + round) * 1000000);
		sh_play_start(&play);
		if (sh_core_collecting(play.core)->intake.participants > 0) {
			stands_at(5, round);
			there++;
		}
		sh_play_deadline(&play);
	}
	assert_true(there >= 3);
}

/* ---- After a loss ---- */

static void lose(uint64_t closed_to)
{
	sh_play_lose(&play, &(struct sh_loss){ .closed_to = closed_to });
	sh_play_start(&play);
}

/* The analyzer shows its ledger again, unchanged. */
static void show_again(const struct cm_buf *records, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct cr_span span = { records[i].data, records[i].len };
		if (i == 0)
			memset(play.before, 0, PR_HASH_LEN);
		assert_int_equal(sh_play_extend(&play, i + 1, &span, 1), CM_OK);
		cr_sha256_spans(
			(const struct cr_span[]){ { play.before, PR_HASH_LEN }, span }, 2, play.before);
	}
	sh_play_compose(&play);
}

static void keep(struct cm_buf *to)
{
	cm_buf_init(to, PR_RECORD_MAX);
	assert_int_equal(cm_buf_put(to, play.record.data, play.record.len), CM_OK);
}

/* OPEN, PLAN, RESERVE; then the state is lost, and another plan comes. */
static void accept_loss_is_never_a_reset(void **state)
{
	struct cm_buf records[3];
	uint64_t closed[] = { INT64_MAX, 3, 2 };

	(void)state;
	keep(&records[0]);
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .slice = 20 });
	keep(&records[1]);
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	keep(&records[2]);
	play.policy.shared.max_epsilon = 50;
	for (size_t i = 0; i < 3; i++) {
		struct sh_play before = play;
		lose(closed[i]);
		show_again(records, 3);
		assert_int_equal(sh_core_plan_at(play.core, 0)->state, SH_PIN_CLOSED);
		assert_true(sh_core_taken(play.core).epsilon == 20);
		steps_refused(sh_play_announce(&play), ERROR(BUDGET_EXHAUSTED));
		assert_non_null(strstr(play.no.text, "is lost"));
		steps_restart();
		steps_refused(sh_play_announce(&play), ERROR(BUDGET_EXHAUSTED));
		if (i > 0) {
			/* Later plans get what is left of the budget, and no more. */
			sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .slice = 30.5 });
			assert_int_equal(sh_core_plan_at(play.core, 1)->state, SH_PIN_SLICE);
			sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .slice = 30 });
			assert_int_equal(sh_core_plan_at(play.core, 2)->state, SH_PIN_TAKEN);
		} else {
			sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .slice = 1 });
			assert_int_equal(sh_core_plan_at(play.core, 1)->state, SH_PIN_CLOSED);
		}
		/* Back to the ledger of three records. */
		play.chain = before.chain;
		play.plans = before.plans;
		memcpy(play.plan_hash, before.plan_hash, PR_HASH_LEN);
		sh_play_describe(&play, &(struct sh_wish){ .entry = 1, .min_reports = 10 });
		play.descriptor.len = 0;
		struct rd_record r;
		assert_int_equal(rd_record_decode(records[2].data, records[2].len, &r, &play.err), CM_OK);
		assert_int_equal(cm_buf_put(&play.descriptor, r.descriptor.data, r.descriptor.len), CM_OK);
		rd_record_fini(&r);
		assert_int_equal(cr_sign(play.analyzer.signer, RD_PURPOSE_DESCRIPTOR, play.descriptor.data,
					 play.descriptor.len, play.signature, &play.err),
			CM_OK);
	}
	for (size_t i = 0; i < 3; i++)
		cm_buf_fini(&records[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(a_certificate_stands_at_the_last_round_it_took_part_in),
		STEPS_TEST(a_gateway_stands_at_its_last_round_under_whatever_certificate),
		STEPS_TEST(who_was_not_accepted_does_not_stand),
		STEPS_TEST(no_report_is_there_without_its_standing),
		STEPS_TEST(accept_loss_is_never_a_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
