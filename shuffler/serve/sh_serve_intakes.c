/* sh_serve_intakes.c (sh_serve_private.h) - serves intakes at their head.
 *
 * It handles what each intake takes, what is signed for it, and links on behalf of clients.  Worker threads
 * store the standings of a batch and sign its receipts, and note what an intake has stored.  A batch has up
 * to PR_RECEIPTS_MAX receipts; no other link should wait as long as these take, nor for a disk. */
#include <stdlib.h>
#include <string.h>

#include "sh_core_spread.h"
#include "sh_serve_private.h"

#define LOST_MS 10000 /* an intake that sends nothing for this long counts as lost */
/* most batches of one intake: the present one, and those of epochs that have ended meanwhile */
#define WAITING_MAX 4u

static void fatal_unless_ok(enum cm_rc rc, const struct cm_err *err)
{
	if (rc != CM_OK)
		sh_gate_fatal(err);
}

static size_t count(const struct sh_serve *s)
{
	size_t n = 0;

	for (const struct peer *p = first_peer(s); p; p = next_peer(p))
		n += p->base.link && p->intake > 0;
	return n;
}

static void send_one(struct peer *p, Tombola__V1__IntakeShare *share)
{
	sh_gate_send(&p->base, PR_FRAME(INTAKE_SHARE, intake_share, share));
}

/* Tell the intake what to take now: a share of the open round, or nothing. */
static void send_share(struct peer *p)
{
	Tombola__V1__IntakeShare share = TOMBOLA__V1__INTAKE_SHARE__INIT;
	struct sh_vault_keys keys;
	uint8_t both[2 * CR_KEY_LEN];
	struct sh_loan loan;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_lend(p->serve->conf.core, &loan, &keys, &err);
	if (rc == CM_EMORE) {
		send_one(p, &share);
		return;
	}
	fatal_unless_ok(rc, &err);
	memcpy(both, keys.box.bytes, CR_KEY_LEN);
	memcpy(both + CR_KEY_LEN, keys.tag.bytes, CR_KEY_LEN);
	share.epoch = loan.epoch;
	share.descriptor = (ProtobufCBinaryData){ loan.descriptor.len, (uint8_t *)loan.descriptor.data };
	share.keys = (ProtobufCBinaryData){ sizeof both, both };
	share.room = loan.room;
	share.most_of_one = loan.most_of_one;
	send_one(p, &share);
	cr_wipe(both, sizeof both);
	sh_vault_keys_fini(&keys);
}

void sh_serve_shares(struct sh_serve *s)
{
	for (struct peer *p = first_peer(s), *next; p; p = next) {
		next = next_peer(p);
		if (p->base.link && p->intake > 0)
			send_share(p);
	}
}

/* ---- Signing ---- */

struct signing {
	struct sh_work work;
	struct sh_serve *serve;
	struct signing *next;
	uint32_t intake;        /* number of the intake, since the peer may go while its batch is signed */
	struct sh_signing what; /* its receipts and standings are in `bytes` */
	struct sh_promise promise;
	/* the mark in which `stored` devices must be noted; NULL: receipts are signed */
	struct sh_mark *mark;
	uint64_t stored;
	enum cm_rc rc;
	struct cm_err err;
	uint8_t *signatures;
	uint8_t bytes[];
};

static void answer(
	struct peer *p, uint64_t epoch, uint64_t room, bool granted, const uint8_t *signatures, size_t n)
{
	Tombola__V1__IntakeSigned result = TOMBOLA__V1__INTAKE_SIGNED__INIT;

	result.epoch = epoch;
	result.room = room;
	result.granted = granted;
	result.signatures = (ProtobufCBinaryData){ n * CR_SIGN_LEN, (uint8_t *)signatures };
	sh_gate_send(&p->base, PR_FRAME(INTAKE_SIGNED, intake_signed, &result));
}

/* Runs on the worker thread. */
static void sign_run(void *of)
{
	struct signing *g = of;

	g->rc = g->mark ? sh_core_mark(g->mark, g->stored, &g->err)
			: sh_core_sign(g->serve->conf.core, &g->promise, &g->what, g->signatures, &g->err);
}

static void sign_done(void *of);

/* One at a time, in the order in which they came. */
static void begin_next(struct sh_serve *s)
{
	if (s->signing)
		sh_gate_work(&s->gate, &s->signing->work, sign_run, sign_done, s->signing);
}

static void sign_done(void *of)
{
	struct signing *g = of;
	struct sh_serve *s = g->serve;

	if (g->rc != CM_OK)
		sh_gate_fatal(&g->err);
	s->signing = g->next;
	for (struct peer *p = first_peer(s); p; p = next_peer(p))
		if (p->intake == g->intake && p->base.link) {
			p->signings--;
			answer(p, g->what.epoch, g->promise.room, true, g->signatures, g->what.n);
			break;
		}
	sh_mark_free(g->mark);
	free(g->signatures);
	free(g);
	begin_next(s);
}

