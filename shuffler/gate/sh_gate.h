/* sh_gate.h - the network part that a shuffler and an intake have in common: the links of their peers, the
 * quota of each certificate, answers to Submits that wait for a commit, work on worker threads, and the
 * end.
 *
 * A server (sh_serve.h, sh_front.h) handles the requests.  It owns the gate, handles the frames, and does
 * in `step` what is due next.  Use it only on the loop's thread. */
#pragma once

#include <uv.h>

#include "cr_sign.h"
#include "lk_link.h"
#include "lk_metrics.h"
#include "sh_databases.h"
#include "sh_quota.h"
#include "sh_refusal.h"

#define SH_GATE_TICK_MS 1000 /* the wall clock may be set, so a server looks at it at least this often */

struct sh_gate;

/* A peer that has sent Hello; the server's struct of a peer begins with it.  It is kept after its link closes
 * while answers for it wait for a commit. */
struct sh_peer {
	struct sh_gate *gate;
	struct lk_link *link; /* NULL once it is closed */
	struct cr_identity who;
	struct sh_holder *holder; /* usage of a client's certificate; NULL for every other role */
	size_t held;              /* number of answers that wait for a commit */
	unsigned junk;            /* number of refused Submits in a row */
	bool paused, over;        /* over: paused because its certificate exceeded its quota */
	bool refused; /* set by sh_gate_turn_away: its further frames are dropped until it has closed */
	bool blocked; /* set by the server: nothing is read from it for now, whatever its quota */
	bool kept;    /* set by the server: it must not be freed yet, although its link may be closed */
	struct sh_peer *next;
};

/* An answer to a Submit: a receipt, or an error that must follow a receipt. */
struct sh_answer {
	struct sh_peer *peer;
	struct sh_answer *next;
	struct sh_refusal no; /* code UNSPECIFIED: the answer is a receipt */
	uint8_t round_id[PR_ROUND_ID_LEN], signature[CR_SIGN_LEN];
	uint8_t root[PR_HASH_LEN]; /* root of a receipt that the head signs for an intake */
	/* bytes of new reports, which count against the peer's quota until they are durable */
	size_t bytes;
	size_t n;
	uint8_t outcomes[];
};
struct sh_answers {
	struct sh_answer *first, **end;
	size_t receipts;
};

struct sh_gate_conf {
	const char *listen; /* borrowed */
	int passed; /* a listening socket inherited from the service manager, used instead of `listen`;
		     * 0: none */
	struct nt_tls_ctx *tls; /* borrowed; sh_gate_reload replaces it */
	struct nt_conn_limits limits;
	/* most links of all clients together, and of one certificate (lk_admission.h) */
	uint32_t max_clients;
	uint32_t links_of_one;
	struct sh_quota_conf quota;
};

/* The server.  A link's user is its struct sh_peer; before sh_gate_admit it is one that is in no list. */
struct sh_gate_server {
	struct lk_handler links;    /* without counts, which are those of `metrics` */
	struct lk_metrics *metrics; /* borrowed */
	/* Do what is due: begin work, answer long polls, and when the gate is stopping and nothing is left,
	 * call sh_gate_finish.  Returns the milliseconds until it must be called again; -1: when something
	 * happens. */
	int64_t (*step)(void *of, int64_t mono_ms);
	/* The connections to databases (sh_store.h). */
	bool (*database)(void *of, size_t i, uint32_t *number, bool *up);
	void *of;
};

struct sh_gate {
	struct sh_gate_server server;
	uv_loop_t *loop;
	struct lk_server *links;
	uv_timer_t timer;
	struct sh_quota *quota;
	struct sh_peer unknown; /* the user of a link before its own peer is created; it is in no list */
	struct sh_peer *peers;
	struct sh_answers gathering, flying; /* answers, by the commit for which they wait */
	uint64_t pauses, junks; /* how often a quota paused a connection, and how often junk ended one */
	bool paused;            /* set by the server: nothing is read from any client */
	bool pumping, stopping, stopped;
	/* when the connections to databases were last looked at, by the monotonic clock */
	int64_t looked_ms;
	void (*on_stopped)(void *user);
	void *stopped_user;
};

