/* cd_play.h - a round (cd_round.h) with a store that survives power cuts, a thread pool, connections and a
 * shuffler's answers: it carries out the actions and asserts what must hold of each. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cd_round.h"
#include "round_keys.h"

#define DEVICES     7u
#define FRAME       2u /* devices of a frame */
#define CONNECTIONS 3u
#define MESSAGE_LEN 24u
#define OPENS       INT64_C(1700000000000) /* ms */
#define OPEN_MS     60000
#define DEADLINE    (OPENS + OPEN_MS)
#define STEPS_MAX   20000u /* of a play */

/* All that survives a power cut, and what this run has told. */
struct stored {
	bool saved;
	uint8_t outcome, sealed[MESSAGE_LEN], salt[RD_SALT_LEN];
};
struct play {
	struct rd_descriptor d;
	struct stored device[DEVICES];
	bool whole, erased, conflict;

	struct cd_round round;
	struct cd_round_conf conf;
	void *memory; /* of the upload */
	struct cr_rng rng;
	struct cr_rng_seeded *seeded;
	int64_t now, prepare_ms, spread_ms;
	size_t place[DEVICES]; /* the devices that this run seals */
	/* parts that are being sealed: their first device, and how many they have; the part that is sealed */
	struct part {
		size_t first, n;
	} part[DEVICES], ready;
	size_t parts;
	uint8_t fresh[DEVICES][MESSAGE_LEN]; /* what the devices are sealed to in this run */
	bool connected, up[CONNECTIONS];
	bool ending[CONNECTIONS]; /* it was dropped, and cd_round_down was not called yet */
	bool closed;              /* the shuffler said so in this run, or nothing may be sent */
	/* frames that are on a connection */
	struct {
		unsigned connection;
		size_t first, n;
	} sent[DEVICES];
	size_t sents;
	bool over;
	struct cm_err why; /* once it is over */
	uint8_t value;     /* what the devices report; no time may depend on it */
	uint64_t trace;    /* a hash of all that shows outside */
};

static struct round_keys shuffler; /* keys_make and keys_free are set-up and tear-down */

static inline int keys_make(void **state)
{
	(void)state;
	round_keys_make(&shuffler);
	return 0;
}

static inline int keys_free(void **state)
{
	(void)state;
	round_keys_free(&shuffler);
	return 0;
}

static inline void trace(struct play *p, uint64_t what)
{
	p->trace = (p->trace ^ what) * UINT64_C(1099511628211);
}

static inline uint64_t draw(struct play *p, uint64_t below)
{
	return cr_rng_below(&p->rng, below);
}

/* Start a run on what is stored. */
static inline void run(struct play *p, bool stopped)
{
	struct cd_upload_conf upload = { .shape = { 1, MESSAGE_LEN, 0 },
		.window = 1,
		.shuffler = shuffler.verifier,
		.devices = FRAME,
		.frames = CONNECTIONS };
	uint64_t saved = 0, answered = 0;
	size_t left = 0;

	for (size_t i = 0; i < DEVICES; i++) {
		saved += p->device[i].saved;
		answered += p->device[i].outcome != 0;
		if (!p->device[i].saved && !p->whole)
			p->place[left++] = i;
	}
	free(p->memory);
	memcpy(upload.round_id, p->d.round_id, PR_ROUND_ID_LEN);
	p->memory = malloc(cd_upload_len(&upload));
	assert_non_null(p->memory);
	p->conf = (struct cd_round_conf){ .d = &p->d,
		.upload = cd_upload_begin(&upload, p->memory),
		.frame_devices = FRAME,
		.connections = CONNECTIONS,
		.saved = saved,
		.answered = answered,
		.devices = left,
		.part = 2,
		.parts = 2,
		.drawn = !p->whole,
		.from_ms = p->now,
		.prepare_ms = p->prepare_ms,
		.spread_ms = p->spread_ms,
		.stopped = stopped,
		.bad_receipts = 3,
		.rng = p->rng };
	p->parts = p->sents = 0;
	p->connected = p->over = false;
	p->closed = stopped;
	memset(p->up, 0, sizeof p->up);
	memset(p->ending, 0, sizeof p->ending);
	cd_round_begin(&p->round, &p->conf, p->now);
	p->up[0] = true;
	cd_round_up(&p->round, 0);
}

static inline struct play *play_new(uint64_t seed, uint8_t value)
{
	struct play *p = calloc(1, sizeof *p);
	uint8_t bytes[CR_SEED_LEN] = { 0 };

	assert_non_null(p);
	memcpy(bytes, &seed, sizeof seed);
	p->seeded = cr_rng_seeded_new(bytes, &p->rng);
	assert_non_null(p->seeded);
	p->d.opens_ms = OPENS;
	p->d.deadline_ms = DEADLINE;
	p->d.sequence = 5;
	p->d.round_id[0] = 9;
	p->now = OPENS + 1000;
	p->prepare_ms = 500;
	p->spread_ms = 20000;
	p->value = value;
	p->trace = UINT64_C(14695981039346656037);
	return p;
}

