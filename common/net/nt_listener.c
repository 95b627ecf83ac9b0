/* nt_listener.c - accepts connections, within limits and under the current certificates (nt_conn.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_fault.h"
#include "nt_conn_private.h"
#include "nt_crowd.h"

#define BACKLOG                                                                                     \
	4096 /* length of the queue: a client that does not fit tries again only after a second, so \
		strangers must not be able to fill it */
/* a handshake of this age may be replaced by a newcomer's; a good one takes milliseconds */
#define GRACE_MS 1000u
/* most connections that may be closing at a time: with more, the listener accepts none */
#define ENDING_MAX 256u
#define TURN_MAX   64u /* most connections accepted before established ones are served again */

struct nt_listener {
	uv_tcp_t tcp;
	uv_idle_t turn; /* runs in the next turn of the loop, when more connections may be accepted */
	uv_tcp_t spare; /* spare handle, for one connection that is refused for lack of memory */
	bool spare_open;
	int open_handles;
	struct nt_listener_conf conf;
	struct accepted *first, *last; /* connections in the order of acceptance */
	struct accepted *oldest;       /* every connection before this one has finished its handshake */
	uint32_t n, n_handshaking;
	uint32_t n_ending; /* how many of the n connections are closing: these take no place from others */
	struct nt_crowds crowds; /* the networks of the peers whose handshakes are under way, counted */
	uint32_t accepted;       /* connections accepted in this turn of the loop */
	bool waiting;            /* libuv holds a connection that has not been accepted */
	uint64_t generation;
	bool closing;
};

/* A connection in the listener's list. */
struct accepted {
	struct nt_conn *conn;
	struct nt_listener *listener; /* NULL: the listener is gone */
	struct accepted *prev, *next;
	uint64_t generation;          /* generation of the listener's ctx when the connection was accepted */
	uint8_t net[NT_CONN_NET_LEN]; /* network of the peer */
	bool ending;                  /* counted in n_ending */
};

/* ---- the list of connections ---- */

static void adopt(struct nt_listener *l, struct accepted *a)
{
	a->listener = l;
	a->generation = l->generation;
	a->prev = l->last;
	*(l->last ? &l->last->next : &l->first) = a;
	l->last = a;
	if (!l->oldest)
		l->oldest = a;
	l->n++;
	l->n_handshaking++;
	nt_crowds_add(&l->crowds, a->net);
}

static void forget(struct accepted *a)
{
	struct nt_listener *l = a->listener;

	if (l->oldest == a)
		l->oldest = a->next;
	*(a->prev ? &a->prev->next : &l->first) = a->next;
	*(a->next ? &a->next->prev : &l->last) = a->prev;
	a->listener = NULL;
	l->n--;
	l->n_ending -= a->ending;
}

/* Called when a handshake succeeds and when any connection ends; only the first call counts. */
static void shaken(struct nt_conn *c)
{
	struct accepted *a = c->from;

	if (a && a->listener && c->step <= NT_CONN_HANDSHAKE) {
		a->listener->n_handshaking--;
		nt_crowds_leave(&a->listener->crowds, a->net);
	}
}

/* When too many are closing, cut short the one that began to close first. */
static void ending(struct nt_conn *c)
{
	struct accepted *a = c->from;
	struct nt_listener *l = a->listener;

	if (!l || a->ending)
		return;
	a->ending = true;
	if (++l->n_ending <= ENDING_MAX)
		return;
	/* Searches in the order of acceptance, which is nearly the order in which they began to close. */
	for (a = l->first; a; a = a->next)
		if (a->conn != c &&
			(a->conn->step == NT_CONN_FLUSHING || a->conn->step == NT_CONN_LINGERING)) {
			nt_conn_shut(a->conn, &a->conn->why);
			return;
		}
}

static enum cm_rc admit(struct nt_conn *c, struct cm_err *err)
{
	const struct accepted *a = c->from;

	/* The handshake began under certificates that have been replaced since. */
	if (CM_CHECKED("net.admit") && a->listener && a->generation != a->listener->generation)
		return nt_tls_recheck(c->tls, a->listener->conf.tls, err);
	return CM_OK;
}