/* Listen on `loop`.  If this call fails, handles are still closing: run `loop` to its end. */
CM_CHECK enum cm_rc sh_gate_open(struct sh_gate *g, uv_loop_t *loop, const struct sh_gate_conf *conf,
	const struct sh_gate_server *server, struct cm_err *err);
int sh_gate_port(const struct sh_gate *g);
/* Use tls for new connections from now on; the caller frees the old one. */
void sh_gate_reload(struct sh_gate *g, struct nt_tls_ctx *tls);
/* Begin to stop; on_stopped is called once, and after it the loop holds none of the gate's handles. */
void sh_gate_stop(struct sh_gate *g, void (*on_stopped)(void *user), void *user);
/* Close every link, and call on_stopped. */
void sh_gate_finish(struct sh_gate *g);
/* Free what the gate owns, after the loop has ended. */
void sh_gate_fini(struct sh_gate *g);
/* Log and end the process: storage or memory failed, so nothing more may be acknowledged. */
_Noreturn void sh_gate_fatal(const struct cm_err *err);
/* Why it is not ready, in one line; NULL: it is ready. */
const char *sh_gate_not_ready(const struct sh_gate *g);
/* Call step, unless it is already running: what it begins may close a link, whose callback pumps.  Every
 * callback calls this at its end.  A lost connection to a database ends the process here, within two
 * seconds. */
void sh_gate_pump(struct sh_gate *g);

/* ---- Peers ---- */

/* The number of peers that are connected now. */
size_t sh_gate_count(const struct sh_gate *g);
/* For on_ready: make a zeroed peer of so many bytes, in the list and with its quota.  NULL: there is no
 * memory, and the link is closed. */
struct sh_peer *sh_gate_admit(struct sh_gate *g, struct lk_link *l, size_t size);
/* For on_close: log why.  False: the link has no peer of its own; otherwise the peer's link is NULL now,
 * and sh_gate_drop must follow. */
CM_CHECK bool sh_gate_left(struct lk_link *l, struct sh_peer *p, const struct cm_err *why);
/* Free a peer whose link is closed and for which no answer waits. */
void sh_gate_drop(struct sh_peer *p);
/* Take a client's certificate into the quota.  False: out of memory. */
CM_CHECK bool sh_gate_join(struct sh_peer *p);
/* Charge so many frames to the peer's certificate, if it is a client. */
void sh_gate_charge(struct sh_peer *p, uint32_t frames);
/* Count a refused Submit; too many in a row end the connection.  BUSY refusals do not count, since the
 * shuffler causes those. */
void sh_gate_junk(struct sh_peer *p, const struct sh_refusal *no);
/* Resume or pause reading from this client.  It is paused while the server wants it (paused, blocked), too
 * many answers to it wait, or its certificate has used up its quota. */
void sh_gate_flow(struct sh_peer *p);
void sh_gate_send(struct sh_peer *p, const Tombola__V1__Frame *frame);
/* Tell a client to come again, perhaps elsewhere, and close its link. */
void sh_gate_turn_away(struct sh_peer *p, const char *why);

/* ---- Answers to Submits ---- */

/* Make an answer with so many outcomes; ends the process if there is no memory. */
struct sh_answer *sh_answer_new(struct sh_peer *p, size_t outcomes);
/* Send the answer and free it; or hold it until its commit is durable. */
void sh_answer_send(struct sh_answer *a);
void sh_answer_hold(struct sh_answer *a, struct sh_answers *list);
/* A commit begins: the gathered answers now wait for it. */
void sh_gate_fly(struct sh_gate *g);
/* Send the answers that waited for the commit, which is now durable. */
void sh_gate_land(struct sh_gate *g);
/* Turn away all clients for whom an answer waits. */
void sh_gate_give_up(struct sh_gate *g, const char *why);

/* ---- Work ---- */

/* Slow work for a worker thread, in the caller's memory. */
struct sh_work {
	uv_work_t request;
	struct sh_gate *gate;
	void (*run)(void *of);  /* runs on the worker thread */
	void (*done)(void *of); /* then runs on the loop; it may free the work.  The pump follows */
	void *of;
	bool under_way;
};
/* Begin the work; ends the process if there is no thread. */
void sh_gate_work(
	struct sh_gate *g, struct sh_work *w, void (*run)(void *of), void (*done)(void *of), void *of);
