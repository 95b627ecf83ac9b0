/* sh_serve.h - the shuffler on the network: links, the core, one task at a time on a worker thread. */
#pragma once

#include <uv.h>

#include "cm_http.h"
#include "lk_link.h"
#include "sh_metrics.h"

struct sh_serve_conf {
	const char *listen;
	int passed;             /* a listening socket to serve instead; 0: none */
	struct cm_tls_ctx *tls; /* borrowed; see sh_serve_reload */
	struct cm_conn_limits limits;
	struct sh_core *core;       /* borrowed */
	size_t high_water;          /* bytes not yet durable beyond which peers are paused */
	struct sh_metrics *metrics; /* borrowed */
};

struct sh_serve;

/* Listen on `loop`.  A fault that makes further acknowledgements impossible ends the process with the exit
 * code of the fault: nothing is sent after it.  After a failure handles are closing on `loop`: run it to its
 * end. */
CM_CHECK enum cm_rc sh_serve_new(
	uv_loop_t *loop, const struct sh_serve_conf *conf, struct sh_serve **out, struct cm_err *err);
int sh_serve_port(const struct sh_serve *s);
/* New connections use tls from now on; the caller frees the old one. */
void sh_serve_reload(struct sh_serve *s, struct cm_tls_ctx *tls);
/* Take no more submissions, finish the commit under way, send its receipts, close every link; then on_stopped
 * is called once, and the loop has nothing of ours left but what on_stopped closes. */
void sh_serve_stop(struct sh_serve *s, void (*on_stopped)(void *user), void *user);
/* After the loop has ended. */
void sh_serve_free(struct sh_serve *s);
/* State as a JSON object, malloc'd: counts only. */
char *sh_serve_status(struct sh_serve *s);
/* The same in a line for the service manager: the round under way, and what is spent. */
void sh_serve_say(struct sh_serve *s, char *text, size_t room);
bool sh_serve_stopping(const struct sh_serve *s);
/* The answer to GET /metrics, as cm_http_route.handle. */
int sh_serve_metrics(struct sh_serve *s, struct cm_http_reply *out);
