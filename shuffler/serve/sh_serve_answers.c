/* sh_serve_answers.c - receipts held back until the submissions they acknowledge are durable. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sh_serve_private.h"

void sh_answers_init(struct answers *a)
{
	*a = (struct answers){ .end = &a->first };
}

static void append(struct answers *a, struct answer *answer)
{
	*a->end = answer;
	a->end = &answer->next;
}

static void send_answer(const struct answer *a)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Receipt receipt = TOMBOLA__V1__RECEIPT__INIT;

	if (!a->peer->link)
		return;
	if (a->code != TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED) {
		lk_send_error(a->peer->link, a->code, a->text, a->retry_after_ms, a->round_id);
		return;
	}
	receipt.round_id = (ProtobufCBinaryData){ PR_ROUND_ID_LEN, (uint8_t *)a->round_id };
	receipt.outcomes = (ProtobufCBinaryData){ a->n, (uint8_t *)a->outcomes };
	receipt.signature = (ProtobufCBinaryData){ CR_SIGN_LEN, (uint8_t *)a->signature };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_RECEIPT;
	frame.receipt = &receipt;
	sh_serve_send(a->peer, &frame);
}

/* Send at once if nothing has to be waited for; else queue. */
static void hold_or_send(struct answer *a, enum sh_wait wait)
{
	struct sh_serve *s = a->peer->serve;

	if (wait == SH_WAIT_NOT && a->peer->held == 0) {
		assert(a->bytes == 0); /* what is new waits for its commit */
		send_answer(a);
		free(a);
		return;
	}
	/* Behind what this peer waits for already, which may be in the later list. */
	const struct sh_round *r = sh_core_collecting(s->conf.core);
	if (wait == SH_WAIT_NOT)
		wait = r ? sh_intake_waits(&r->intake) : SH_WAIT_FLYING;
	a->peer->held++;
	sh_serve_flow(a->peer);
	append(wait == SH_WAIT_GATHERING ? &s->gathering : &s->flying, a);
}

static struct answer *answer_new(struct peer *p, size_t outcomes)
{
	struct answer *a = calloc(1, sizeof *a + outcomes);
	struct cm_err err = { 0 };

	if (!a) {
		(void)cm_fail(&err, CM_EINTERNAL, "out of memory");
		sh_serve_fatal(&err);
	}
	/* cppcheck does not see that sh_serve_fatal never returns. */
	// cppcheck-suppress nullPointerRedundantCheck
	a->peer = p;
	// cppcheck-suppress nullPointerRedundantCheck
	a->n = outcomes;
	return a;
}

void sh_serve_receipt(struct peer *p, const struct sh_receipt *receipt, size_t bytes)
{
	struct answer *a = answer_new(p, receipt->n);

	memcpy(a->round_id, receipt->round_id, PR_ROUND_ID_LEN);
	memcpy(a->signature, receipt->signature, CR_SIGN_LEN);
	memcpy(a->outcomes, receipt->outcomes, receipt->n);
	a->bytes = bytes;
	if (p->holder)
		sh_quota_hold(p->holder, bytes);
	hold_or_send(a, receipt->wait);
}

void sh_serve_refuse(struct peer *p, const struct sh_refusal *no, const uint8_t *round_id)
{
	struct answer *a = answer_new(p, 0);

	a->code = no->code;
	a->retry_after_ms = no->retry_after_ms;
	memcpy(a->text, no->text, sizeof a->text);
	if (round_id)
		memcpy(a->round_id, round_id, PR_ROUND_ID_LEN);
	hold_or_send(a, SH_WAIT_NOT);
}

void sh_serve_answers_fly(struct sh_serve *s)
{
	assert(!s->flying.first);
	s->flying = s->gathering;
	if (!s->flying.first)
		sh_answers_init(&s->flying);
	sh_answers_init(&s->gathering);
}

void sh_serve_release_answers(struct sh_serve *s)
{
	struct answer *next;

	for (struct answer *a = s->flying.first; a; a = next) {
		next = a->next;
		send_answer(a);
		assert(a->peer->held > 0);
		a->peer->held--;
		if (a->peer->holder)
			sh_quota_free_bytes(a->peer->holder, a->bytes);
		sh_serve_flow(a->peer);
		sh_serve_drop_peer(a->peer);
		free(a);
	}
	sh_answers_init(&s->flying);
}

void sh_serve_drop_peer(struct peer *p)
{
	if (p->link || p->held > 0)
		return;
	for (struct peer **at = &p->serve->peers; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	sh_serve_leave(p);
	free(p);
}
