/* lk_server.c - a listener whose connections are links. */
#include <stdlib.h>
#include <string.h>

#include "cm_log.h"
#include "lk_link_private.h"

#define TOLD_MAX     10u /* refusals told one by one in a window; strangers must not fill the log */
#define TOLD_WINDOW  1000u
#define TOLD_LONGEST 600000u /* of a flood that goes on */

struct lk_server {
	uv_loop_t *loop;
	struct cm_listener *listener;
	struct lk_server_conf conf;
	struct lk_link *first;
	uint64_t window_ms; /* when the window of `told` began, by the loop's clock */
	uint64_t window_len;
	unsigned told;
	uint64_t untold;
};

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
		/* The next window is longer as long as there is something to keep quiet. */
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
	/* Floods are told without the address, so that the log can fold them into one line. */
	if (why->code == CM_ELATER)
		cm_log(CM_LOG_WARN, "connection refused", CM_S("reason", why->msg));
	else
		cm_log(CM_LOG_WARN, "connection refused", CM_S("reason", why->msg), CM_S("from", address));
}

static void on_refused(void *user, const char *address, const struct cm_err *why)
{
	log_refused(user, address, why);
}

static void on_open(struct cm_conn *c, void *user)
{
	struct lk_server *s = user;
	struct lk_link *l = lk_link_new(&s->conf.handler, s->conf.user);
	struct cm_err err;

	cm_conn_set_user(c, l); /* from now on the user of its callbacks, NULL included */
	if (l == NULL) {
		(void)cm_fail(&err, CM_EINTERNAL, "out of memory");
		cm_conn_close(c, &err);
		return;
	}
	l->conn = c;
	l->accepted = true;
	l->server = s;
	l->next = s->first;
	if (s->first != NULL)
		s->first->prev = l;
	s->first = l;
	lk_link_opened(l);
}

void lk_server_forget(struct lk_link *l, const struct cm_err *refused)
{
	if (l->server == NULL)
		return;
	if (refused != NULL && refused->code != CM_OK)
		log_refused(l->server, lk_address(l), refused);
	*(l->prev != NULL ? &l->prev->next : &l->server->first) = l->next;
	if (l->next != NULL)
		l->next->prev = l->prev;
	l->server = NULL;
}

enum cm_rc lk_server_new(
	uv_loop_t *loop, const struct lk_server_conf *conf, struct lk_server **out, struct cm_err *err)
{
	struct lk_server *s = calloc(1, sizeof *s);
	struct cm_listener_conf listen = {
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
	if (s == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->loop = loop;
	s->conf = *conf;
	s->conf.address = NULL;
	rc = cm_listener_new(loop, &listen, &s->listener, err);
	if (rc == CM_OK)
		*out = s;
	else
		free(s);
	return rc;
}

int lk_server_port(const struct lk_server *s)
{
	return cm_listener_port(s->listener);
}

void lk_server_reload(struct lk_server *s, struct cm_tls_ctx *tls)
{
	cm_listener_reload(s->listener, tls);
}

void lk_server_close(struct lk_server *s, bool links)
{
	if (s == NULL)
		return;
	for (struct lk_link *l = s->first; l != NULL; l = l->next) {
		l->server = NULL;
		if (links)
			lk_close(l, NULL);
	}
	tell_untold(s);
	cm_listener_close(s->listener);
	free(s);
}
