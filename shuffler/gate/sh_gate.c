/* sh_gate.c - the peers of a shuffler or an intake: their links and quotas, answers that wait, and work on
 * worker threads. */
#include "sh_gate.h"

#include <assert.h>
#include <stdlib.h>

#include "cm_clock.h"
#include "cm_log.h"

/* most answers to one client that wait for a commit: repetitions take no other memory */
#define HELD_MAX      64u
#define AWAY_RETRY_MS 1000u

_Noreturn void sh_gate_fatal(const struct cm_err *err)
{
	cm_log(CM_LOG_ERROR, "stopping: nothing more can be acknowledged", CM_S("reason", err->msg));
	/* Not exit(): a worker thread may be inside the store. */
	_Exit(cm_exit_code(err->code));
}

/* ---- The pump ---- */

/* A session that has ended has lost its locks: another process may have the state now. */
static void watch_databases(struct sh_gate *g, int64_t mono_ms)
{
	struct cm_err err = { 0 };
	uint32_t number;

	if (mono_ms - g->looked_ms < SH_GATE_TICK_MS / 2)
		return;
	g->looked_ms = mono_ms;
	if (!sh_databases_lost(g->server.database, g->server.of, &number))
		return;
	sh_databases_say(number, &err);
	sh_gate_fatal(&err);
}

static void on_timer(uv_timer_t *timer)
{
	sh_gate_pump(timer->data);
}

/* wait: when the server wants to be called; peers that are paused for their quota may need it earlier. */
static void set_timer(struct sh_gate *g, int64_t wait, int64_t mono_ms)
{
	for (const struct sh_peer *p = g->peers; p; p = p->next) {
		int64_t over = p->over && p->link ? sh_quota_wait_ms(g->quota, p->holder, mono_ms) : -1;
		if (over >= 0 && (wait < 0 || over < wait))
			wait = over;
	}
	/* uv_timer_start fails only for a closing handle or without a callback */
	if (wait < 0)
		(void)uv_timer_stop(&g->timer);
	else
		(void)uv_timer_start(
			&g->timer, on_timer, (uint64_t)(wait < SH_GATE_TICK_MS ? wait : SH_GATE_TICK_MS), 0);
}

void sh_gate_pump(struct sh_gate *g)
{
	/* Sending may close a link, whose callback pumps: the outer pump notices. */
	if (g->pumping || g->stopped)
		return;
	g->pumping = true;
	int64_t mono_ms = cm_clock_mono_ms();
	watch_databases(g, mono_ms);
	int64_t wait = g->server.step(g->server.of, mono_ms);
	if (!g->stopped)
		set_timer(g, wait, mono_ms);
	g->pumping = false;
}

/* ---- Lifetime ---- */

static void answers_init(struct sh_answers *a)
{
	*a = (struct sh_answers){ .end = &a->first };
}

enum cm_rc sh_gate_open(struct sh_gate *g, uv_loop_t *loop, const struct sh_gate_conf *conf,
	const struct sh_gate_server *server, struct cm_err *err)
{
	struct lk_server_conf links = { .address = conf->listen,
		.passed = conf->passed,
		.tls = conf->tls,
		.limits = conf->limits,
		.max_clients = conf->max_clients,
		.of_one = conf->links_of_one,
		.handler = server->links,
		.user = &g->unknown };

	links.handler.counts = lk_metrics_counts(server->metrics);
	*g = (struct sh_gate){ .server = *server, .loop = loop, .quota = sh_quota_new(&conf->quota) };
	g->unknown.gate = g;
	answers_init(&g->gathering);
	answers_init(&g->flying);
	enum cm_rc rc = g->quota ? lk_server_new(loop, &links, &g->links, err)
				 : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK && uv_timer_init(loop, &g->timer) != 0) {
		lk_server_close(g->links, false);
		rc = cm_fail(err, CM_EINTERNAL, "cannot make a timer");
	}
	if (rc != CM_OK)
		sh_gate_fini(g);
	g->timer.data = g;
	return rc;
}

int sh_gate_port(const struct sh_gate *g)
{
	return lk_server_port(g->links);
}

void sh_gate_reload(struct sh_gate *g, struct nt_tls_ctx *tls)
{
	if (g->links)
		lk_server_reload(g->links, tls);
}

void sh_gate_stop(struct sh_gate *g, void (*on_stopped)(void *user), void *user)
{
	if (g->stopping)
		return;
	g->stopping = true;
	g->on_stopped = on_stopped;
	g->stopped_user = user;
	sh_gate_pump(g);
}

void sh_gate_finish(struct sh_gate *g)
{
	g->stopped = true;
	lk_server_close(g->links, true);
	g->links = NULL;
	uv_close((uv_handle_t *)&g->timer, NULL);
	g->on_stopped(g->stopped_user);
}

