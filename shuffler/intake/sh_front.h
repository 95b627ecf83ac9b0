/* sh_front.h - an intake: takes reports from clients into the store that it shares with its head, and
 * passes everything else to the head (doc/intakes.md).
 *
 * It has no state.  A fault of the store ends the process with that fault's exit code; nothing that was
 * acknowledged is lost by that. */
#pragma once

#include <uv.h>

#include "lk_metrics.h"
#include "nt_http.h"
#include "sh_gate.h"
#include "sh_store.h"

struct sh_front_conf {
	struct sh_gate_conf gate;     /* for clients, which dial us */
	const char *head;             /* address of the head; borrowed */
	struct nt_tls_ctx *up;        /* for the head, which we dial; borrowed; sh_front_reload replaces it */
	const struct sh_store *store; /* borrowed */
	size_t max_bytes;             /* most bytes of reports that are not durable yet */
	size_t commit_messages;       /* this and the next as in sh_core_conf */
	int64_t commit_wait_ms;
	struct cr_files files; /* for metrics; paths borrowed */
};

struct sh_front;

/* Listen on `loop`, and dial the head for as long as the intake exists.  If this call fails, handles are
 * still closing: run `loop` to its end. */
CM_CHECK enum cm_rc sh_front_new(
	uv_loop_t *loop, const struct sh_front_conf *conf, struct sh_front **out, struct cm_err *err);
int sh_front_port(const struct sh_front *f);
/* Use these for new connections.  The link to the head is dialled again; with `keep` only if `up` would not
 * accept the head.  The caller frees the old ones. */
void sh_front_reload(struct sh_front *f, struct nt_tls_ctx *tls, struct nt_tls_ctx *up, bool keep);
/* Finish the commit in progress, close every link, then call on_stopped once. */
void sh_front_stop(struct sh_front *f, void (*on_stopped)(void *user), void *user);
void sh_front_free(struct sh_front *f);
/* Why it takes no reports now; NULL: it does. */
const char *sh_front_not_ready(struct sh_front *f);
/* The state as a JSON object, malloc'd; it has only counts. */
char *sh_front_status(const struct sh_front *f);
/* Answer GET /metrics; called from nt_http_route.handle. */
int sh_front_metrics(struct sh_front *f, struct nt_http_reply *out);
struct lk_metrics *sh_front_shared(struct sh_front *f);
