/* nt_conn.h - a TLS connection on libuv: socket, timers and session with one lifetime.
 *
 * An idle connection takes about 22 KiB, of which libssl's session and the peer's certificate are 19.  A
 * handshake under way takes another 50 KiB, which is why their number is limited.  Every callback runs on the
 * loop's thread. on_close is called exactly once, last, for every connection that was given to on_open or
 * whose dial failed later; the pointer is invalid after it. */
#pragma once

#include <uv.h>

#include "nt_tls.h"

struct nt_conn;

struct nt_conn_handler {
	/* TLS is up and the peer's role is verified.  A party that dials is not accepted yet: in TLS 1.3 a
	 * client that the server refuses learns so only with the server's first reply. */
	void (*on_open)(struct nt_conn *c, void *user);
	/* n plaintext bytes, borrowed for the call.  After nt_conn_resume it is called once with n = 0, so
	 * that an owner that kept bytes can go on with them. */
	void (*on_data)(struct nt_conn *c, void *user, const uint8_t *data, size_t n);
	/* All that was queued has been handed to the kernel (pending dropped to 0). */
	void (*on_drain)(struct nt_conn *c, void *user);
	/* why->code CM_OK: an orderly end.  CM_EUNAVAIL: the network, a timeout, or an end without
	 * close_notify (the text tells them apart).  CM_EPERM: a certificate or role, ours or the peer's.
	 * CM_EPROTO: TLS. */
	void (*on_close)(struct nt_conn *c, void *user, const struct cm_err *why);
};

struct nt_conn_limits {
	/* longest time until TLS is ready after accept or dial, and until the peer's greeting; default
	 * 10000 */
	uint32_t handshake_ms;
	uint32_t idle_ms; /* longest time without a byte from the peer; 0: no limit; default 120000 */
	/* most bytes queued to a peer that does not read: beyond, the connection closes; default 8 MiB */
	size_t max_pending;
	/* a listener's most connections, without those that are closing; further ones are refused at
	 * accept; default 1024 */
	uint32_t max_connections;
	/* A listener's most unauthenticated connections; default 128.  When there are more, a newcomer
	 * replaces a connection that has had a second already, unless that connection's address (IPv6: its
	 * /64) has fewer handshakes than the newcomer's.  Otherwise it replaces the latest connection of an
	 * address that has more handshakes than the newcomer's.  Otherwise the newcomer is refused.  So
	 * neither slow strangers nor many connections from one address can lock out a peer, or cut off a
	 * peer whose own handshake is slow. */
	uint32_t max_handshaking;
};
void nt_conn_limits_default(struct nt_conn_limits *l);

void nt_conn_set_user(struct nt_conn *c, void *user);
const struct cr_identity *nt_conn_peer(const struct nt_conn *c);
/* The group of TLS's key exchange: nt_tls_group. */
const char *nt_conn_group(const struct nt_conn *c);
/* Check the peer's certificate again, as nt_tls_recheck does; CM_EPERM also before the connection is
 * open. */
CM_CHECK enum cm_rc nt_conn_recheck(
	const struct nt_conn *c, const struct nt_tls_ctx *ctx, struct cm_err *err);
/* The peer's address such as "[::1]:40312", for logs about connections. */
const char *nt_conn_address(const struct nt_conn *c);
/* Queue plaintext; the bytes are copied.  All bytes queued in one iteration of the loop go out as one write.
 * CM_EIO after close; CM_EUNAVAIL beyond max_pending, and the connection closes. */
CM_CHECK enum cm_rc nt_conn_send(struct nt_conn *c, const uint8_t *data, size_t n, struct cm_err *err);
size_t nt_conn_pending(const struct nt_conn *c);
/* The same, plus the bytes that the kernel holds because the peer has not acknowledged them.  The sum falls
 * whenever the peer takes bytes. */
size_t nt_conn_unread(const struct nt_conn *c);
/* Back-pressure: stop and resume reading from the peer. */
void nt_conn_pause(struct nt_conn *c);
void nt_conn_resume(struct nt_conn *c);
/* Close in order: flush what is queued (bounded by handshake_ms), send close_notify, wait up to 1 s for the
 * peer's end, close.  Without the wait, bytes that the peer still sends would make the kernel discard the
 * last bytes we sent.  Idempotent; why NULL: orderly. */
void nt_conn_close(struct nt_conn *c, const struct cm_err *why);
/* Close at once and discard what is queued.  If an orderly close has begun already, its reason remains. */
void nt_conn_abort(struct nt_conn *c, const struct cm_err *why);
/* Has either side begun to close?  Then no more data comes and nothing can be sent. */
bool nt_conn_closing(const struct nt_conn *c);
/* While on, the idle limit does not apply (a peer waits in a long poll). */
void nt_conn_expect_silence(struct nt_conn *c, bool on);
/* Call it from on_open if the peer must speak first: the connection ends after handshake_ms (CM_EUNAVAIL)
 * unless this is switched off before. */
void nt_conn_expect_greeting(struct nt_conn *c, bool on);

/* A listener on "host:port" or "[::]:port"; port 0 picks a free one (nt_listener_port). */
struct nt_listener;
struct nt_listener_conf {
	const char *address;
	/* an open listening socket to use instead of the address (nt_service_socket), which the listener
	 * then owns; 0: there is none */
	int passed;
	struct nt_tls_ctx *tls; /* contexts for TLS; borrowed; nt_listener_reload replaces it */
	struct nt_conn_limits limits;
	struct nt_conn_handler handler;
	void *user; /* the user of each new connection until on_open sets another */
	/* Called for a connection that ended before on_open, with the reason, for one log line. */
	void (*on_refused)(void *user, const char *address, const struct cm_err *why); /* may be NULL */
};
CM_CHECK enum cm_rc nt_listener_new(
	uv_loop_t *loop, const struct nt_listener_conf *conf, struct nt_listener **out, struct cm_err *err);
int nt_listener_port(const struct nt_listener *l);
/* New connections use ctx from now on.  Established ones whose certificate the new ctx no longer accepts are
 * closed, and the new ctx also decides on handshakes under way.  The caller frees the old ctx afterwards. */
void nt_listener_reload(struct nt_listener *l, struct nt_tls_ctx *ctx);
/* Stop accepting: established connections continue, those in a handshake are closed.  The listener calls no
 * callback of its own after this call, and frees itself when its handle has closed. */
void nt_listener_close(struct nt_listener *l);

/* Dial "host:port": resolves host and tries its addresses in turn; the peer's certificate must carry that
 * name.  A failure is reported by on_close (CM_EUNAVAIL for the network, CM_EPERM/CM_EPROTO from TLS),
 * possibly without on_open before.  An error returned here (CM_ECONFIG: the address) is reported only here.
 * limits NULL: the defaults.  The connection keeps tls's certificates: after a reload its owner must close it
 * and dial again. */
CM_CHECK enum cm_rc nt_conn_dial(uv_loop_t *loop, const char *address, struct nt_tls_ctx *tls,
	const struct nt_conn_limits *limits, const struct nt_conn_handler *handler, void *user,
	struct nt_conn **out, struct cm_err *err);
