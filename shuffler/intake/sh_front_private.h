/* sh_front_private.h - the state of an intake, shared by the files sh_front*.c.
 *
 * From the top: sh_front.c (lifetime, links of clients and to the head), sh_front_share.c (takes and stores
 * reports), sh_front_peers.c (sends frames for a client), sh_front_metrics.c. */
#pragma once

#include "cm_clock.h"
#include "cm_log.h"
#include "sh_front.h"
#include "sh_share.h"

/* A client, and our link to the head on its behalf. */
struct peer {
	struct sh_peer base;
	struct sh_front *front;
	struct lk_link *up; /* NULL once it is closed */
	bool up_ready;
	bool relayed;  /* a Submit went to the head, which may not have answered it */
	uint64_t mine; /* epoch in which its certificate's reports go through this intake */
};

enum share_at {
	SHARE_NONE,
	SHARE_LOADING, /* the tags are being read */
	SHARE_OPEN,    /* reports are being taken */
};

/* Work on a worker thread: the tags are read, or a batch is stored. */
struct task {
	struct sh_share *share;
	bool loads; /* true: it loads tags; false: it stores `batch` */
	struct sh_batch batch;
	size_t submissions;
	enum cm_rc rc;
	struct cm_err err;
};

struct sh_front {
	struct sh_gate gate;
	struct sh_front_conf conf;
	struct cm_metrics *metrics;
	struct lk_metrics *shared;
	/* The head. */
	struct lk_link *head;
	bool head_ready;
	int64_t dial_at_ms, heard_ms, said_ms; /* monotonic times */
	uint32_t backoff_ms;
	/* The share, and one that will replace it when the task has ended. */
	struct sh_share *share, *next;
	enum share_at at;
	bool replaced;     /* `next` takes the place of `share`, even if it is NULL */
	int64_t ask_at_ms; /* when to ask the head for the share again; 0: no need */
	/* A batch is first asked for at the head, then stored, then noted at the head; then its answers are
	 * sent. */
	bool asked;  /* the head has not answered yet */
	bool noting; /* the head has not answered yet that it has noted what is stored */
	struct sh_batch batch;
	size_t batch_devices;
	struct sh_work tasking;
	struct task task;
};

/* The peers, in the order of the gate's list. */
static inline struct peer *first_peer(const struct sh_front *f)
{
	return (struct peer *)f->gate.peers;
}
static inline struct peer *next_peer(const struct peer *p)
{
	return (struct peer *)p->base.next;
}

/* sh_front_peers.c: sends frames to the head, on a client's behalf or over our own link. */
void sh_front_say(struct sh_front *f, const Tombola__V1__Frame *frame);
/* Say that a certificate's reports go through this intake, or that its last connection has closed. */
void sh_front_claim(struct peer *p, bool leaves);
CM_CHECK enum cm_rc sh_front_dial_for(struct peer *p, struct cm_err *err);
void sh_front_relay(struct peer *p, const Tombola__V1__Frame *frame);
/* The same as sh_gate_flow; a client also waits for its link to the head. */
void sh_front_flow(struct peer *p);

/* sh_front_share.c: shares of rounds, Submits, batches, receipts. */
CM_CHECK enum cm_rc sh_front_take_share(
	struct sh_front *f, const Tombola__V1__IntakeShare *s, struct cm_err *err);
void sh_front_take_claimed(struct sh_front *f, const Tombola__V1__IntakeClaimed *c);
void sh_front_signed(struct sh_front *f, const Tombola__V1__IntakeSigned *s);
void sh_front_on_submit(struct peer *p, const Tombola__V1__Frame *frame);
/* End the share, and ask for it again if the head is connected. */
void sh_front_end_share(struct sh_front *f, const char *why, bool again);
/* If `replaced` is set, replace the share, unless a task is under way. */
void sh_front_replace(struct sh_front *f);
/* Ask the head for the next batch, if it is time.  Returns the milliseconds until it is, -1: no need. */
void sh_front_batch(struct sh_front *f, int64_t now_ms);
int64_t sh_front_batch_wait_ms(const struct sh_front *f, int64_t now_ms);
/* Refuse all clients that wait. */
void sh_front_give_up(struct sh_front *f, const char *why);

/* sh_front_metrics.c */
enum sh_front_event { SH_FRONT_ACCEPTED, SH_FRONT_COMMITS, SH_FRONT_EPOCHS, SH_FRONT_GIVEN_UP };
CM_CHECK enum cm_rc sh_front_metrics_new(struct sh_front *f, struct cm_err *err);
void sh_front_metrics_free(struct sh_front *f);
void sh_front_counted(struct sh_front *f, enum sh_front_event what, uint64_t n);
/* The i-th connection to a database, as `database` of struct sh_store; of is a sh_front. */
bool sh_front_database(void *of, size_t i, uint32_t *number, bool *up);