static void refuse(const struct nt_listener *l, const char *address, const struct cm_err *why)
{
	if (l->conf.on_refused)
		l->conf.on_refused(l->conf.user, address, why);
}

static void refused(struct nt_conn *c)
{
	const struct accepted *a = c->from;

	if (a->listener)
		refuse(a->listener, c->address, &c->why);
}

static bool release(struct nt_conn *c)
{
	struct accepted *a = c->from;

	if (a && a->listener)
		forget(a);
	free(a);
	return true;
}

static const struct nt_origin accepted = {
	.admit = admit, .shaken = shaken, .ending = ending, .refused = refused, .release = release
};

/* ---- accepting ---- */

static void free_handle(uv_handle_t *h)
{
	free(h);
}

static void release_handle(struct nt_listener *l)
{
	if (--l->open_handles == 0)
		free(l);
}

static void free_spare(uv_handle_t *h)
{
	struct nt_listener *l = h->data;

	l->spare_open = false;
	release_handle(l);
}

/* Find a handle; NULL when memory ran out and the spare handle is not closed yet. */
static uv_tcp_t *handle_to_close(struct nt_listener *l)
{
	uv_tcp_t *tcp = calloc(1, sizeof *tcp);

	if (tcp || l->spare_open)
		return tcp;
	l->spare_open = true;
	l->open_handles++;
	return &l->spare;
}

/* Accept and close: a connection left in the queue would keep libuv from accepting others. */
static void turn_away(struct nt_listener *l, const char *why)
{
	uv_tcp_t *tcp = handle_to_close(l);
	struct cm_err err;

	if (!tcp) { /* try again in the next turn of the loop */
		l->waiting = true;
		return;
	}
	(void)cm_fail(&err, CM_ELATER, "%s", why);
	refuse(l, "?", &err);
	(void)uv_tcp_init(l->tcp.loop, tcp); /* cannot fail: no socket is made yet */
	tcp->data = l;
	(void)uv_accept((uv_stream_t *)&l->tcp, (uv_stream_t *)tcp);
	uv_close((uv_handle_t *)tcp, tcp == &l->spare ? free_spare : free_handle);
}

/* Replace a handshake that is overdue, unless its network has fewer of them than the newcomer's; false if
 * there is none. */
static bool displace(struct nt_listener *l, const uint8_t net[NT_CONN_NET_LEN])
{
	const struct nt_crowd *own = nt_crowds_of(&l->crowds, net), *theirs;
	struct cm_err err;

	while (l->oldest && l->oldest->conn->step != NT_CONN_HANDSHAKE)
		l->oldest = l->oldest->next;
	for (struct accepted *a = l->oldest; a; a = a->next) {
		struct nt_conn *c = a->conn;

		if (c->step != NT_CONN_HANDSHAKE)
			continue;
		if (uv_timer_get_due_in(&c->deadline) + GRACE_MS > c->limits.handshake_ms)
			return false; /* later ones are not overdue either */
		theirs = nt_crowds_of(&l->crowds, a->net);
		if (own && theirs && theirs->n < own->n)
			continue;
		(void)cm_fail(
			&err, CM_ELATER, "the TLS handshake was slow, and other connections were waiting");
		nt_conn_shut(c, &err);
		return true;
	}
	return false;
}

/* Replace the latest handshake of a network that has more of them under way than the newcomer's; false if
 * there is none. */
static bool displace_crowd(struct nt_listener *l, const uint8_t net[NT_CONN_NET_LEN])
{
	const struct nt_crowd *crowd = nt_crowds_larger(&l->crowds, net);
	struct cm_err err;

	if (!CM_CHECKED("net.crowd") || !crowd)
		return false;
	for (struct accepted *a = l->last; a; a = a->prev) {
		struct nt_conn *c = a->conn;

		if (c->step != NT_CONN_HANDSHAKE || memcmp(a->net, crowd->net, NT_CONN_NET_LEN) != 0)
			continue;
		(void)cm_fail(
			&err, CM_ELATER, "one of many TLS handshakes from its address while others wait");
		nt_conn_shut(c, &err);
		return true;
	}
	return false;
}

