/* fuzz_sh_spread.c - a head whose intakes say anything in any order: joins, claims, batches, what is stored,
 * of any epoch and any number; beside them one that is honest.  A certificate has one intake in an epoch, no
 * more places are promised than there are, and each report that the honest one acknowledged is released
 * exactly once. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#define ROUND_COSTS 1.0
#include "fuzz_cost.h"

#include "cm_buf.h"
#include "fuzz_sign.h"
#include "must.h"
#include "sh_core_spread.h"
#include "sh_memory.h"
#include "sh_play.h"

#define LIARS        3u
#define CERTIFICATES 4u
#define EACH         6u
#define DEVICES      (CERTIFICATES * EACH)
#define TARGET       20u
#define STEP_LEN     10u
#define STEPS        40u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sh_play play;
static struct {
	uint32_t number;
	struct sh_share *share;
	bool acknowledged[DEVICES];
} honest;
static uint64_t epoch;               /* of the owners below */
static uint32_t owner[CERTIFICATES]; /* 0: none */

static void end_share(void)
{
	sh_share_free(honest.share);
	honest.share = NULL;
}

static void look(void)
{
	const struct sh_round *r = sh_core_collecting(play.core);

	if (!r)
		return;
	must(r->spread.promised <= TARGET && r->intake.participants <= r->spread.promised);
	must(r->spread.claims.used <= TARGET + SH_CLAIMS_MORE);
}

static bool claim(uint32_t intake, uint64_t of, unsigned certificate)
{
	uint8_t key_hash[PR_HASH_LEN];
	enum sh_claim what;

	memset(key_hash, (int)certificate + 1, sizeof key_hash);
	must(sh_core_claim(play.core, intake, of, key_hash, play.now_ms, &what, &play.err) == CM_OK);
	if (what != SH_CLAIM_MINE)
		return false;
	must(sh_core_collecting(play.core) && of == sh_core_collecting(play.core)->spread.epoch);
	if (of != epoch)
		memset(owner, 0, sizeof owner);
	epoch = of;
	must(owner[certificate] == 0 || owner[certificate] == intake);
	owner[certificate] = intake;
	return true;
}

static bool sign(uint64_t of, uint32_t devices, const uint8_t *receipts, size_t n)
{
	const struct sh_signing s = { .epoch = of, .devices = devices, .receipts = receipts, .n = n };
	uint8_t signatures[2 * CR_SIGN_LEN];
	struct sh_promise promise;
	bool granted = sh_core_promise(play.core, 1, &s, &promise);

	must(promise.room <= TARGET);
	if (granted)
		must(sh_core_sign(play.core, &promise, &s, signatures, &play.err) == CM_OK);
	if (granted && honest.share && honest.share->epoch == of)
		sh_share_room(honest.share, promise.room);
	return granted;
}

/* As a head does before receipts may be sent: it notes the devices beside the round's key. */
static void stored_all(uint64_t of, uint64_t devices)
{
	struct sh_mark *mark;
	uint64_t all;

	if (!sh_core_stored(play.core, of, devices, &mark, &all))
		return;
	must(sh_core_mark(mark, all, &play.err) == CM_OK);
	sh_mark_free(mark);
}

/* The honest one takes a share, and reports of a certificate that it may have. */
static void take(unsigned certificate, size_t first, size_t n)
{
	struct sh_vault_keys keys = { 0 };
	struct sh_loan loan;
	struct sh_receipt receipt;
	struct sh_batch batch;
	uint8_t bytes[PR_RECEIPT_LEN] = { 0 };

	end_share();
	if (sh_core_lend(play.core, &loan, &keys, &play.err) != CM_OK)
		return;
	must(sh_share_new(&play.store, &loan, 1u << 20, &honest.share, &play.err) == CM_OK);
	sh_vault_keys_fini(&keys);
	must(sh_share_load(honest.share, &play.err) == CM_OK);
	if (!claim(honest.number, honest.share->epoch, certificate))
		return;
	play.to = honest.share;
	enum cm_rc rc = sh_play_submit(&play, certificate, EACH, certificate * EACH + first, n, &receipt);
	play.to = NULL;
	if (rc != CM_OK)
		return;
	size_t devices = sh_batch_submissions(&honest.share->intake.gathering);
	bool stored = devices == 0;
	if (sign(honest.share->epoch, (uint32_t)devices, bytes, 1) && devices > 0) {
		sh_intake_take(&honest.share->intake, &batch);
		stored = sh_share_store(honest.share, &batch, &play.rng, &play.err) == CM_OK;
		sh_batch_fini(&batch);
		must(stored);
		sh_intake_committed(&honest.share->intake);
		stored_all(honest.share->epoch, devices);
	}
	for (size_t i = 0; stored && i < receipt.n; i++)
		honest.acknowledged[certificate * EACH + first + i] |=
			receipt.outcomes[i] == TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED;
}

