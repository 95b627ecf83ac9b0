/* cm_conn.h - a TLS connection on libuv: socket, timers and session with one lifetime.
 *
 * An idle one takes about 22 KiB, of which libssl's session and the peer's certificate are 19; a handshake
 * under way takes another 50, which is why those are limited.
 *
 * Every callback runs on the loop's thread.  on_close comes exactly once, last, for every connection that
 * on_open or a failed dial ever concerned; after it the pointer is gone. */
#pragma once

#include <uv.h>

#include "cm_tls.h"

struct cm_conn;

struct cm_conn_handler {
	/* TLS is up and the peer's role verified.  Not yet "connected" for a dialling party: in TLS 1.3 a
	 * refused client learns of it only with the first reply. */
	void (*on_open)(struct cm_conn *c, void *user);
	/* n plaintext bytes, borrowed for the call.  After cm_conn_resume it comes once with n = 0, so that
	 * an owner that kept bytes back can go on with them. */
	void (*on_data)(struct cm_conn *c, void *user, const uint8_t *data, size_t n);
	/* All that was queued has been handed to the kernel (pending dropped to 0). */
	void (*on_drain)(struct cm_conn *c, void *user);
	/* why->code CM_OK: an orderly end.  CM_EUNAVAIL: the network, a timeout, or an end without
	 * close_notify (the text tells them apart).  CM_EPERM: a certificate or role, ours or the peer's.
	 * CM_EPROTO: TLS. */
	void (*on_close)(struct cm_conn *c, void *user, const struct cm_err *why);
};

struct cm_conn_limits {
	uint32_t handshake_ms; /* TCP accept or dial to TLS ready, and the peer's greeting; default 10000 */
	uint32_t idle_ms;      /* no byte from the peer; 0: none; default 120000 */
	size_t max_pending;    /* bytes queued to a peer that does not read: closed beyond; default 8 MiB */
	uint32_t max_connections; /* listener: further ones are refused at accept; default 1024 */
	/* Listener: unauthenticated at a time; default 128.  Beyond, one that has had a second already makes
	 * room for a newcomer, unless its address (IPv6: /64) has fewer than the newcomer's; or the latest of
	 * an address that has more than the newcomer's; else the newcomer is refused: neither slow strangers
	 * nor quick ones of one address lock out a peer, or cut off one whose own handshake is slow. */
	uint32_t max_handshaking;
};
void cm_conn_limits_default(struct cm_conn_limits *l);

void cm_conn_set_user(struct cm_conn *c, void *user);
void *cm_conn_user(const struct cm_conn *c);
const struct cm_identity *cm_conn_peer(const struct cm_conn *c);
/* "[::1]:40312", for logs about connections. */
const char *cm_conn_address(const struct cm_conn *c);
/* Queue plaintext; the bytes are copied.  All that is queued in one iteration of the loop goes out as one
 * write. CM_EIO after close; CM_EUNAVAIL beyond max_pending, and the connection closes. */
CM_CHECK enum cm_rc cm_conn_send(struct cm_conn *c, const uint8_t *data, size_t n, struct cm_err *err);
size_t cm_conn_pending(const struct cm_conn *c);
/* Back-pressure: stop and resume reading from the peer. */
void cm_conn_pause(struct cm_conn *c);
void cm_conn_resume(struct cm_conn *c);
/* Flush what is queued (bounded by handshake_ms), close_notify, wait up to 1 s for the peer's end (else bytes
 * that it still sends would make the kernel throw away our last words), close.  Idempotent; why NULL:
 * orderly. */
void cm_conn_close(struct cm_conn *c, const struct cm_err *why);
/* Has its end begun (from either side)?  Then no more data comes and nothing can be sent. */
bool cm_conn_closing(const struct cm_conn *c);
/* The idle limit does not apply while on (a peer waiting in a long poll). */
void cm_conn_expect_silence(struct cm_conn *c, bool on);
/* From on_open: the connection ends in handshake_ms (CM_EUNAVAIL) unless this is switched off again, for an
 * owner whose peer must speak first. */
void cm_conn_expect_greeting(struct cm_conn *c, bool on);

/* Listener on "host:port" or "[::]:port"; port 0 picks one (cm_listener_port). */
struct cm_listener;
struct cm_listener_conf {
	const char *address;
	int passed; /* a listening socket to serve instead (cm_service_socket), taken over; 0: none */
	struct cm_tls_ctx *tls; /* borrowed; replaced by cm_listener_reload */
	struct cm_conn_limits limits;
	struct cm_conn_handler handler;
	void *user; /* each new connection's user until on_open sets its own */
	/* A connection that never reached on_open, and why: for one log line. */
	void (*on_refused)(void *user, const char *address, const struct cm_err *why); /* may be NULL */
};
CM_CHECK enum cm_rc cm_listener_new(
	uv_loop_t *loop, const struct cm_listener_conf *conf, struct cm_listener **out, struct cm_err *err);
int cm_listener_port(const struct cm_listener *l);
/* New connections use ctx from now on; established ones whose certificate the new ctx no longer accepts are
 * closed, and a handshake under way is judged by the new one too.  The caller frees the old ctx afterwards.
 */
void cm_listener_reload(struct cm_listener *l, struct cm_tls_ctx *ctx);
/* Stop accepting; connections live on, those still shaking hands are closed.  No callback of the listener's
 * own comes after this call.  Frees itself when the handle has closed. */
void cm_listener_close(struct cm_listener *l);

/* Dial "host:port".  host is resolved, its addresses tried in turn, and it is the name the certificate must
 * carry. A failure comes as on_close (CM_EUNAVAIL for the network, CM_EPERM/CM_EPROTO from TLS); on_open may
 * never come. An error returned here (CM_ECONFIG: the address) is the only word about it.  limits NULL: the
 * defaults.  The connection keeps tls's certificates: after a reload it is the owner who closes it and dials
 * again. */
CM_CHECK enum cm_rc cm_conn_dial(uv_loop_t *loop, const char *address, struct cm_tls_ctx *tls,
	const struct cm_conn_limits *limits, const struct cm_conn_handler *handler, void *user,
	struct cm_conn **out, struct cm_err *err);