static bool make_room(struct nt_listener *l, const struct accepted *newcomer, struct cm_err *err)
{
	if (!CM_CHECKED("net.max_handshaking") || l->n_handshaking < l->conf.limits.max_handshaking ||
		displace(l, newcomer->net) || displace_crowd(l, newcomer->net))
		return true;
	(void)cm_fail(err, CM_ELATER, "too many handshakes at once");
	return false;
}

static void accept_one(struct nt_listener *l)
{
	struct accepted *a = calloc(1, sizeof *a);
	struct nt_conn *c =
		a ? nt_conn_make(l->tcp.loop, &l->conf.limits, &l->conf.handler, l->conf.user, &accepted)
		  : NULL;
	struct sockaddr_storage peer;
	int len = sizeof peer, rc;
	struct cm_err err;

	if (!c) {
		free(a);
		turn_away(l, "out of memory");
		return;
	}
	a->conn = c;
	c->from = a;
	rc = uv_tcp_init(l->tcp.loop, &c->tcp);
	if (rc == 0) {
		c->tcp.data = c;
		c->tcp_open = true;
		c->open_handles++;
		rc = uv_accept((uv_stream_t *)&l->tcp, (uv_stream_t *)&c->tcp);
	}
	if (rc < 0) {
		(void)cm_fail(&err, CM_ELATER, "cannot accept: %s", uv_strerror(rc));
		refuse(l, "?", &err);
		nt_conn_discard(c);
		return;
	}
	(void)snprintf(c->address, sizeof c->address, "?");
	if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&peer, &len) == 0)
		nt_addr_text((struct sockaddr *)&peer, c->address);
	else
		peer = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
	nt_crowd_net(&peer, a->net);
	if (!make_room(l, a, &err) || nt_tls_new(l->conf.tls, NULL, &c->tls, &err) != CM_OK) {
		refuse(l, c->address, &err);
		nt_conn_discard(c);
		return;
	}
	adopt(l, a);
	nt_conn_begin(c);
}

static void take(struct nt_listener *l)
{
	if (CM_CHECKED("net.max_connections") && l->n - l->n_ending >= l->conf.limits.max_connections)
		turn_away(l, "too many connections");
	else
		accept_one(l);
}

static void on_turn(uv_idle_t *turn)
{
	struct nt_listener *l = turn->data;

	l->accepted = l->waiting && !l->closing ? 1 : 0;
	if (l->accepted == 0) {
		(void)uv_idle_stop(turn);
		return;
	}
	l->waiting = false;
	take(l);
}

/* libuv before 1.45 accepts connections as long as they come.  If they came faster than we refuse them,
 * established connections would not be served.  libuv stops while a connection is not accepted, so we leave
 * one for the next turn. */
static void on_connection(uv_stream_t *s, int status)
{
	struct nt_listener *l = s->data;
	struct cm_err err;

	if (l->closing)
		return;
	if (status < 0) {
		(void)cm_fail(&err, CM_ELATER, "cannot accept: %s", uv_strerror(status));
		refuse(l, "?", &err);
		return;
	}
	if (l->accepted++ == 0)
		(void)uv_idle_start(&l->turn, on_turn);
	if (CM_CHECKED("net.turn") && l->accepted > TURN_MAX)
		l->waiting = true;
	else
		take(l);
}

/* ---- life ---- */

static void on_listener_closed(uv_handle_t *h)
{
	release_handle(h->data);
}

static void close_handles(struct nt_listener *l)
{
	l->closing = true;
	uv_close((uv_handle_t *)&l->tcp, on_listener_closed);
	uv_close((uv_handle_t *)&l->turn, on_listener_closed);
}

/* Bind the first address that works. */
static int bind_listen(struct nt_listener *l, const struct addrinfo *found)
{
	int rc = UV_EADDRNOTAVAIL;

	for (const struct addrinfo *ai = found; ai; ai = ai->ai_next) {
		rc = uv_tcp_bind(&l->tcp, ai->ai_addr, 0);
		if (rc == 0)
			rc = uv_listen((uv_stream_t *)&l->tcp, BACKLOG, on_connection);
		if (rc == 0)
			break;
	}
	return rc;
}

