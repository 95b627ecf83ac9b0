/* lk_server.c - a listener whose connections are links; declared in lk_link.h. */
#include <stdlib.h>

#include "cm_log.h"
#include "lk_link_private.h"

/* most refusals that are logged one by one in a window, so that strangers cannot fill the log */
#define TOLD_MAX    10u
#define TOLD_WINDOW 1000u
/* the window doubles up to this length while a flood goes on; milliseconds, as TOLD_WINDOW */
#define TOLD_LONGEST 600000u
#define FRAME_IDLES  5     /* the longest time of a frame, as a multiple of the idle limit */
#define RETRY_MS     1000u /* after this time a client that was refused for lack of room may try again */

struct lk_server {
	uv_loop_t *loop;
	struct nt_listener *listener;
	struct lk_server_conf conf;
	struct lk_link *first;
	struct lk_admission *admission;
	uint64_t window_ms; /* when the present window began, by the loop's clock */
	uint64_t window_len;
	unsigned told;
	uint64_t untold;
};

static void server_free(struct lk_server *s)
{
	lk_admission_free(s->admission);
	free(s);
}

static void tell_untold(struct lk_server *s)
{
	if (s->untold > 0)
		cm_log(CM_LOG_WARN, "more connections refused", CM_I("count", s->untold));
	s->untold = 0;
}

static void log_refused(struct lk_server *s, const char *address, const struct cm_err *why)
{
	uint64_t now = uv_now(s->loop);

	lk_count_refused(s->conf.handler.counts, why);
	if (now - s->window_ms >= s->window_len) {
		/* If this window had refusals that were only counted, the next one is twice as long. */
		s->window_len = s->untold == 0                     ? TOLD_WINDOW
				: s->window_len > TOLD_LONGEST / 2 ? TOLD_LONGEST
								   : s->window_len * 2;
		tell_untold(s);
		s->window_ms = now;
		s->told = 0;
	}
	if (s->told == TOLD_MAX) {
		s->untold++;
		return;
	}
	s->told++;
	/* Floods are logged without the address, so that the log counts them as repetitions of one line. */
	if (why->code == CM_ELATER)
		cm_log(CM_LOG_WARN, "connection refused", CM_S("reason", why->msg));
	else
		cm_log(CM_LOG_WARN, "connection refused", CM_S("reason", why->msg), CM_S("from", address));
}

static void on_refused(void *user, const char *address, const struct cm_err *why)
{
	log_refused(user, address, why);
}

/* Answer that there are too many links, and close. */
static void turn_out(struct lk_link *l, const struct cm_err *why)
{
	lk_send_error(l, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, why->msg, RETRY_MS, NULL);
	lk_close(l, why);
}

/* Greet a new link or refuse it; another link may be closed to make room. */
static void let_in(struct lk_server *s, struct lk_link *l)
{
	struct lk_counts *counts = s->conf.handler.counts;
	struct lk_link *leaves = NULL;
	struct cm_err err, room;

	enum cm_rc rc = lk_admission_enter(s->admission, l, l->next, &leaves, &err);
	if (leaves) {
		(void)cm_fail(&room, CM_ELATER, "closed to make room for another connection");
		if (counts)
			counts->displaced++;
		turn_out(leaves, &room);
	}
	if (rc == CM_OK)
		lk_link_opened(l);
	else
		turn_out(l, &err);
}

static void forget(struct lk_link *l, const struct cm_err *refused)
{
	if (!l->server)
		return;
	lk_admission_leave(l->server->admission, l);
	if (refused && refused->code != CM_OK)
		log_refused(l->server, lk_address(l), refused);
	*(l->prev ? &l->prev->next : &l->server->first) = l->next;
	if (l->next)
		l->next->prev = l->prev;
	l->server = NULL;
}

static void on_open(struct nt_conn *c, void *user)
{
	struct lk_server *s = user;
	struct lk_link *l = lk_link_new(&s->conf.handler, s->conf.user);
	struct cm_err err;

	nt_conn_set_user(c, l); /* from now on the connection's callbacks get `l`, which may be NULL */
	if (!l) {
		(void)cm_fail(&err, CM_EINTERNAL, "out of memory");
		nt_conn_close(c, &err);
		return;
	}
	l->conn = c;
	l->accepted = true;
	l->frame_ms = (int64_t)FRAME_IDLES * s->conf.limits.idle_ms;
	l->server = s;
	l->forget = forget;
	l->next = s->first;
	if (s->first)
		s->first->prev = l;
	s->first = l;
	let_in(s, l);
}

enum cm_rc lk_server_new(
	uv_loop_t *loop, const struct lk_server_conf *conf, struct lk_server **out, struct cm_err *err)
{
	struct lk_server *s = calloc(1, sizeof *s);
	struct nt_listener_conf listen = {
		.address = conf->address,
		.passed = conf->passed,
		.tls = conf->tls,
		.limits = conf->limits,
		.handler = { on_open, lk_link_data, lk_link_drain, lk_link_closed },
		.user = s,
		.on_refused = on_refused,
	};
	enum cm_rc rc;

	*out = NULL;
	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->loop = loop;
	s->conf = *conf;
	s->conf.address = NULL;
	s->admission = lk_admission_new(conf->max_clients, conf->of_one);
	if (!s->admission) {
		free(s);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	rc = nt_listener_new(loop, &listen, &s->listener, err);
	if (rc == CM_OK)
		*out = s;
	else
		server_free(s);
	return rc;
}

int lk_server_port(const struct lk_server *s)
{
	return nt_listener_port(s->listener);
}

void lk_server_reload(struct lk_server *s, struct nt_tls_ctx *tls)
{
	nt_listener_reload(s->listener, tls);
}

void lk_server_close(struct lk_server *s, bool links)
{
	if (!s)
		return;
	for (struct lk_link *l = s->first; l; l = l->next) {
		lk_admission_leave(s->admission, l);
		l->server = NULL;
		if (links)
			lk_close(l, NULL);
	}
	tell_untold(s);
	nt_listener_close(s->listener);
	server_free(s);
}
