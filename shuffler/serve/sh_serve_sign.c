/* sh_serve_sign.c - for intakes, on a worker thread: stores the standings of a batch and signs its receipts,
 * and notes what they have stored.  A batch has up to PR_RECEIPTS_MAX, which take as long as no other link
 * should wait, and so may a disk. */
#include <stdlib.h>
#include <string.h>

#include "sh_core_spread.h"
#include "sh_serve_private.h"

#define WAITING_MAX 4u /* batches of one intake: one, and those of epochs that have ended meanwhile */

struct signing {
	uv_work_t work;
	struct sh_serve *serve;
	struct signing *next;
	uint32_t intake;        /* its number: the peer may go while its batch is signed */
	struct sh_signing what; /* its receipts and standings are in `bytes` */
	struct sh_promise promise;
	struct sh_mark *mark; /* in which `stored` devices are to be noted; NULL: receipts are signed */
	uint64_t stored;
	enum cm_rc rc;
	struct cm_err err;
	uint8_t *signatures;
	uint8_t bytes[];
};

static void answer(
	struct peer *p, uint64_t epoch, uint64_t room, bool granted, const uint8_t *signatures, size_t n)
{
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__IntakeSigned result = TOMBOLA__V1__INTAKE_SIGNED__INIT;

	result.epoch = epoch;
	result.room = room;
	result.granted = granted;
	result.signatures = (ProtobufCBinaryData){ n * CR_SIGN_LEN, (uint8_t *)signatures };
	out.kind_case = TOMBOLA__V1__FRAME__KIND_INTAKE_SIGNED;
	out.intake_signed = &result;
	sh_serve_send(p, &out);
}

/* On the worker thread. */
static void sign_run(uv_work_t *work)
{
	struct signing *g = work->data;

	g->rc = g->mark ? sh_core_mark(g->mark, g->stored, &g->err)
			: sh_core_sign(g->serve->conf.core, &g->promise, &g->what, g->signatures, &g->err);
}

static void begin_next(struct sh_serve *s);

static void sign_done(uv_work_t *work, int status)
{
	struct signing *g = work->data;
	struct sh_serve *s = g->serve;

	(void)status; /* never cancelled */
	if (g->rc != CM_OK)
		sh_serve_fatal(&g->err);
	s->signing = g->next;
	for (struct peer *p = s->peers; p; p = p->next)
		if (p->intake == g->intake && p->link) {
			p->signings--;
			answer(p, g->what.epoch, g->promise.room, true, g->signatures, g->what.n);
			break;
		}
	sh_mark_free(g->mark);
	free(g->signatures);
	free(g);
	begin_next(s);
	sh_serve_pump(s);
}

/* One at a time, in the order in which they came. */
static void begin_next(struct sh_serve *s)
{
	struct signing *g = s->signing;
	struct cm_err err = { 0 };

	int failed = g ? uv_queue_work(s->loop, &g->work, sign_run, sign_done) : 0;
	if (failed == 0)
		return;
	(void)cm_fail(&err, CM_EINTERNAL, "worker thread: %s", uv_strerror(failed));
	sh_serve_fatal(&err);
}

static struct signing *signing_new(struct peer *p, const struct sh_signing *what)
{
	size_t receipts = what->n * PR_RECEIPT_LEN, stands = what->stands * sizeof *what->stand;
	struct signing *g = calloc(1, sizeof *g + receipts + stands);
	struct cm_err err = { 0 };

	if (g) {
		g->work.data = g;
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
		sh_serve_fatal(&err);
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
	lk_close(p->link, &why);
	return true;
}

void sh_serve_sign(struct peer *p, const struct sh_signing *what)
{
	struct sh_serve *s = p->serve;
	struct sh_promise promise;

	bool granted = sh_core_promise(s->conf.core, p->intake, what, &promise);
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

void sh_serve_note(struct peer *p, uint64_t epoch, uint64_t devices)
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
