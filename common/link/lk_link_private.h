/* lk_link_private.h - a link from the inside: for lk_link.c and lk_server.c only. */
#pragma once

#include "lk_link.h"

struct lk_link {
	struct cm_conn *conn;
	struct cm_buf in; /* bytes of a frame that is not yet whole, and frames kept while paused */
	struct lk_handler handler;
	void *user;
	bool ready, paused, accepted;
	struct lk_server *server; /* NULL: dialled, or the server is gone */
	struct lk_link *prev, *next;
};

/* The cm_conn_handler functions of a link; user is the link. */
void lk_link_opened(struct lk_link *l);
void lk_link_data(struct cm_conn *c, void *user, const uint8_t *data, size_t n);
void lk_link_drain(struct cm_conn *c, void *user);
void lk_link_closed(struct cm_conn *c, void *user, const struct cm_err *why);

/* Count a connection that never became a link. */
void lk_count_refused(struct lk_counts *counts, const struct cm_err *why);

struct lk_link *lk_link_new(const struct lk_handler *handler, void *user);
/* lk_server.c: a link of its is gone, `why` it never became ready or NULL. */
void lk_server_forget(struct lk_link *l, const struct cm_err *refused);