static struct signing *signing_new(struct peer *p, const struct sh_signing *what)
{
	size_t receipts = what->n * PR_RECEIPT_LEN, stands = what->stands * sizeof *what->stand;
	struct signing *g = calloc(1, sizeof *g + receipts + stands);
	struct cm_err err = { 0 };

	if (g) {
		g->serve = p->serve;
		g->intake = p->intake;
		g->what = *what;
		g->signatures = malloc(what->n * CR_SIGN_LEN + 1);
		if (receipts > 0)
			memcpy(g->bytes, what->receipts, receipts);
		if (stands > 0)
			memcpy(g->bytes + receipts, what->stand, stands);
		g->what.receipts = g->bytes;
		g->what.stand = (const void *)(g->bytes + receipts);
	}
	if (!g || !g->signatures) {
		(void)cm_fail(&err, CM_EINTERNAL, "out of memory");
		sh_gate_fatal(&err);
	}
	return g;
}

static void add(struct peer *p, struct signing *g)
{
	struct sh_serve *s = p->serve;
	struct signing **end = &s->signing;

	p->signings++;
	while (*end)
		end = &(*end)->next;
	*end = g;
	if (s->signing == g)
		begin_next(s);
}

/* Close the link of an intake that has too many requests here. */
static bool is_impatient(struct peer *p)
{
	struct cm_err why;

	if (p->signings < WAITING_MAX)
		return false;
	(void)cm_fail(&why, CM_EPROTO, "an intake that asks for more before it is answered");
	lk_close(p->base.link, &why);
	return true;
}

/* The certificate's name for the log, if the client is connected through an intake now. */
static const char *name_of(const struct sh_serve *s, const uint8_t key_hash[PR_HASH_LEN])
{
	for (const struct peer *p = first_peer(s); p; p = next_peer(p))
		if (p->named && memcmp(p->base.who.key_hash, key_hash, PR_HASH_LEN) == 0)
			return p->base.who.name;
	return "";
}

static void count_left_out(struct peer *p, uint64_t epoch, const ProtobufCBinaryData *left_out)
{
	for (size_t at = 0; at < left_out->len; at += PR_LEFT_OUT_LEN) {
		const uint8_t *one = left_out->data + at;
		struct cr_identity who = { .devices = cm_get_le32(one + PR_HASH_LEN) };

		if (who.devices > CR_PKI_MAX_DEVICES)
			continue;
		memcpy(who.key_hash, one, PR_HASH_LEN);
		cm_text_copy(who.name, sizeof who.name, name_of(p->serve, one));
		sh_core_left_out(p->serve->conf.core, p->intake, epoch, &who,
			cm_get_le32(one + PR_HASH_LEN + 4), cm_get_le32(one + PR_HASH_LEN + 8));
	}
}

static void sign(struct peer *p, const struct sh_signing *what, const ProtobufCBinaryData *left_out)
{
	struct sh_serve *s = p->serve;
	struct sh_promise promise;

	bool granted = sh_core_promise(s->conf.core, p->intake, what, &promise);
	if (granted)
		count_left_out(p, what->epoch, left_out);
	if (!granted || what->n == 0) {
		answer(p, what->epoch, promise.room, granted, NULL, 0);
		return;
	}
	if (is_impatient(p))
		return;
	struct signing *g = signing_new(p, what);
	g->promise = promise;
	add(p, g);
}

static void note(struct peer *p, uint64_t epoch, uint64_t devices)
{
	const struct sh_signing nothing = { .epoch = epoch };
	struct sh_mark *mark;
	uint64_t all;

	if (!sh_core_stored(p->serve->conf.core, epoch, devices, &mark, &all)) {
		answer(p, epoch, 0, false, NULL, 0);
		return;
	}
	if (is_impatient(p)) {
		sh_mark_free(mark);
		return;
	}
	struct signing *g = signing_new(p, &nothing);
	g->stored = all;
	g->mark = mark;
	add(p, g);
}

/* ---- Frames ---- */

/* A link's first frame decides which kind it is. */
static bool is_new(struct peer *p)
{
	struct cm_err why;

	if (!p->named && p->intake == 0)
		return true;
	(void)cm_fail(&why, CM_EPROTO, "an intake's link says twice what it is for");
	lk_close(p->base.link, &why);
	return false;
}