void sh_gate_fini(struct sh_gate *g)
{
	assert(!g->peers);
	sh_quota_free(g->quota);
	g->quota = NULL;
}

const char *sh_gate_not_ready(const struct sh_gate *g)
{
	uint32_t number;

	if (g->stopping)
		return "going down";
	const char *expired = lk_metrics_expired(g->server.metrics);
	if (expired)
		return expired;
	return sh_databases_lost(g->server.database, g->server.of, &number)
		       ? "the session with the database has ended"
		       : NULL;
}

/* ---- Peers ---- */

size_t sh_gate_count(const struct sh_gate *g)
{
	size_t n = 0;

	for (const struct sh_peer *p = g->peers; p; p = p->next)
		n += p->link != NULL;
	return n;
}

bool sh_gate_join(struct sh_peer *p)
{
	int64_t now = cm_clock_mono_ms();

	if (p->who.role != CR_ROLE_CLIENT)
		return true;
	p->holder = sh_quota_join(p->gate->quota, p->who.key_hash, now);
	/* a connection costs a handshake, so it is charged */
	if (p->holder)
		sh_quota_take(p->gate->quota, p->holder, SH_QUOTA_BARREN, now);
	return p->holder;
}

struct sh_peer *sh_gate_admit(struct sh_gate *g, struct lk_link *l, size_t size)
{
	struct sh_peer *p = calloc(1, size);
	struct cm_err why;

	if (p)
		*p = (struct sh_peer){ .gate = g, .link = l, .who = *lk_peer(l), .next = g->peers };
	if (!p || !sh_gate_join(p)) {
		free(p);
		(void)cm_fail(&why, CM_EINTERNAL, "out of memory");
		lk_close(l, &why);
		return NULL;
	}
	g->peers = p;
	lk_set_user(l, p);
	cm_log(CM_LOG_DEBUG, "peer connected", CM_S("role", cr_role_name(p->who.role)),
		CM_S("peer", lk_address(l)));
	return p;
}

bool sh_gate_left(struct lk_link *l, struct sh_peer *p, const struct cm_err *why)
{
	bool served = p != &p->gate->unknown;

	/* A peer that was served may be cut off, too, if its certificate or its CA was taken back. */
	cm_log(why->code == CM_OK || (served && why->code != CM_EPERM) ? CM_LOG_DEBUG : CM_LOG_WARN,
		served ? "peer disconnected" : "connection refused", CM_S("peer", lk_address(l)),
		CM_S("reason", why->code == CM_OK ? "orderly end" : why->msg));
	if (served)
		p->link = NULL;
	return served;
}

