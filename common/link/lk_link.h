/* lk_link.h - a connection that speaks frames: TLS connection + framing + bounded decoding + Hello.
 *
 * The link sends Hello when TLS is up and hands frames to its owner once the peer's Hello was a good one,
 * which must come within limits.handshake_ms.  A frame that cannot be decoded, or a wrong version, is
 * answered with an Error and the link closes: a peer's fault costs that peer its connection and nothing else.
 */
#pragma once

#include "cm_conn.h"
#include "pr_msg.h"

struct lk_link;

/* Why a connection never became a link. */
enum lk_refused {
	LK_REFUSED_CERTIFICATE, /* certificate or role, the peer's or ours */
	LK_REFUSED_PROTOCOL,    /* TLS, or a first frame that is no good Hello */
	LK_REFUSED_NETWORK,     /* nobody there, cut off, or too slow */
	LK_REFUSED_LIMIT,       /* too many connections */
	LK_REFUSED_OTHER,
	LK_REFUSED_REASONS
};

/* Sums over all links of a handler that names them; bytes are those of frames, before encryption. */
struct lk_counts {
	uint64_t links, refused[LK_REFUSED_REASONS];
	uint64_t frames_in, frames_out, bytes_in, bytes_out;
};

struct lk_handler {
	/* The peer's Hello has arrived: for a dialling party this is "connected". */
	void (*on_ready)(struct lk_link *l, void *user);
	/* One frame (never Hello), borrowed for the call. */
	void (*on_frame)(struct lk_link *l, void *user, const Tombola__V1__Frame *frame);
	/* Nothing is queued any more; may be NULL. */
	void (*on_drain)(struct lk_link *l, void *user);
	/* Last call; the link is gone after it.  An accepted link that was never ready gets none: a line in
	 * the log tells of it. */
	void (*on_close)(struct lk_link *l, void *user, const struct cm_err *why);
	struct lk_counts *counts; /* borrowed as long as there are links; may be NULL */
};

/* Listener whose connections are links.  Refused connections are logged, ten a second, the rest counted.
 * on_ready's user is `user`; set another with lk_set_user. */
struct lk_server;
struct lk_server_conf {
	const char *address;
	int passed; /* as in cm_listener_conf */
	struct cm_tls_ctx *tls;
	struct cm_conn_limits limits;
	struct lk_handler handler;
	void *user;
};
CM_CHECK enum cm_rc lk_server_new(
	uv_loop_t *loop, const struct lk_server_conf *conf, struct lk_server **out, struct cm_err *err);
int lk_server_port(const struct lk_server *s);
void lk_server_reload(struct lk_server *s, struct cm_tls_ctx *tls);
/* Stop accepting; with `links`, close the open ones too (each gets its on_close).  s is gone at once. */
void lk_server_close(struct lk_server *s, bool links);

/* Dial "host:port"; as cm_conn_dial, also in that the link keeps tls's certificates: after a reload its owner
 * closes it and dials again. */
CM_CHECK enum cm_rc lk_dial(uv_loop_t *loop, const char *address, struct cm_tls_ctx *tls,
	const struct cm_conn_limits *limits, const struct lk_handler *handler, void *user,
	struct lk_link **out, struct cm_err *err);

void lk_set_user(struct lk_link *l, void *user);
void *lk_user(const struct lk_link *l);
const struct cm_identity *lk_peer(const struct lk_link *l);
const char *lk_address(const struct lk_link *l);
CM_CHECK enum cm_rc lk_send(struct lk_link *l, const Tombola__V1__Frame *frame, struct cm_err *err);
/* Send Error{code, text, retry_after_ms, round_id (16 bytes or NULL)}; text is made fit (cm_text_copy). */
void lk_send_error(struct lk_link *l, Tombola__V1__ErrorCode code, const char *text, uint32_t retry_after_ms,
	const uint8_t *round_id);
/* Bytes queued to the peer. */
size_t lk_pending(const struct lk_link *l);
/* Stop and resume handing over frames, and reading.  Frames that were read already are kept and come after
 * lk_resume, in order, never from within it. */
void lk_pause(struct lk_link *l);
void lk_resume(struct lk_link *l);
void lk_expect_silence(struct lk_link *l, bool on);
void lk_close(struct lk_link *l, const struct cm_err *why);

/* A peer's Error frame as our error: each code's cm_rc is in one table. */
enum cm_rc lk_error(const Tombola__V1__Error *e, struct cm_err *err);