static inline void play_free(struct play *p)
{
	cr_rng_seeded_free(p->seeded);
	free(p->memory);
	free(p);
}

/* ---- the actions ---- */

static inline void on_seal(struct play *p, const struct cd_action *a)
{
	assert_true(a->n > 0 && a->n <= p->conf.part && a->first + a->n <= p->conf.devices);
	p->part[p->parts++] = (struct part){ a->first, a->n };
	assert_true(p->parts <= p->conf.parts);
	for (size_t i = a->first; i < a->first + a->n; i++) {
		/* A value is randomized once: never after its bytes were saved. */
		assert_false(p->device[p->place[i]].saved);
		p->rng.fill(p->rng.ctx, p->fresh[p->place[i]], MESSAGE_LEN);
		p->fresh[p->place[i]][0] = p->value;
	}
}

static inline void on_save(struct play *p)
{
	assert_false(p->erased);
	for (size_t i = p->ready.first; i < p->ready.first + p->ready.n; i++) {
		struct stored *s = &p->device[p->place[i]];

		assert_false(s->saved);
		s->saved = true;
		memcpy(s->sealed, p->fresh[p->place[i]], MESSAGE_LEN);
		memset(s->salt, (int)p->place[i], sizeof s->salt);
	}
}

static inline void on_load(struct play *p, const struct cd_action *a)
{
	size_t n = 0;

	for (size_t i = 0; i < DEVICES && n < a->n; i++) {
		const struct stored *s = &p->device[i];

		if (!s->saved || s->outcome != 0 || (int64_t)i <= a->after)
			continue;
		a->room.slot[n] = (int64_t)i;
		memset(a->room.pseudonyms + n * PR_PSEUDONYM_LEN, (int)i, PR_PSEUDONYM_LEN);
		memcpy(a->room.salts + n * RD_SALT_LEN, s->salt, RD_SALT_LEN);
		memcpy(a->room.sealed + n * MESSAGE_LEN, s->sealed, MESSAGE_LEN);
		n++;
	}
	cd_round_loaded(&p->round, n);
}

static inline void on_send(struct play *p, const struct cd_action *a)
{
	const Tombola__V1__Submit *s = a->submit;
	size_t n = s->sealed.len / MESSAGE_LEN, first = s->pseudonyms.data[0];

	assert_true(p->whole && p->connected && !p->erased && !p->closed);
	/* Every device is saved, unless the deadline came before it was given out. */
	for (size_t i = 0; i < DEVICES; i++)
		assert_true(p->device[i].saved || p->now >= DEADLINE);
	assert_true(p->up[a->connection] && n > 0 && n <= FRAME);
	for (size_t i = 0; i < n; i++) {
		const struct stored *stored = &p->device[s->pseudonyms.data[i * PR_PSEUDONYM_LEN]];

		assert_true(stored->saved && stored->outcome == 0);
		assert_memory_equal(stored->sealed, s->sealed.data + i * MESSAGE_LEN, MESSAGE_LEN);
	}
	for (size_t i = 0; i < p->sents; i++)
		assert_true(p->sent[i].connection != a->connection);
	p->sent[p->sents].connection = a->connection;
	p->sent[p->sents].first = first;
	p->sent[p->sents++].n = n;
}

static inline void on_note(struct play *p, const struct cd_action *a)
{
	for (size_t i = 0; i < a->answer.n; i++) {
		assert_true(p->device[a->answer.slot[i]].saved);
		p->device[a->answer.slot[i]].outcome = a->answer.outcome[i];
	}
	for (size_t i = 0; i < a->answer.n; i++)
		assert_true(p->conflict || a->conflict ||
			    a->answer.outcome[i] != TOMBOLA__V1__OUTCOME__OUTCOME_CONFLICT);
	p->conflict = p->conflict || a->conflict;
	p->closed = p->closed || a->conflict;
}

/* Nothing is erased that may still count. */
static inline void on_erase(struct play *p)
{
	for (size_t i = 0; i < DEVICES; i++)
		assert_true(p->closed || p->device[i].outcome != 0 || !p->device[i].saved);
	p->erased = true;
}

static inline void lose(struct play *p, unsigned connection)
{
	for (size_t i = 0; i < p->sents;)
		if (p->sent[i].connection == connection)
			p->sent[i] = p->sent[--p->sents];
		else
			i++;
	p->up[connection] = p->ending[connection] = false;
	cd_round_down(&p->round, connection);
}

