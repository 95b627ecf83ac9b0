/* sh_serve_private.h - what the files of sh_serve share. */
#pragma once

#include "cm_clock.h"
#include "cm_log.h"
#include "sh_serve.h"

enum poll_kind { POLL_NONE, POLL_ROUND, POLL_MANIFEST };

/* A link that has said Hello.  It outlives its link while answers for it wait for a commit. */
struct peer {
	struct sh_serve *serve;
	struct lk_link *link; /* NULL once closed */
	struct cm_identity who;
	size_t held;       /* answers that wait for a commit */
	unsigned refusals; /* so far, for the log */
	bool paused;
	enum poll_kind poll;
	uint64_t poll_after;
	uint8_t poll_round[PR_ROUND_ID_LEN];
	int64_t poll_until_ms; /* monotonic */
	struct peer *next;
};

/* An answer to a Submit that waits for a commit: a receipt, or an error behind one. */
struct answer {
	struct peer *peer;
	struct answer *next;
	Tombola__V1__ErrorCode code; /* UNSPECIFIED: a receipt */
	uint32_t retry_after_ms;
	char text[PR_TEXT_MAX + 1];
	uint8_t round_id[PR_ROUND_ID_LEN], signature[CM_SIGN_LEN];
	size_t n;
	uint8_t outcomes[];
};
struct answers {
	struct answer *first, **end;
};

struct task {
	uv_work_t work;
	struct sh_serve *serve;
	enum sh_task kind;
	struct sh_round *round;
	struct sh_batch batch;
	uint32_t dummies;
	struct rd_bucket *buckets;
	uint64_t began_ns;
	enum cm_rc rc;
	struct cm_err err;
};

struct sh_serve {
	struct sh_serve *self; /* first, as in a peer: a link's user is one of the two */
	struct sh_serve_conf conf;
	uv_loop_t *loop;
	struct lk_server *server;
	uv_timer_t timer;
	struct cm_rng rng;
	struct peer *peers;
	struct answers gathering, flying; /* by the commit they wait for */
	struct task task;
	bool task_under_way, paused, pumping;
	bool stopping, stopped;
	int64_t started_ms;
	void (*on_stopped)(void *user);
	void *stopped_user;
	char spent_text[64]; /* of the ledger at spent_seq */
	uint64_t spent_seq;
	struct sh_signed manifest; /* scratch: too large for the stack */
};

/* Move everything that can move: tasks, long polls, back-pressure, the timer.  Called at the end of every
 * callback. */
void sh_serve_pump(struct sh_serve *s);
/* Log and end the process: storage or memory failed, so nothing more may be acknowledged. */
_Noreturn void sh_serve_fatal(const struct cm_err *err);

/* Read on from this client, or stop: while too much of all of them waits to be durable, or too many answers
 * to this one wait for that. */
void sh_serve_flow(struct peer *p);

/* sh_serve_frames.c */
void sh_serve_on_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame);
/* Answer a long poll if there is an answer, or time is up. */
void sh_serve_poll(struct peer *p, int64_t now_ms, int64_t mono_ms);
void sh_serve_send(struct peer *p, const Tombola__V1__Frame *frame);

/* sh_serve_answers.c */
void sh_answers_init(struct answers *a);
/* Send now, or after the commit that `wait` names; answers to one peer keep their order. */
void sh_serve_receipt(struct peer *p, const struct sh_receipt *receipt);
void sh_serve_refuse(struct peer *p, const struct sh_refusal *no, const uint8_t *round_id);
/* The commit under way is durable: send what waited for it. */
void sh_serve_release_answers(struct sh_serve *s);
/* Forget a peer whose link is closed and for whom nothing waits. */
void sh_serve_drop_peer(struct peer *p);
