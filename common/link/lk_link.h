/* lk_link.h - a connection that exchanges frames: TLS connection, framing, bounded decoding and Hello.
 *
 * The link sends Hello when TLS is up.  It hands frames to its owner once the peer has sent a valid Hello,
 * which must come within limits.handshake_ms.  A frame that cannot be decoded, or a wrong version, is
 * answered with an Error, and the link closes: a peer's fault ends that peer's connection and nothing else.
 * A peer for whom there is no place gets an Error instead of the Hello; the party that dialled gets its text
 * through on_close. */
#pragma once

#include "nt_conn.h"
#include "pr_error.h"
#include "pr_msg.h"

struct lk_link;

/* Why a connection did not become a link. */
enum lk_refused {
	LK_REFUSED_CERTIFICATE, /* the certificate or the role of the peer, or ours, was refused */
	LK_REFUSED_PROTOCOL,    /* a fault of TLS, or a first frame that is not a valid Hello */
	LK_REFUSED_NETWORK,     /* no answer, connection cut off, or too slow */
	LK_REFUSED_LIMIT,       /* too many connections */
	LK_REFUSED_OTHER,
	LK_REFUSED_REASONS
};

/* Counts of all links whose handler points here.  Bytes are counted in frames, before encryption. */
struct lk_counts {
	uint64_t links, refused[LK_REFUSED_REASONS];
	uint64_t displaced; /* links closed to make room for another certificate's */
	uint64_t frames_in, frames_out, bytes_in, bytes_out;
};

struct lk_handler {
	/* The peer's Hello has arrived: the link can be used, and a dialling party is connected. */
	void (*on_ready)(struct lk_link *l, void *user);
	/* One frame (never Hello), borrowed for the call. */
	void (*on_frame)(struct lk_link *l, void *user, const Tombola__V1__Frame *frame);
	/* All queued bytes have been sent; may be NULL. */
	void (*on_drain)(struct lk_link *l, void *user);
	/* The last call for a link: the pointer is invalid afterwards.  An accepted link that never became
	 * ready gets no call; a line in the log reports it. */
	void (*on_close)(struct lk_link *l, void *user, const struct cm_err *why);
	struct lk_counts *counts; /* borrowed as long as there are links; may be NULL */
};

/* A listener whose connections are links.  At most ten refused connections a second are logged, and the
 * others counted.  on_ready gets `user`; lk_set_user sets another. */
#define LK_KEPT 4u /* places kept for links of services, beside those of clients */
struct lk_server;
struct lk_server_conf {
	const char *address;
	int passed; /* see nt_listener_conf */
	struct nt_tls_ctx *tls;
	/* limits.max_connections is the listener's; it must leave room for max_clients, for the places kept
	 * for services, and for handshakes. */
	struct nt_conn_limits limits;
	uint32_t max_clients; /* most links of clients (lk_admission.h says what happens beyond); 0: no
			       * limit */
	uint32_t of_one;      /* most links of one certificate; further ones are refused; 0: no limit */
	struct lk_handler handler;
	void *user;
};
CM_CHECK enum cm_rc lk_server_new(
	uv_loop_t *loop, const struct lk_server_conf *conf, struct lk_server **out, struct cm_err *err);
int lk_server_port(const struct lk_server *s);
void lk_server_reload(struct lk_server *s, struct nt_tls_ctx *tls);
/* Stop accepting; with `links`, also close the open links (each gets its on_close). s is freed at once. */
void lk_server_close(struct lk_server *s, bool links);

/* Dial "host:port", as nt_conn_dial does.  The link keeps tls's certificates: after a reload its owner
 * closes it and dials again. */
CM_CHECK enum cm_rc lk_dial(uv_loop_t *loop, const char *address, struct nt_tls_ctx *tls,
	const struct nt_conn_limits *limits, const struct lk_handler *handler, void *user,
	struct lk_link **out, struct cm_err *err);

void lk_set_user(struct lk_link *l, void *user);
const struct cr_identity *lk_peer(const struct lk_link *l);
const char *lk_address(const struct lk_link *l);
/* nt_conn_recheck: would these certificates accept the peer, too? */
CM_CHECK enum cm_rc lk_recheck(const struct lk_link *l, const struct nt_tls_ctx *ctx, struct cm_err *err);
/* See nt_tls_group. */
const char *lk_group(const struct lk_link *l);
/* Send a frame.  If it cannot be queued, the link closes and says why: CM_EINTERNAL out of memory,
 * CM_EUNAVAIL if the peer does not read.  CM_EIO: it is closed already. */
CM_CHECK enum cm_rc lk_send(struct lk_link *l, const Tombola__V1__Frame *frame, struct cm_err *err);
/* Send Error{code, text, retry_after_ms, round_id (16 bytes or NULL)}; text is cut and cleaned by
 * cm_text_copy. */
void lk_send_error(struct lk_link *l, Tombola__V1__ErrorCode code, const char *text, uint32_t retry_after_ms,
	const uint8_t *round_id);
/* Bytes queued to the peer. */
size_t lk_pending(const struct lk_link *l);
/* See nt_conn_unread. */
size_t lk_unread(const struct lk_link *l);
/* Stop and resume handing over frames, and reading.  Frames read already are kept, and handed over in order
 * after lk_resume has returned. */
void lk_pause(struct lk_link *l);
void lk_resume(struct lk_link *l);
void lk_expect_silence(struct lk_link *l, bool on);
void lk_close(struct lk_link *l, const struct cm_err *why);
/* See nt_conn_abort: nothing is flushed. */
void lk_abort(struct lk_link *l, const struct cm_err *why);
