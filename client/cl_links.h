/* cl_links.h - the client's connections to its shuffler: dialled, and dialled again when they end.  Knows uv.
 */
#pragma once

#include "cl_upload.h"
#include "lk_link.h"

struct cl_links;
struct cl_links_conf {
	uv_loop_t *loop;
	const char *address;    /* borrowed, like user */
	struct cm_tls_ctx *tls; /* borrowed until cl_links_reload gives another */
	unsigned n;             /* 1..CL_CONNECTIONS_MAX; one is kept until cl_links_want asks for more */
	void *user;
	/* The peer's Hello has come: only now is it "connected". */
	void (*on_up)(void *user, unsigned i);
	void (*on_frame)(void *user, unsigned i, const Tombola__V1__Frame *frame);
	/* It ended, was_up or not; it is dialled again unless cl_links_close was called. */
	void (*on_down)(void *user, unsigned i, bool was_up, const struct cm_err *why);
	/* After cl_links_close: nothing of this is left on the loop. */
	void (*on_closed)(void *user);
	struct lk_counts *counts; /* as in lk_handler */
};
/* Starts dialling.  NULL out of memory. */
struct cl_links *cl_links_new(const struct cl_links_conf *conf);
/* Ends every connection; on_closed comes later, and the links are freed after it. */
void cl_links_close(struct cl_links *l);
/* Every connection is dialled anew, with tls: what the old certificates vouched for, the new ones must vouch
 * for too.  The caller frees the old one. */
void cl_links_reload(struct cl_links *l, struct cm_tls_ctx *tls);
/* Keep connections 0..n-1 (at most conf.n); the others end. */
void cl_links_want(struct cl_links *l, unsigned n);
bool cl_links_up(const struct cl_links *l, unsigned i);
unsigned cl_links_count_up(const struct cl_links *l);
CM_CHECK enum cm_rc cl_links_send(
	struct cl_links *l, unsigned i, const Tombola__V1__Frame *frame, struct cm_err *err);
/* End one connection; it is dialled again after at least wait_ms. */
void cl_links_drop(struct cl_links *l, unsigned i, uint32_t wait_ms, const struct cm_err *why);