/* Listen on the passed socket, in whose queue peers wait that dialled before this process started. */
static int take_over(struct nt_listener *l, int fd)
{
	int rc = uv_tcp_open(&l->tcp, fd);

	if (rc != 0)
		(void)close(fd);
	return rc != 0 ? rc : uv_listen((uv_stream_t *)&l->tcp, BACKLOG, on_connection);
}

/* Resolve the addresses to bind; does nothing for a passed socket. */
static enum cm_rc resolve(const struct nt_listener_conf *conf, struct addrinfo **found, struct cm_err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct nt_addr addr;
	int rc;

	*found = NULL;
	if (conf->passed > 0)
		return CM_OK;
	if (nt_addr_split(conf->address, &addr, err) != CM_OK)
		return err->code;
	/* this blocks, but only at the start */
	rc = getaddrinfo(addr.host[0] != '\0' ? addr.host : NULL, addr.port, &hints, found);
	return rc == 0 ? CM_OK
		       : cm_fail(err, CM_ECONFIG, "cannot listen on %s: %s", conf->address, gai_strerror(rc));
}

enum cm_rc nt_listener_new(
	uv_loop_t *loop, const struct nt_listener_conf *conf, struct nt_listener **out, struct cm_err *err)
{
	const char *where = conf->passed > 0 ? "the passed socket" : conf->address;
	struct addrinfo *found = NULL;
	struct nt_listener *l;
	int rc;

	*out = NULL;
	if (resolve(conf, &found, err) != CM_OK)
		return err->code;
	l = calloc(1, sizeof *l);
	rc = !l ? UV_ENOMEM : uv_tcp_init(loop, &l->tcp);
	if (rc < 0) {
		free(l);
		if (found)
			freeaddrinfo(found);
		return cm_fail(err, CM_EINTERNAL, "cannot listen on %s: %s", where, uv_strerror(rc));
	}
	(void)uv_idle_init(loop, &l->turn); /* cannot fail */
	l->tcp.data = l->turn.data = l;
	l->open_handles = 2;
	l->conf = *conf;
	l->conf.address = NULL;
	rc = conf->passed > 0 ? take_over(l, conf->passed) : bind_listen(l, found);
	if (found)
		freeaddrinfo(found);
	if (rc < 0) {
		close_handles(l);
		return cm_fail(err, rc == UV_EACCES ? CM_EPERM : CM_EUNAVAIL, "cannot listen on %s: %s",
			where, uv_strerror(rc));
	}
	*out = l;
	return CM_OK;
}

int nt_listener_port(const struct nt_listener *l)
{
	struct sockaddr_storage sa;
	int len = sizeof sa;
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (uv_tcp_getsockname(&l->tcp, (struct sockaddr *)&sa, &len) != 0)
		return -1;
	memcpy(&in, &sa, sizeof in);
	memcpy(&in6, &sa, sizeof in6);
	return sa.ss_family == AF_INET6 ? ntohs(in6.sin6_port) : ntohs(in.sin_port);
}

void nt_listener_reload(struct nt_listener *l, struct nt_tls_ctx *ctx)
{
	struct cm_err err;

	l->conf.tls = ctx;
	l->generation++;
	for (struct accepted *a = l->first; a; a = a->next) {
		if (a->conn->step != NT_CONN_OPEN)
			continue;
		a->generation = l->generation;
		if (CM_CHECKED("net.reload") && nt_tls_recheck(a->conn->tls, ctx, &err) != CM_OK)
			nt_conn_close(a->conn, &err);
	}
}

void nt_listener_close(struct nt_listener *l)
{
	struct cm_err err;

	if (l->closing)
		return;
	(void)cm_fail(&err, CM_ELATER, "shutting down");
	while (l->first) {
		struct accepted *a = l->first;

		if (a->conn->step <= NT_CONN_HANDSHAKE)
			nt_conn_shut(a->conn, &err);
		forget(a);
	}
	close_handles(l);
}
