/* nt_conn_private.h - the inside of a connection: for nt_conn.c, and for nt_dial.c and nt_listener.c, which
 * make connections and pass in the functions that they add (struct nt_origin). */
#pragma once

#include "nt_addr.h"
#include "nt_conn.h"

/* State of a connection.  Only pump() and the functions it calls change it, and only to a later one. */
enum nt_conn_step {
	NT_CONN_DIALLING,  /* the host is being resolved, or a socket connected */
	NT_CONN_HANDSHAKE, /* the handshake goes on, until the peer's certificate is verified */
	NT_CONN_OPEN,
	NT_CONN_FLUSHING, /* what is queued is being written, and then close_notify */
	/* our direction is shut; closing now, with bytes unread, would make the kernel discard what we sent
	 * last */
	NT_CONN_LINGERING,
	NT_CONN_CLOSING, /* the handles are closing; only the last callback still comes */
};

struct nt_conn {
	uv_loop_t *loop;
	/* Handles: each is counted in open_handles from its init to its close callback. */
	uv_tcp_t tcp;
	/* deadline of the handshake, then of the greeting, of flushing, and of lingering */
	uv_timer_t deadline;
	uv_timer_t idle;
	uv_idle_t later; /* calls pump before the next poll, so that everything sent in one iteration goes out
			    as one write */
	uv_shutdown_t shutdown;
	int open_handles;
	bool tcp_open;

	enum nt_conn_step step;
	struct nt_tls *tls;
	struct cm_buf wire; /* ciphertext to write */
	struct cm_buf out;  /* plaintext to encrypt, which begins at out_at */
	size_t out_at, inflight;
	uint64_t heard_ms; /* time of the last byte from the peer, by the loop's clock */

	/* Events since the last pump, which the callbacks only record. */
	const uint8_t *in;
	size_t in_len;
	int read_rc, write_rc; /* the results of reading and writing; once set they remain */
	bool deadline_hit, idle_hit, resumed, close_wanted, abort_wanted;

	bool opened, paused, silent, ungreeted, notified, undrained, told;
	struct cm_err why;
	struct nt_conn_limits limits;
	struct nt_conn_handler handler;
	void *user;
	char address[NT_ADDR_TEXT_MAX];

	const struct nt_origin *origin; /* the functions of the dial or the listener */
	void *from;                     /* their data about this connection */
};

/* The functions that a dial or a listener adds to a connection.  A listener has no advance and no expired;
 * a dial has none of those between them and release. */
struct nt_origin {
	void (*advance)(struct nt_conn *c); /* the pump runs while DIALLING */
	void (*expired)(struct nt_conn *c); /* called when the deadline passes while DIALLING */
	/* The handshake is done; CM_OK if the connection may still be admitted. */
	enum cm_rc (*admit)(struct nt_conn *c, struct cm_err *err);
	void (*shaken)(struct nt_conn *c); /* called when the handshake ends, with success or not, and when
					      any connection ends */
	void (*ending)(struct nt_conn *c); /* called when the connection begins to close */
	/* Called when the connection ended before on_open.  NULL: on_close tells the owner. */
	void (*refused)(struct nt_conn *c);
	/* The last call: free `from`.  False: that is not possible yet, and nt_conn_settle_end() will be
	 * called again. */
	bool (*release)(struct nt_conn *c);
};

/* Make a connection with its timers but without a socket; NULL out of memory. */
struct nt_conn *nt_conn_make(uv_loop_t *loop, const struct nt_conn_limits *limits,
	const struct nt_conn_handler *handler, void *user, const struct nt_origin *origin);
/* Free a connection from nt_conn_make that is not used: no callback. */
void nt_conn_discard(struct nt_conn *c);
/* The socket is connected: start reading, and the handshake with its deadline. */
void nt_conn_begin(struct nt_conn *c);
/* The one function that moves a connection. */
void nt_conn_pump(struct nt_conn *c);
/* Set the deadline to ms from now. */
void nt_conn_watch(struct nt_conn *c, uint64_t ms);
/* Close the handles now; c is freed in their close callbacks, which come later. */
void nt_conn_shut(struct nt_conn *c, const struct cm_err *why);
/* Call it when a handle has closed, and when the resolver has answered: if it was the last, calls the
 * owner's on_close and frees c. */
void nt_conn_settle_end(struct nt_conn *c);