void sh_serve_on_behalf(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__OnBehalf *of = frame->on_behalf;
	struct cm_err why;

	if (!is_new(p))
		return;
	p->named = true;
	p->base.who = (struct cr_identity){ .role = CR_ROLE_CLIENT, .devices = of->devices };
	memcpy(p->base.who.key_hash, of->key_hash.data, sizeof p->base.who.key_hash);
	cm_text_copy(p->base.who.name, sizeof p->base.who.name, of->name);
	if (of->devices >= 1 && of->devices <= CR_PKI_MAX_DEVICES && sh_gate_join(&p->base))
		return;
	(void)cm_fail(&why, CM_EPROTO, "a certificate of %u devices, or no memory for it", of->devices);
	lk_close(p->base.link, &why);
}

/* Only an intake's own link may claim, or ask for signatures. */
static bool has_joined(struct peer *p)
{
	struct cm_err why;

	p->heard_ms = cm_clock_mono_ms();
	if (p->intake > 0)
		return true;
	(void)cm_fail(&why, CM_EPROTO, "an intake's link that has not said what it is for");
	lk_close(p->base.link, &why);
	return false;
}

void sh_serve_on_join(struct peer *p, const Tombola__V1__Frame *frame)
{
	struct sh_serve *s = p->serve;

	(void)frame;
	/* The intake says it again: its share failed, and it wants it once more. */
	if (p->intake > 0) {
		send_share(p);
		return;
	}
	if (!is_new(p))
		return;
	s->last_intake = s->last_intake < SH_INTAKES_MAX ? s->last_intake + 1 : 1;
	p->intake = s->last_intake;
	p->heard_ms = cm_clock_mono_ms();
	cm_log(CM_LOG_INFO, "intake connected", CM_S("intake", p->base.who.name),
		CM_S("peer", lk_address(p->base.link)), CM_I("intakes", (int64_t)count(s)));
	send_share(p);
	sh_core_intakes(s->conf.core, count(s));
}

void sh_serve_intake_gone(struct peer *p)
{
	struct sh_serve *s = p->serve;

	if (p->intake == 0)
		return;
	p->intake = 0;
	cm_log(CM_LOG_WARN, "intake gone", CM_S("intake", p->base.who.name),
		CM_I("intakes", (int64_t)count(s)));
	sh_core_intakes(s->conf.core, count(s));
}

/* We cannot know whether the certificate came to this intake: a client's TLS ends at the intake, which also
 * says for which client a link is (doc/intakes.md, "What each sees"). */
void sh_serve_on_claim(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__IntakeClaim *claim = frame->intake_claim;
	struct sh_core *core = p->serve->conf.core;
	Tombola__V1__IntakeClaimed claimed = TOMBOLA__V1__INTAKE_CLAIMED__INIT;
	enum sh_claim what;
	struct cm_err err = { 0 };

	if (!has_joined(p))
		return;
	if (claim->leaves) {
		sh_core_leave(core, p->intake, claim->epoch, claim->key_hash.data);
		return;
	}
	fatal_unless_ok(sh_core_claim(core, p->intake, claim->epoch, claim->key_hash.data, now_of(p->serve),
				&what, &err),
		&err);
	claimed.epoch = claim->epoch;
	claimed.key_hash = claim->key_hash;
	claimed.mine = what == SH_CLAIM_MINE;
	sh_gate_send(&p->base, PR_FRAME(INTAKE_CLAIMED, intake_claimed, &claimed));
}

void sh_serve_on_batch(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__IntakeBatch *batch = frame->intake_batch;
	const struct sh_signing signing = { .epoch = batch->epoch,
		.devices = batch->devices,
		.receipts = batch->receipts.data,
		.n = batch->receipts.len / PR_RECEIPT_LEN,
		.stand = (const void *)batch->standings.data,
		.stands = batch->standings.len / PR_STANDING_LEN };

	_Static_assert(sizeof(struct sh_stand) == PR_STANDING_LEN, "a standing is read in place");

	if (has_joined(p))
		sign(p, &signing, &batch->left_out);
}

void sh_serve_on_stored(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__IntakeStored *stored = frame->intake_stored;

	if (has_joined(p))
		note(p, stored->epoch, stored->devices);
}

/* ---- Silence ---- */

int64_t sh_serve_watch_intake(struct peer *p, int64_t mono_ms)
{
	struct cm_err why;

	if (p->intake == 0 || !p->base.link)
		return -1;
	int64_t left = p->heard_ms + LOST_MS - mono_ms;
	if (left > 0)
		return left;
	(void)cm_fail(&why, CM_EUNAVAIL, "the intake has said nothing for %d s", LOST_MS / 1000);
	sh_serve_intake_gone(p);
	lk_abort(p->base.link, &why);
	return -1;
}
