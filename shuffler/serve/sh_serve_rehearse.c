/* sh_serve_rehearse.c - rehearsals on the network.
 *
 * The analyzer's question waits like a long poll.  Clients get the draft in place of the round that they wait
 * for, and answer on the same connection.  So many drafts are on their way at a time as the room for unread
 * parts of payloads holds: what is sent and not read stays in memory. */
#include "sh_serve_rehearse.h"

#include <stdlib.h>

void sh_serve_on_rehearse(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Rehearse *question = frame->rehearse;
	struct sh_serve *s = p->serve;
	int64_t mono_ms = cm_clock_mono_ms();
	uint32_t wait_ms = question->wait_ms < PR_WAIT_MAX_MS ? question->wait_ms : PR_WAIT_MAX_MS;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_serve_check_waits(p, &no);
	if (rc == CM_OK)
		rc = sh_rehearse_begin(
			sh_core_rehearse(s->conf.core), question, now_of(s), mono_ms, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	p->poll = POLL_REHEARSAL;
	p->poll_until_ms = mono_ms + wait_ms;
	lk_expect_silence(p->base.link, true);
}

/* ---- Asking a client ---- */

static bool has_room(const struct sh_serve *s, size_t len)
{
	return s->drafting == 0 || (s->drafting + 1) * len <= s->conf.parts_bytes;
}

bool sh_serve_offer_draft(struct peer *p)
{
	struct sh_serve *s = p->serve;
	struct sh_rehearse *r = sh_core_rehearse(s->conf.core);
	Tombola__V1__Rehearse question = TOMBOLA__V1__REHEARSE__INIT;
	struct cm_err err = { 0 };

	if (r->number == 0 || p->rehearsal == r->number || lk_pending(p->base.link) > 0 ||
		!has_room(s, r->draft.len))
		return false;
	p->rehearsal = r->number;
	enum cm_rc rc = sh_rehearse_ask(r, &p->base.who, &err);
	if (rc == CM_ELATER)
		return false;
	if (rc != CM_OK)
		sh_gate_fatal(&err);
	question.draft = BYTES(r->draft.data, r->draft.len);
	question.signature = BYTES(r->signature, CR_SIGN_LEN);
	question.asked_ms = r->asked_ms;
	sh_gate_send(&p->base, PR_FRAME(REHEARSE, rehearse, &question));
	p->drafting = p->base.link && lk_pending(p->base.link) > 0;
	s->drafting += p->drafting;
	return true;
}

void sh_serve_draft_read(struct peer *p)
{
	p->serve->drafting -= p->drafting;
	p->drafting = false;
}

void sh_serve_on_rehearsal_answer(struct peer *p, const Tombola__V1__Frame *frame)
{
	struct sh_rehearse *r = sh_core_rehearse(p->serve->conf.core);

	/* It may come too late, which is no fault; who sends it unasked is slowed down. */
	if (!sh_rehearse_answer(r, &p->base.who, frame->rehearsal_answer))
		sh_gate_charge(&p->base, SH_QUOTA_BARREN - 1); /* beside the frame itself */
}

/* ---- The result ---- */

static bool all_asked(const struct sh_serve *s, const struct sh_rehearse *r)
{
	for (const struct peer *p = first_peer(s); p; p = next_peer(p))
		if (p->base.link && p->base.who.role == CR_ROLE_CLIENT && p->rehearsal != r->number)
			return false;
	return true;
}

static void send_result(void *user, Tombola__V1__Rehearsed *result)
{
	struct peer *p = user;

	cm_log(CM_LOG_INFO, "rehearsal over; nothing is pinned", CM_I("answered", result->answered),
		CM_I("declined", result->declined), CM_I("silent", result->silent),
		CM_I("unasked", result->unasked));
	sh_gate_send(&p->base, PR_FRAME(REHEARSED, rehearsed, result));
}

static void tell(struct peer *p, struct sh_rehearse *r)
{
	struct sh_serve *s = p->serve;
	const uint8_t **connected = malloc((sh_gate_count(&s->gate) + 1) * sizeof *connected);
	struct cm_err err = { 0 };
	size_t n = 0;

	if (!connected) {
		(void)cm_fail(&err, CM_EINTERNAL, "out of memory");
		sh_gate_fatal(&err);
	}
	for (const struct peer *c = first_peer(s); c; c = next_peer(c))
		if (c->base.link && c->base.who.role == CR_ROLE_CLIENT)
			connected[n++] = c->base.who.key_hash;
	if (sh_rehearse_tell(r, connected, n, send_result, p, &err) != CM_OK)
		sh_gate_fatal(&err);
	free(connected);
}

void sh_serve_poll_rehearsal(struct peer *p, bool late)
{
	struct sh_rehearse *r = sh_core_rehearse(p->serve->conf.core);

	if (!late && !(sh_rehearse_is_done(r) && all_asked(p->serve, r)))
		return;
	p->poll = POLL_NONE;
	lk_expect_silence(p->base.link, false);
	tell(p, r);
	sh_rehearse_end(r, cm_clock_mono_ms());
}

void sh_serve_rehearsal_gone(struct peer *p)
{
	if (p->poll == POLL_REHEARSAL)
		sh_rehearse_end(sh_core_rehearse(p->serve->conf.core), cm_clock_mono_ms());
	sh_serve_draft_read(p);
}
