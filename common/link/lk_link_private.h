/* lk_link_private.h - the inside of a link: for lk_link.c, lk_server.c and lk_admission.c only. */
#pragma once

#include "lk_admission.h"
#include "lk_link.h"

struct lk_link {
	struct nt_conn *conn;
	struct cm_buf in; /* bytes of an incomplete frame, and frames received while paused */
	struct lk_handler handler;
	void *user;
	bool ready, paused, accepted;
	int64_t frame_ms; /* longest time in which a frame of an accepted link must come; 0: no limit */
	int64_t since_ms; /* monotonic time since when `in` has a part of a frame; 0: it has none */
	struct lk_server *server; /* NULL: the link was dialled, or its server is gone */
	/* Tell the server that the link is gone.  `refused` says why it never became ready, and is NULL if
	 * it was ready.  NULL: the link was dialled. */
	void (*forget)(struct lk_link *l, const struct cm_err *refused);
	struct lk_link *prev, *next;
	struct lk_holder *holder; /* lk_admission.c: the entry of a client's certificate */
	bool service;             /* the link has a place that is kept for services */
	unsigned unknown;         /* number of frames received of an unknown kind */
};

/* The nt_conn_handler functions of a link; user is the link. */
void lk_link_opened(struct lk_link *l);
void lk_link_data(struct nt_conn *c, void *user, const uint8_t *data, size_t n);
void lk_link_drain(struct nt_conn *c, void *user);
void lk_link_closed(struct nt_conn *c, void *user, const struct cm_err *why);

/* Count a connection that never became a link. */
void lk_count_refused(struct lk_counts *counts, const struct cm_err *why);

struct lk_link *lk_link_new(const struct lk_handler *handler, void *user);
