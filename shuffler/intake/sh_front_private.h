/* sh_front_private.h - the state of an intake, shared by the files sh_front*.c. */
#pragma once

#include "cm_clock.h"
#include "cm_log.h"
#include "sh_front.h"
#include "sh_refusal.h"
#include "sh_share.h"

/* A client, and our link to the head on its behalf. */
struct peer {
	struct sh_front *front;
	struct lk_link *link, *up; /* NULL once closed */
	bool up_ready, paused, over;
	bool refused;  /* told to come again: its further frames are dropped until it has closed */
	bool relayed;  /* a Submit went to the head, which may not have answered it */
	uint64_t mine; /* epoch in which its certificate's reports go through here */
	size_t held;   /* answers that wait for a commit */
	unsigned junk; /* refused Submits in a row */
	struct cr_identity who;
	struct sh_holder *holder;
	struct peer *next;
};

/* An answer to a Submit that waits for the head's signature and for a commit. */
struct answer {
	struct peer *peer;
	struct answer *next;
	struct sh_refusal no; /* code UNSPECIFIED: a receipt */
	uint8_t round_id[PR_ROUND_ID_LEN], root[PR_HASH_LEN], signature[CR_SIGN_LEN];
	size_t bytes; /* as in sh_quota_hold */
	size_t n;
	uint8_t outcomes[];
};
struct answers {
	struct answer *first, **end;
	size_t receipts;
};

enum share_at {
	SHARE_NONE,
	SHARE_LOADING, /* the tags are being read */
	SHARE_OPEN,    /* reports are taken */
};

struct task {
	uv_work_t work;
	struct sh_front *front;
	struct sh_share *share;
	bool loads; /* else it stores `batch` */
	struct sh_batch batch;
	size_t submissions;
	enum cm_rc rc;
	struct cm_err err;
};

struct sh_front {
	struct peer unknown; /* the user of a link before it has a peer */
	struct sh_front_conf conf;
	uv_loop_t *loop;
	struct lk_server *server;
	uv_timer_t timer;
	struct sh_quota *quota;
	struct peer *peers;
	struct cm_metrics *metrics;
	struct lk_metrics *shared;
	/* The head. */
	struct lk_link *head;
	bool head_ready;
	int64_t dial_at_ms, heard_ms, said_ms; /* monotonic */
	uint32_t backoff_ms;
	/* The share, and one that replaces it when the task has ended. */
	struct sh_share *share, *next;
	enum share_at at;
	bool replaced;     /* `next` takes the place of `share`, also if it is NULL */
	int64_t ask_at_ms; /* when to ask the head for the share again; 0: not */
	/* A batch: asked for at the head, then stored, then noted there; then its answers are sent. */
	bool asked;  /* the head has to answer */
	bool noting; /* it has to answer that it has noted what is stored */
	struct answers gathering, flying;
	struct sh_batch batch;
	size_t batch_devices;
	struct task task;
	bool task_under_way;
	bool pumping, paused, stopping, stopped;
	int64_t looked_ms; /* when the connections to databases were looked at last, by the monotonic clock */
	void (*on_stopped)(void *user);
	void *stopped_user;
};

/* sh_front.c */
void sh_front_pump(struct sh_front *f);
_Noreturn void sh_front_fatal(const struct cm_err *err);

/* sh_front_metrics.c: the i-th connection to a database, as struct sh_store's `database`; of: a sh_front. */
bool sh_front_database(void *of, size_t i, uint32_t *number, bool *up);

/* sh_front_peers.c: clients, and our links on their behalf. */
void sh_front_on_ready(struct lk_link *l, void *user);
void sh_front_on_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame);
void sh_front_on_drain(struct lk_link *l, void *user);
void sh_front_on_close(struct lk_link *l, void *user, const struct cm_err *why);
/* Tell a client to come again, perhaps elsewhere, and close. */
void sh_front_refuse(struct peer *p, uint32_t retry_ms, const char *why);
void sh_front_flow(struct peer *p);
void sh_front_drop(struct peer *p);
void sh_front_refuse_all(struct sh_front *f, const char *why);
void sh_front_relay(struct peer *p, const Tombola__V1__Frame *frame);
size_t sh_front_count(const struct sh_front *f);

/* sh_front_head.c: our own link to the head, and shares. */
void sh_front_dial(struct sh_front *f, int64_t mono_ms);
void sh_front_say(struct sh_front *f, const Tombola__V1__Frame *frame);
/* A certificate's reports shall go through here, or its last connection has closed. */
void sh_front_claim(struct peer *p, bool leaves);
/* End the share; ask for it again if the head is there. */
void sh_front_end_share(struct sh_front *f, const char *why, bool again);
/* Act on `replaced`, unless a task is under way. */
void sh_front_replace(struct sh_front *f);

/* sh_front_submit.c: Submits, batches, receipts. */
void sh_front_on_submit(struct peer *p, const Tombola__V1__Frame *frame);
/* Ask the head for the next batch, if it is time. */
void sh_front_batch(struct sh_front *f, int64_t now_ms);
int64_t sh_front_batch_wait_ms(const struct sh_front *f, int64_t now_ms);
void sh_front_signed(struct sh_front *f, const Tombola__V1__IntakeSigned *s);
/* Refuse all that wait. */
void sh_front_give_up(struct sh_front *f, const char *why);
/* Start reading the tags, or storing the batch, on a worker thread. */
void sh_front_start(struct sh_front *f, bool loads);

/* sh_front_metrics.c */
enum sh_front_event { SH_FRONT_ACCEPTED, SH_FRONT_COMMITS, SH_FRONT_EPOCHS, SH_FRONT_GIVEN_UP };
CM_CHECK enum cm_rc sh_front_metrics_new(struct sh_front *f, struct cm_err *err);
void sh_front_metrics_free(struct sh_front *f);
void sh_front_counted(struct sh_front *f, enum sh_front_event what, uint64_t n);
