/* sh_serve.h - connects the shuffler's core to the network: links, requests, and one task at a time on a
 * worker thread. */
#pragma once

#include <uv.h>

#include "nt_http.h"
#include "sh_gate.h"
#include "sh_metrics.h"

struct sh_serve_conf {
	struct sh_gate_conf gate;
	struct sh_core *core;         /* borrowed */
	size_t high_water;            /* number of bytes not durable yet above which peers are paused */
	size_t parts_bytes;           /* most bytes of payloads that peers have not read */
	struct sh_metrics *metrics;   /* borrowed */
	const struct sh_store *store; /* borrowed: the core's store, whose databases are watched */
};

struct sh_serve;

/* Listen on `loop`.  A fault after which nothing more may be acknowledged ends the process with that
 * fault's exit code, before anything else is sent.  A lost connection to a database does so, too, within
 * two seconds of when this host knows it.  If this call fails, handles are still closing: run `loop` to its
 * end. */
CM_CHECK enum cm_rc sh_serve_new(
	uv_loop_t *loop, const struct sh_serve_conf *conf, struct sh_serve **out, struct cm_err *err);
int sh_serve_port(const struct sh_serve *s);
/* Use tls for new connections from now on; the caller frees the old one. */
void sh_serve_reload(struct sh_serve *s, struct nt_tls_ctx *tls);
/* The policy of the core has other values (sh_core_reconsider).  *old, the policy before, is freed once no
 * thread reads it; the caller forgets it. */
void sh_serve_reconsider(struct sh_serve *s, struct sh_policy *old);
/* Stop: accept no more reports, finish the commit in progress, send its receipts, and close every link.
 * Then on_stopped is called once; after it the loop holds none of the server's handles. */
void sh_serve_stop(struct sh_serve *s, void (*on_stopped)(void *user), void *user);
/* Free, after the loop has ended. */
void sh_serve_free(struct sh_serve *s);
/* The state as a JSON object, malloc'd; it has only counts. */
char *sh_serve_status(struct sh_serve *s);
/* The state in one line for the service manager: the current round and the spent budget. */
void sh_serve_say(struct sh_serve *s, char *text, size_t room);
/* Why it is not ready, in one line; NULL: it is ready. /readyz, `check`, the metric and the service manager
 * get this line. */
const char *sh_serve_not_ready(const struct sh_serve *s);
/* Answer GET /metrics; called from nt_http_route.handle. */
int sh_serve_metrics(struct sh_serve *s, struct nt_http_reply *out);
