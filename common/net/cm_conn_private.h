/* cm_conn_private.h - a connection from the inside: for cm_conn.c, cm_pump.c, cm_end.c, cm_dial.c and
 * cm_listener.c only. */
#pragma once

#include "cm_addr.h"
#include "cm_conn.h"

#define CM_CONN_WIRE_MAX  ((size_t)1024 * 1024) /* ciphertext not yet written */
#define CM_CONN_LINGER_MS 1000u                 /* for the peer to take our last words and close */
#define CM_CONN_NET_LEN   8
#define CM_CROWDS_MAX     256u /* networks of handshakes that are told apart */

/* Where a connection is.  Only pump() and what it calls move it, and only downwards. */
enum cm_conn_step {
	CM_CONN_DIALLING,  /* resolving and connecting */
	CM_CONN_HANDSHAKE, /* until the peer is known */
	CM_CONN_OPEN,
	CM_CONN_FLUSHING,  /* what is queued, then close_notify */
	CM_CONN_LINGERING, /* our end is shut; a close now, with bytes unread, would destroy our last words */
	CM_CONN_CLOSING,   /* handles are closing; no callback but the last */
};

struct cm_conn {
	uv_loop_t *loop;
	/* Handles: each counted in open_handles from its init to its close callback. */
	uv_tcp_t tcp;
	uv_timer_t deadline; /* of the handshake, of the greeting, then of flushing, then of lingering */
	uv_timer_t idle;
	uv_idle_t later; /* pump before the next poll: what was sent in one iteration goes out as one write */
	uv_shutdown_t shutdown;
	int open_handles;
	bool tcp_open;
	struct cm_dial *dial; /* NULL for an accepted one */

	enum cm_conn_step step;
	struct cm_tls *tls;
	struct cm_buf wire; /* ciphertext to write */
	struct cm_buf out;  /* plaintext to encrypt, from out_at on */
	size_t out_at, inflight;
	uint64_t heard_ms; /* of the loop's clock: the last byte from the peer */

	/* What happened since the last pump: callbacks only set these. */
	const uint8_t *in;
	size_t in_len;
	int read_rc, write_rc; /* sticky */
	bool deadline_hit, idle_hit, resumed, close_wanted, abort_wanted;

	bool opened, paused, silent, ungreeted, notified, undrained, told;
	struct cm_err why;
	struct cm_conn_limits limits;
	struct cm_conn_handler handler;
	void *user;
	char address[CM_ADDR_TEXT_MAX];
	uint8_t net[CM_CONN_NET_LEN]; /* accepted: where from */

	struct cm_listener *listener; /* NULL: dialled, or the listener is gone */
	struct cm_conn *prev, *next;  /* in the listener's list */
	uint64_t generation;          /* of the listener's ctx when this was accepted */
};

/* How many handshakes of one network are under way. */
struct cm_crowd {
	uint8_t net[CM_CONN_NET_LEN];
	uint32_t n;
};

struct cm_listener {
	uv_tcp_t tcp;
	uv_idle_t turn; /* the loop has come round: more may be accepted */
	uv_tcp_t spare; /* for one connection that is turned away without memory */
	bool spare_open;
	int open_handles;
	struct cm_listener_conf conf;
	struct cm_conn *first, *last; /* in the order of acceptance */
	struct cm_conn *oldest;       /* before it none shakes hands */
	uint32_t n, n_handshaking;
	struct cm_crowd crowd[CM_CROWDS_MAX];
	uint32_t crowds;
	uint32_t accepted; /* in this turn of the loop */
	bool waiting;      /* libuv holds a connection that is not accepted */
	uint64_t generation;
	bool closing;
};

/* A connection with its timers but without a socket; NULL out of memory. */
struct cm_conn *cm_conn_make(uv_loop_t *loop, const struct cm_conn_limits *limits,
	const struct cm_conn_handler *handler, void *user);
/* For a connection from cm_conn_make that comes to nothing: no callback. */
void cm_conn_discard(struct cm_conn *c);
/* The socket is connected: read, and shake hands until the deadline. */
void cm_conn_begin(struct cm_conn *c);
/* The one function that moves a connection. */
void cm_conn_pump(struct cm_conn *c);
/* Pump soon, from a function that the owner called. */
void cm_conn_later(struct cm_conn *c);
/* Deadline, or look whether it is idle, in ms from now. */
void cm_conn_watch(struct cm_conn *c, uint64_t ms);
void cm_conn_watch_idle(struct cm_conn *c, uint64_t ms);
/* Read from the socket from now on. */
int cm_conn_read(struct cm_conn *c);

/* cm_end.c.  Say goodbye in order: flush, close_notify, shut our end, wait for the peer's. */
void cm_conn_end(struct cm_conn *c, const struct cm_err *why);
/* Close the handles now; c lives on until their close callbacks, which come later. */
void cm_conn_shut(struct cm_conn *c, const struct cm_err *why);
/* A handle or the resolver is done: tell the owner and free when it was the last. */
void cm_conn_settle_end(struct cm_conn *c);
/* The reason to end that the pump found, each with its words. */
void cm_end_of_stream(struct cm_conn *c);
void cm_end_of_writing(struct cm_conn *c);
void cm_end_if_idle(struct cm_conn *c);
void cm_end_at_deadline(struct cm_conn *c);

/* cm_dial.c: called by the pump while DIALLING, and at the end; true when nothing of it is in the air. */
void cm_dial_advance(struct cm_conn *c);
bool cm_dial_free(struct cm_conn *c);

/* cm_listener.c: the handshake is done - may it still enter? */
CM_CHECK enum cm_rc cm_listener_admit(struct cm_conn *c, struct cm_err *err);
/* It stops shaking hands, for better or worse; it is gone. */
void cm_listener_shaken(struct cm_conn *c);
void cm_listener_forget(struct cm_conn *c);