void sh_gate_drop(struct sh_peer *p)
{
	if (p->link || p->kept || p->held > 0)
		return;
	for (struct sh_peer **at = &p->gate->peers; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	if (p->holder)
		sh_quota_leave(p->gate->quota, p->holder, cm_clock_mono_ms());
	free(p);
}

void sh_gate_charge(struct sh_peer *p, uint32_t frames)
{
	if (p->holder)
		sh_quota_take(p->gate->quota, p->holder, frames, cm_clock_mono_ms());
}

void sh_gate_junk(struct sh_peer *p, const struct sh_refusal *no)
{
	struct cm_err why;

	if (no->code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY || !p->link || !sh_quota_is_junk(++p->junk))
		return;
	p->gate->junks++;
	(void)cm_fail(&why, CM_EPROTO, "%u submissions in a row were refused", p->junk);
	lk_close(p->link, &why);
}

void sh_gate_flow(struct sh_peer *p)
{
	struct sh_gate *g = p->gate;

	if (!p->link || !p->holder || p->refused)
		return;
	bool over = sh_quota_wait_ms(g->quota, p->holder, cm_clock_mono_ms()) != 0;
	bool stop = g->paused || p->blocked || p->held >= HELD_MAX || over;

	g->pauses += over && !p->over;
	p->over = over;
	if (p->paused == stop)
		return;
	p->paused = stop;
	if (stop)
		lk_pause(p->link);
	else
		lk_resume(p->link);
}

void sh_gate_send(struct sh_peer *p, const Tombola__V1__Frame *frame)
{
	struct cm_err err = { 0 };

	/* a link that cannot queue it is closing, and reports that itself */
	if (p->link && lk_send(p->link, frame, &err) != CM_OK)
		cm_log(CM_LOG_DEBUG, "not sent", CM_S("reason", err.msg));
}

void sh_gate_turn_away(struct sh_peer *p, const char *why)
{
	struct cm_err err;

	if (!p->link || p->refused)
		return;
	p->refused = true;
	lk_send_error(p->link, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, why, AWAY_RETRY_MS, NULL);
	(void)cm_fail(&err, CM_ELATER, "%s", why);
	if (p->link)
		lk_close(p->link, &err);
}

/* ---- Answers to Submits ---- */

struct sh_answer *sh_answer_new(struct sh_peer *p, size_t outcomes)
{
	struct sh_answer *a = calloc(1, sizeof *a + outcomes);
	struct cm_err err = { 0 };

	if (!a) {
		(void)cm_fail(&err, CM_EINTERNAL, "out of memory");
		sh_gate_fatal(&err);
	}
	/* cppcheck does not see that sh_gate_fatal never returns. */
	// cppcheck-suppress nullPointerRedundantCheck
	a->peer = p;
	// cppcheck-suppress nullPointerRedundantCheck
	a->n = outcomes;
	return a;
}

static bool is_receipt(const struct sh_answer *a)
{
	return a->no.code == TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED;
}

static void send_answer(const struct sh_answer *a)
{
	Tombola__V1__Receipt receipt = TOMBOLA__V1__RECEIPT__INIT;

	if (!a->peer->link || a->peer->refused)
		return;
	if (!is_receipt(a)) {
		lk_send_error(a->peer->link, a->no.code, a->no.text, a->no.retry_after_ms, a->round_id);
		return;
	}
	receipt.round_id = (ProtobufCBinaryData){ PR_ROUND_ID_LEN, (uint8_t *)a->round_id };
	receipt.outcomes = (ProtobufCBinaryData){ a->n, (uint8_t *)a->outcomes };
	receipt.signature = (ProtobufCBinaryData){ CR_SIGN_LEN, (uint8_t *)a->signature };
	sh_gate_send(a->peer, PR_FRAME(RECEIPT, receipt, &receipt));
}

void sh_answer_send(struct sh_answer *a)
{
	assert(a->bytes == 0); /* a new report waits for its commit */
	send_answer(a);
	free(a);
}

void sh_answer_hold(struct sh_answer *a, struct sh_answers *list)
{
	a->peer->held++;
	if (a->peer->holder)
		sh_quota_hold(a->peer->holder, a->bytes);
	sh_gate_flow(a->peer);
	*list->end = a;
	list->end = &a->next;
	list->receipts += is_receipt(a);
}

void sh_gate_fly(struct sh_gate *g)
{
	assert(!g->flying.first);
	g->flying = g->gathering;
	if (!g->flying.first)
		answers_init(&g->flying);
	answers_init(&g->gathering);
}

/* Send these answers; or with `why` tell their clients to come again. */
static void end_answers(struct sh_answers *list, const char *why)
{
	struct sh_answer *next;

	/* Sending may close a link, whose callback pumps, and then another commit may begin. */
	struct sh_answer *first = list->first;
	answers_init(list);
	for (struct sh_answer *a = first; a; a = next) {
		struct sh_peer *p = a->peer;
		next = a->next;
		if (why)
			sh_gate_turn_away(p, why);
		else
			send_answer(a);
		assert(p->held > 0);
		p->held--;
		if (p->holder)
			sh_quota_free_bytes(p->holder, a->bytes);
		sh_gate_flow(p);
		sh_gate_drop(p);
		free(a);
	}
}

void sh_gate_land(struct sh_gate *g)
{
	end_answers(&g->flying, NULL);
}

void sh_gate_give_up(struct sh_gate *g, const char *why)
{
	end_answers(&g->flying, why);
	end_answers(&g->gathering, why);
}

/* ---- Work ---- */

static void work_run(uv_work_t *request)
{
	struct sh_work *w = request->data;

	w->run(w->of);
}

static void work_done(uv_work_t *request, int status)
{
	struct sh_work *w = request->data;
	struct sh_gate *g = w->gate;

	(void)status; /* work is never cancelled */
	w->under_way = false;
	/* Nothing new begins before all of it is reported, whichever link closes meanwhile. */
	g->pumping = true;
	w->done(w->of);
	g->pumping = false;
	sh_gate_pump(g);
}

void sh_gate_work(
	struct sh_gate *g, struct sh_work *w, void (*run)(void *of), void (*done)(void *of), void *of)
{
	struct cm_err err = { 0 };

	*w = (struct sh_work){ .gate = g, .run = run, .done = done, .of = of, .under_way = true };
	w->request.data = w;
	int failed = uv_queue_work(g->loop, &w->request, work_run, work_done);
	if (failed == 0)
		return;
	(void)cm_fail(&err, CM_EINTERNAL, "worker thread: %s", uv_strerror(failed));
	sh_gate_fatal(&err);
}
