/* nt_conn_private.h - the inside of a connection: for nt_conn.c, nt_pump.c, nt_end.c, nt_dial.c and
 * nt_listener.c only. */
#pragma once

#include "nt_addr.h"
#include "nt_conn.h"
#include "nt_crowd.h"

#define NT_CONN_WIRE_MAX  ((size_t)1024 * 1024) /* ciphertext not yet written */
#define NT_CONN_LINGER_MS 1000u                 /* time for the peer to read our last bytes and close */

/* State of a connection.  Only pump() and the functions it calls change it, and only to a later one. */
enum nt_conn_step {
	NT_CONN_DIALLING,  /* resolving and connecting */
	NT_CONN_HANDSHAKE, /* until the peer's certificate is verified */
	NT_CONN_OPEN,
	NT_CONN_FLUSHING,  /* writing what is queued, then close_notify */
	NT_CONN_LINGERING, /* our direction is shut; closing now, with bytes unread, would destroy what we
			      sent last */
	NT_CONN_CLOSING,   /* handles are closing; no callback but the last follows */
};

struct nt_conn {
	uv_loop_t *loop;
	/* Handles: each is counted in open_handles from its init to its close callback. */
	uv_tcp_t tcp;
	uv_timer_t deadline; /* deadline of the handshake, of the greeting, then of flushing, then of
				lingering */
	uv_timer_t idle;
	uv_idle_t later; /* calls pump before the next poll, so that everything sent in one iteration goes out
			    as one write */
	uv_shutdown_t shutdown;
	int open_handles;
	bool tcp_open;
	struct nt_dial *dial; /* NULL for an accepted connection */

	enum nt_conn_step step;
	struct nt_tls *tls;
	struct cm_buf wire; /* ciphertext to write */
	struct cm_buf out;  /* plaintext to encrypt, from out_at on */
	size_t out_at, inflight;
	uint64_t heard_ms; /* time of the last byte from the peer, by the loop's clock */

	/* Events since the last pump: callbacks only set these. */
	const uint8_t *in;
	size_t in_len;
	int read_rc, write_rc; /* remain set */
	bool deadline_hit, idle_hit, resumed, close_wanted, abort_wanted;

	bool opened, paused, silent, ungreeted, notified, undrained, told;
	struct cm_err why;
	struct nt_conn_limits limits;
	struct nt_conn_handler handler;
	void *user;
	char address[NT_ADDR_TEXT_MAX];
	uint8_t net[NT_CONN_NET_LEN]; /* network of the peer of an accepted connection */

	struct nt_listener *listener; /* NULL: the connection was dialled, or its listener is gone */
	struct nt_conn *prev, *next;  /* in the listener's list */
	uint64_t generation;          /* generation of the listener's ctx when this was accepted */
	bool ending;                  /* counted in n_ending */
};

struct nt_listener {
	uv_tcp_t tcp;
	uv_idle_t turn; /* runs when the loop has turned: more connections may be accepted */
	uv_tcp_t spare; /* for one connection that is refused for lack of memory */
	bool spare_open;
	int open_handles;
	struct nt_listener_conf conf;
	struct nt_conn *first, *last; /* in the order of acceptance */
	struct nt_conn *oldest;       /* every connection before this one has finished its handshake */
	uint32_t n, n_handshaking;
	uint32_t n_ending;       /* how many of n are closing; they take no place from others */
	struct nt_crowds crowds; /* of the handshakes under way */
	uint32_t accepted;       /* connections accepted in this turn of the loop */
	bool waiting;            /* libuv holds a connection that is not accepted */
	uint64_t generation;
	bool closing;
};

/* A connection with its timers but without a socket; NULL out of memory. */
struct nt_conn *nt_conn_make(uv_loop_t *loop, const struct nt_conn_limits *limits,
	const struct nt_conn_handler *handler, void *user);
/* Free a connection from nt_conn_make that is not used: no callback. */
void nt_conn_discard(struct nt_conn *c);
/* The socket is connected: start reading and the handshake, with its deadline. */
void nt_conn_begin(struct nt_conn *c);
/* The one function that moves a connection. */
void nt_conn_pump(struct nt_conn *c);
/* Schedule pump for the next turn; called by functions that the owner calls. */
void nt_conn_later(struct nt_conn *c);
/* Set the timer, as a deadline or to check for idleness, to ms from now. */
void nt_conn_watch(struct nt_conn *c, uint64_t ms);
void nt_conn_watch_idle(struct nt_conn *c, uint64_t ms);
/* Read from the socket from now on. */
int nt_conn_read(struct nt_conn *c);

/* nt_end.c.  Close in order: flush, close_notify, shut our direction, wait for the peer's. */
void nt_conn_end(struct nt_conn *c, const struct cm_err *why);
/* Close the handles now; c is freed in their close callbacks, which come later. */
void nt_conn_shut(struct nt_conn *c, const struct cm_err *why);
/* A handle has closed, or the resolver has answered: when it was the last, call the owner's on_close and free
 * c. */
void nt_conn_settle_end(struct nt_conn *c);
/* End the connection for a reason that the pump found, each with its error text. */
void nt_end_of_stream(struct nt_conn *c);
void nt_end_of_writing(struct nt_conn *c);
void nt_end_if_idle(struct nt_conn *c);
void nt_end_at_deadline(struct nt_conn *c);

/* nt_dial.c: called by the pump while DIALLING. */
void nt_dial_advance(struct nt_conn *c);
/* Called at the end; true when no request or handle of the dial is open any more. */
bool nt_dial_free(struct nt_conn *c);
/* The deadline has passed while DIALLING: try the next address, or end. */
void nt_dial_expired(struct nt_conn *c);

/* nt_listener.c: the handshake is done; CM_OK if the connection may still be admitted. */
CM_CHECK enum cm_rc nt_listener_admit(struct nt_conn *c, struct cm_err *err);
/* The connection's handshake has ended, with success or not; and: the connection is gone. */
void nt_listener_shaken(struct nt_conn *c);
void nt_listener_forget(struct nt_conn *c);
/* The connection is closing from now on; when too many are, cut short the one that began to close first. */
void nt_listener_ending(struct nt_conn *c);
