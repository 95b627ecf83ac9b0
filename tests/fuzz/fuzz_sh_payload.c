/* fuzz_sh_payload.c - payloads at the shuffler: parts in any order, right and wrong, rounds that need them,
 * restarts and ends of rounds, against a model of what is held: what is given is what was put, a round
 * without its payload is refused, and there is never more than the open round's and the one that is put. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#define ROUND_COSTS 0.1
#include "fuzz_cost.h"

#include "fuzz_sign.h"
#include "must.h"
#include "sh_memory.h"
#include "sh_play.h"

#define PAYLOADS 4u
#define STEPS    40u
#define MOST     70001u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const size_t length[PAYLOADS] = { 1, 300, 4097, MOST };
static uint8_t bytes[PAYLOADS][MOST], hash[PAYLOADS][PR_HASH_LEN];

struct model {
	size_t held[PAYLOADS];
	bool there[PAYLOADS], wrong[PAYLOADS], whole[PAYLOADS];
	unsigned open; /* 1 + the payload of the open round; 0: none is open */
};

static struct sh_play play;

static void drop(struct model *m, unsigned i)
{
	m->there[i] = m->whole[i] = m->wrong[i] = false;
	m->held[i] = 0;
}

static void drop_others(struct model *m, unsigned but)
{
	for (unsigned i = 0; i < PAYLOADS; i++)
		if (i != but && m->open != i + 1)
			drop(m, i);
}

/* A part of payload i from `offset`; wrong: with another first byte. */
static void put(struct model *m, unsigned i, size_t offset, size_t n, bool wrong)
{
	static uint8_t part[MOST];
	struct sh_put in = { { hash[i], PR_HASH_LEN }, { part, n }, length[i], offset };
	uint64_t held = 0;

	if (offset <= length[i] && n <= length[i] - offset)
		memcpy(part, bytes[i] + offset, n);
	part[0] ^= wrong;
	enum cm_rc rc = sh_core_put_payload(play.core, &in, &held, &play.no, &play.err);
	if (offset > length[i] || n > length[i] - offset) {
		must(rc == CM_EPROTO);
		return;
	}
	if (!m->there[i])
		drop_others(m, i);
	m->there[i] = true;
	if (!m->whole[i] && offset == m->held[i] && n > 0) {
		m->held[i] += n;
		m->wrong[i] |= wrong;
	}
	if (!m->whole[i] && m->held[i] == length[i] && m->wrong[i]) {
		must(rc == CM_EPROTO);
		drop(m, i);
		return;
	}
	m->whole[i] = m->held[i] == length[i];
	must(rc == CM_OK && held == m->held[i]);
}

static void announce(struct model *m, unsigned i)
{
	const struct sh_wish wish = { .min_reports = 48, .target = 72, .payload = { bytes[i], length[i] } };

	if (m->open)
		return;
	sh_play_describe(&play, &wish);
	must(sh_play_reserve(&play) == CM_OK);
	if (sh_play_announce(&play) == CM_OK) {
		must(m->whole[i]);
		m->open = i + 1;
		return;
	}
	must(!m->whole[i] && play.no.code == TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND);
	must(sh_play_void(&play) == CM_OK);
}

static void get(const struct model *m, size_t offset, uint32_t n)
{
	static uint8_t out[PR_PAYLOAD_PART];
	const struct sh_part part = { offset, n };
	size_t got = 0, size = m->open ? length[m->open - 1] : 0;
	enum cm_rc rc = sh_core_get_payload(
		play.core, play.d.round_id, PR_ROUND_ID_LEN, &part, out, &got, &play.no, &play.err);

	if (!m->open || offset >= size || n == 0 || n > PR_PAYLOAD_PART) {
		must(rc == CM_EPROTO);
		return;
	}
	must(rc == CM_OK && got == (n < size - offset ? n : size - offset));
	must(memcmp(out, bytes[m->open - 1] + offset, got) == 0);
}

/* Nobody took part: the round is void. */
static void end(struct model *m)
{
	unsigned i = m->open - 1;

	if (!m->open)
		return;
	sh_play_deadline(&play);
	m->open = 0;
	drop(m, i);
}

static void restart(struct model *m)
{
	sh_play_stop(&play);
	sh_play_start(&play);
	for (unsigned i = 0; i < PAYLOADS; i++)
		if (m->open != i + 1 && (m->whole[i] || m->held[i] == 0))
			drop(m, i);
}

static enum cm_rc count(void *user, const struct sh_payload *p, struct cm_err *err)
{
	(void)p, (void)err;
	++*(size_t *)user;
	return CM_OK;
}

static void act(struct model *m, const uint8_t *op)
{
	unsigned i = op[0] % PAYLOADS;
	size_t n = (size_t)op[1] << (op[2] % 9), stored = 0;

	switch (op[0] / PAYLOADS % 8) {
	case 0:
	case 1:
		put(m, i, m->held[i], n < length[i] - m->held[i] ? n : length[i] - m->held[i], op[2] >= 240);
		break;
	case 2:
		put(m, i, m->held[i], length[i] - m->held[i], false);
		break;
	case 3:
		put(m, i, n, op[2], false);
		break;
	case 4:
		announce(m, i);
		break;
	case 5:
		get(m, n, op[2]);
		break;
	case 6:
		restart(m);
		break;
	default:
		end(m);
	}
	must(play.store.payload_each(play.store.ctx, count, &stored, &play.err) == CM_OK);
	must(stored <= 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t keys[2] = { 1, 2 };
	static bool made;
	const struct round_keys analyzer = { fuzz_signer(&keys[0]), fuzz_verifier(&keys[0]) },
				shuffler = { fuzz_signer(&keys[1]), fuzz_verifier(&keys[1]) };
	struct model m = { .open = 0 };
	struct sh_memory *memory = sh_memory_new();

	for (unsigned i = 0; !made && i < PAYLOADS; i++) {
		for (size_t k = 0; k < length[i]; k++)
			bytes[i][k] = (uint8_t)(k * 7 + k / 251 + i);
		cr_sha256(bytes[i], length[i], hash[i]);
	}
	made = true;
	sh_play_init_with(&play, &analyzer, &shuffler);
	play.kept = sh_memory_store(memory);
	sh_play_start(&play);
	for (size_t at = 0; at + 3 <= size && at < 3 * (size_t)STEPS; at += 3)
		act(&m, data + at);
	sh_play_fini(&play);
	sh_memory_free(memory);
	return 0;
}
