/* fuzz_sh_round.c - rounds of the shuffler in any order of submissions, commits, restarts, deadlines,
 * charges, releases and voids, over its real storage, against a model of which reports were acknowledged:
 * each is released exactly once, nothing else is, and what is not allowed now is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#define ROUND_COSTS 2.4 /* the budget is 10, so the fifth is refused */
#include "fuzz_cost.h"

#include "fuzz_sign.h"
#include "must.h"
#include "sh_play.h"

#define BLOCK   12u /* devices that one submission speaks for */
#define BLOCKS  10u
#define DEVICES (BLOCK * BLOCKS)
#define LEAST   48u
#define TARGET  72u
#define DUMMIES 3u
#define STEPS   24u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum at { IDLE, COLLECTING, SEALED, RELEASED };

struct model {
	enum at at;
	bool taken[DEVICES], durable[DEVICES]; /* a receipt may go out when it is durable */
	size_t reports;                        /* of them taken */
};

static struct sh_play play;

static void begin(struct model *m, bool blanket)
{
	const struct sh_wish wish = {
		.min_reports = LEAST, .target = TARGET, .shuffler_dummies = blanket ? DUMMIES : 0
	};

	if (m->at != IDLE)
		return;
	sh_play_describe(&play, &wish);
	if (sh_play_reserve(&play) != CM_OK || sh_play_announce(&play) != CM_OK)
		return; /* the policy's account is full */
	*m = (struct model){ .at = COLLECTING };
}

static void submit(struct model *m, size_t first)
{
	struct sh_receipt receipt;
	enum cm_rc rc = sh_play_submit(&play, 0, 1000000, first, BLOCK, &receipt);

	if (m->at == IDLE || rc != CM_OK) {
		must(rc != CM_OK);
		return;
	}
	for (size_t i = 0; i < receipt.n; i++) {
		bool accepted = receipt.outcomes[i] == TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED;

		must(accepted || !m->taken[first + i]);
		must(!accepted || m->taken[first + i] || m->at == COLLECTING);
		m->reports += accepted && !m->taken[first + i];
		m->taken[first + i] |= accepted;
	}
}

/* Whatever is due: a commit, and the seal. */
static void work(struct model *m, bool deadline)
{
	if (m->at != COLLECTING)
		return;
	if (deadline)
		play.now_ms = play.d.deadline_ms;
	sh_play_work(&play);
	memcpy(m->durable, m->taken, sizeof m->taken);
	if (sh_core_collecting(play.core)) {
		must(!deadline && m->reports < TARGET);
		return;
	}
	sh_play_manifest(&play);
	must(play.manifest.participants == m->reports && play.manifest.is_void == (m->reports < LEAST));
	m->at = m->reports < LEAST ? IDLE : SEALED;
}

/* Only reports that were never acknowledged may be lost. */
static void restart(struct model *m)
{
	sh_play_stop(&play);
	sh_play_start(&play);
	m->reports = 0;
	for (size_t i = 0; i < DEVICES; i++) {
		m->taken[i] = m->durable[i];
		m->reports += m->taken[i];
	}
	if (m->at == SEALED || m->at == RELEASED) {
		sh_play_manifest(&play);
		must(play.manifest.participants == m->reports);
	}
}

static void release(struct model *m)
{
	if (m->at != SEALED) {
		must(m->at == RELEASED || sh_play_release(&play) != CM_OK);
		return;
	}
	sh_play_charge(&play);
	must(sh_play_release(&play) == CM_OK);
	m->at = RELEASED;
}

static void pull(struct model *m)
{
	uint64_t left = m->reports, ours = 0;
	struct cm_buf out;
	size_t len;

	if (m->at != RELEASED)
		return;
	len = rd_sealed_len(&play.d);
	cm_buf_init(&out, 64u << 20);
	sh_play_pull(&play, 9000, &out);
	must(out.len == play.manifest.messages * len);
	for (size_t at = 0; at < out.len; at += len) {
		uint64_t device = cm_get_le64(out.data + at);

		if (device >= DEVICES || cm_get_le32(out.data + at + 8) != 0) {
			ours++; /* the shuffler's own: sealed noise */
			continue;
		}
		must(m->taken[device]);
		m->taken[device] = false;
		left--;
	}
	must(left == 0 && ours == play.manifest.messages - m->reports);
	memcpy(m->taken, m->durable, sizeof m->taken);
	cm_buf_fini(&out);
}

static void give_up(struct model *m)
{
	if (m->at != COLLECTING && m->at != SEALED)
		return;
	must(sh_play_void(&play) == CM_OK);
	sh_play_work(&play);
	*m = (struct model){ .at = IDLE };
}

static void step(struct model *m, uint8_t op)
{
	switch (op & 15) {
	case 8:
		work(m, false);
		break;
	case 9:
		work(m, true);
		break;
	case 10:
		restart(m);
		break;
	case 11:
		release(m);
		break;
	case 12:
		pull(m);
		break;
	case 13:
		begin(m, op >> 4 & 1);
		break;
	case 14:
		give_up(m);
		break;
	case 15:
		play.now_ms += 1000 * (op >> 4);
		break;
	default:
		submit(m, (op & 15) * BLOCK + (op >> 5));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t keys[2] = { 1, 2 };
	const struct round_keys analyzer = { fuzz_signer(&keys[0]), fuzz_verifier(&keys[0]) },
				shuffler = { fuzz_signer(&keys[1]), fuzz_verifier(&keys[1]) };
	struct model m = { .at = IDLE };

	sh_play_init_with(&play, &analyzer, &shuffler);
	sh_play_start(&play);
	begin(&m, size % 2 > 0);
	for (size_t i = 0; i < size && i < STEPS; i++)
		step(&m, data[i]);
	sh_play_fini(&play);
	return 0;
}