/* Carry out an action; cut: the power fails before it is durable (1) or before it is reported (2). */
static inline void carry_out(struct play *p, const struct cd_action *a, unsigned cut)
{
	bool durable = a->act == CD_ACT_SAVE || a->act == CD_ACT_WHOLE || a->act == CD_ACT_NOTE ||
		       a->act == CD_ACT_ERASE;

	if (durable && cut == 1) {
		run(p, false);
		return;
	}
	if (a->act == CD_ACT_SEAL)
		on_seal(p, a);
	else if (a->act == CD_ACT_SAVE)
		on_save(p);
	else if (a->act == CD_ACT_WHOLE)
		p->whole = true;
	else if (a->act == CD_ACT_CONNECT)
		p->connected = true;
	else if (a->act == CD_ACT_LOAD)
		on_load(p, a);
	else if (a->act == CD_ACT_SEND)
		on_send(p, a);
	else if (a->act == CD_ACT_NOTE)
		on_note(p, a);
	else if (a->act == CD_ACT_DROP)
		p->up[a->connection] = !(p->ending[a->connection] = true);
	else if (a->act == CD_ACT_ERASE)
		on_erase(p);
	if (durable && cut == 2)
		run(p, false);
	else if (durable)
		cd_round_done(&p->round, NULL);
}

/* Carry out all actions until the round waits; returns until when. */
static inline int64_t pull(struct play *p, bool cuts)
{
	struct cd_action a;

	for (;;) {
		cd_round_next(&p->round, p->now, &a);
		p->over = a.act == CD_ACT_OVER;
		if (p->over)
			p->why = *a.why;
		if (p->over || a.act == CD_ACT_WAIT)
			return a.until_ms;
		/* What shows outside: connections and frames, with their times and lengths. */
		if (a.act == CD_ACT_CONNECT || a.act == CD_ACT_SEND || a.act == CD_ACT_DROP) {
			trace(p, a.act);
			trace(p, (uint64_t)p->now);
			trace(p, a.connection);
			trace(p, a.act == CD_ACT_SEND ? a.submit->sealed.len : a.pause_ms);
		}
		carry_out(p, &a, cuts && draw(p, 12) == 0 ? 1 + (unsigned)draw(p, 2) : 0);
		/* A run after the erasure would find no active round. */
		if (p->erased && cuts)
			return INT64_MAX;
	}
}

/* ---- what comes in ---- */

/* Part k has been sealed, or could not be. */
static inline void sealed(struct play *p, size_t k, const struct cm_err *why)
{
	p->ready = p->part[k];
	p->part[k] = p->part[--p->parts];
	cd_round_sealed(&p->round, why);
}

/* A receipt for frame k of those on their way, with these outcomes; wrong: signed over other bytes. */
static inline void receipt(struct play *p, size_t k, uint8_t outcome, bool wrong)
{
	uint8_t outcomes[FRAME], signature[CR_SIGN_LEN], leaf[PR_HASH_LEN], root[PR_HASH_LEN],
		bytes[RD_RECEIPT_BYTES], name[PR_PSEUDONYM_LEN];
	const struct rd_receipt_shape shape = { 1, MESSAGE_LEN, 0 };
	Tombola__V1__Receipt r = TOMBOLA__V1__RECEIPT__INIT;
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	size_t n = p->sent[k].n, at = p->sent[k].first;
	unsigned connection = p->sent[k].connection;
	struct rd_receipt_device device;
	struct cm_err unused;
	struct rd_tree tree;

	rd_tree_init(&tree);
	memset(outcomes, outcome, sizeof outcomes);
	for (size_t i = 0; i < n; i++, at++) {
		while (!p->device[at].saved || p->device[at].outcome != 0)
			at++;
		memset(name, (int)at, sizeof name);
		rd_receipt_device(&shape, name, p->device[at].salt, p->device[at].sealed, &device);
		rd_receipt_leaf(&device, outcome, leaf);
		rd_tree_add(&tree, leaf);
	}
	rd_tree_root(&tree, root);
	rd_receipt_bytes(p->d.round_id, root, n, bytes);
	assert_int_equal(
		cr_sign(shuffler.signer, RD_PURPOSE_RECEIPT, bytes, sizeof bytes, signature, &unused), CM_OK);
	signature[0] ^= wrong;
	r.round_id = (ProtobufCBinaryData){ PR_ROUND_ID_LEN, p->d.round_id };
	r.outcomes = (ProtobufCBinaryData){ n, outcomes };
	r.signature = (ProtobufCBinaryData){ sizeof signature, signature };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_RECEIPT;
	frame.receipt = &r;
	if (!wrong)
		p->sent[k] = p->sent[--p->sents];
	cd_round_frame(&p->round, connection, &frame, p->now);
}

static inline void say(struct play *p, unsigned connection, Tombola__V1__ErrorCode code, uint32_t retry_ms)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Error e = TOMBOLA__V1__ERROR__INIT;

	e.code = code;
	e.retry_after_ms = retry_ms;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_ERROR;
	frame.error = &e;
	p->closed = p->closed || code == TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED ||
		    code == TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND;
	cd_round_frame(&p->round, connection, &frame, p->now);
}

static const struct cm_err fault = { .code = CM_EIO, .msg = "a fault" };