static void step(const uint8_t op[STEP_LEN])
{
	const struct sh_round *r = sh_core_collecting(play.core);
	struct sh_mark *mark;
	uint64_t devices;
	uint64_t number = cm_get_le64(op + 2),
		 of = (r ? r->spread.epoch : 0) + (op[1] >> 6) - (op[1] >> 5 & 1);
	uint32_t intake = 2 + op[0] / 8 % LIARS;
	uint8_t key_hash[PR_HASH_LEN], receipts[2 * PR_RECEIPT_LEN];

	switch (op[0] % 8) {
	case 0:
		take(op[1] % CERTIFICATES, op[2] % EACH, 1 + op[3] % (EACH - op[2] % EACH));
		break;
	case 1:
		(void)claim(intake, of, op[2] % CERTIFICATES);
		break;
	case 2:
		memset(key_hash, 1 + op[2] % (2 * CERTIFICATES), sizeof key_hash);
		sh_core_leave(play.core, intake, of, key_hash);
		break;
	case 3:
		memset(receipts, op[9], sizeof receipts);
		(void)sign(of, (uint32_t)number, receipts, op[1] % 3);
		break;
	case 4:
		/* An intake that claims to have stored what it did not may end the round early:
		 * doc/intakes.md. */
		if (sh_core_stored(play.core, of, number < DEVICES ? TARGET + 1 : number, &mark, &devices))
			sh_mark_free(mark);
		break;
	case 5:
		sh_core_intakes(play.core, 1 + op[1] % LIARS);
		sh_play_work(&play);
		break;
	case 6:
		play.now_ms += 100 * op[1];
		sh_play_work(&play);
		break;
	default:
		end_share();
		sh_play_stop(&play);
		sh_play_start(&play);
		sh_core_intakes(play.core, 1);
		sh_play_work(&play);
	}
	look();
}

/* Each acknowledged device is released, and none twice. */
static void release(void)
{
	struct cm_buf out;
	bool seen[DEVICES] = { false };

	end_share();
	sh_core_intakes(play.core, 0);
	sh_play_deadline(&play);
	must(!sh_core_collecting(play.core));
	sh_play_manifest(&play);
	cm_buf_init(&out, 1u << 20);
	if (!play.manifest.is_void) {
		sh_play_charge(&play);
		must(sh_play_release(&play) == CM_OK);
		sh_play_pull(&play, 9000, &out);
	}
	for (size_t at = 0; at < out.len; at += rd_sealed_len(&play.d)) {
		uint64_t device = cm_get_le64(out.data + at);

		must(device < DEVICES && !seen[device]);
		seen[device] = true;
	}
	for (size_t i = 0; i < DEVICES; i++)
		must(seen[i] || !honest.acknowledged[i] || play.manifest.is_void);
	cm_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t keys[2] = { 1, 2 };
	const struct round_keys analyzer = { fuzz_signer(&keys[0]), fuzz_verifier(&keys[0]) },
				shuffler = { fuzz_signer(&keys[1]), fuzz_verifier(&keys[1]) };
	struct sh_memory *memory = sh_memory_new();

	memset(&honest, 0, sizeof honest);
	honest.number = 1;
	epoch = 0;
	memset(owner, 0, sizeof owner);
	sh_play_init_with(&play, &analyzer, &shuffler);
	play.kept = sh_memory_store(memory);
	play.intakes = true;
	sh_play_start(&play);
	sh_play_describe(&play, &(struct sh_wish){ .target = TARGET, .min_reports = 2 });
	must(sh_play_reserve(&play) == CM_OK && sh_play_announce(&play) == CM_OK);
	sh_core_intakes(play.core, 1);
	sh_play_work(&play);
	for (size_t i = 0; (i + 1) * STEP_LEN <= size && i < STEPS && sh_core_collecting(play.core); i++)
		step(data + i * STEP_LEN);
	release();
	sh_play_fini(&play);
	sh_memory_free(memory);
	return 0;
}
