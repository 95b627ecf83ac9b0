/* sh_serve_private.h - the state of the server, shared by the files sh_serve*.c. */
#pragma once

#include "cm_clock.h"
#include "cm_log.h"
#include "cm_text.h"
#include "sh_late.h"
#include "sh_serve.h"

/* What a peer waits for.  The analyzer waits for buckets and erasures without a limit of ours; nothing is
 * read from it meanwhile. */
enum poll_kind { POLL_NONE, POLL_ROUND, POLL_MANIFEST, POLL_SEGMENT, POLL_SETTLED };

/* A peer that has sent Hello.  It is kept after its link closes while answers for it wait for a commit. */
struct peer {
	struct sh_serve *serve;
	struct lk_link *link; /* NULL once closed */
	struct cr_identity who;
	size_t held;              /* number of answers that wait for a commit */
	unsigned refusals;        /* refusals so far, for the log */
	unsigned junk;            /* refused Submits in a row */
	struct sh_holder *holder; /* usage of the client's certificate; NULL for the analyzer */
	bool named;               /* of an intake: it speaks on behalf of `who` */
	uint32_t intake;          /* of an intake's own link: its number, from 1; else 0 */
	unsigned signings;        /* of an intake: its batches that wait for their signatures */
	int64_t heard_ms;         /* when that was heard last; monotonic */
	bool paused, over;        /* over: paused because its certificate exceeded its quota */
	enum poll_kind poll;
	uint64_t poll_after, passed_over; /* passed_over: the round of which the client said so */
	uint8_t poll_round[PR_ROUND_ID_LEN];
	uint32_t poll_bucket;
	uint64_t poll_offset;
	int64_t poll_until_ms; /* monotonic */
	int64_t proof_from_ms; /* no proof is sent before this time; monotonic */
	int64_t part_ms; /* when a part was sent, or the peer was seen to read, last; monotonic; 0: never */
	size_t unread;   /* bytes that it had not taken when that was looked at last */
	struct peer *next;
};

/* An answer to a Submit that waits for a commit: a receipt, or an error that must follow a receipt. */
struct answer {
	struct peer *peer;
	struct answer *next;
	Tombola__V1__ErrorCode code; /* UNSPECIFIED: a receipt */
	uint32_t retry_after_ms;
	char text[PR_TEXT_MAX + 1];
	uint8_t round_id[PR_ROUND_ID_LEN], signature[CR_SIGN_LEN];
	size_t bytes; /* bytes of new reports, which count against the peer's quota until they are durable */
	size_t n;
	uint8_t outcomes[];
};
struct answers {
	struct answer *first, **end;
};

struct task {
	uv_work_t work;
	struct sh_serve *serve;
	struct sh_task what;
	uint64_t began_ns;
};

/* A job on a worker thread, in parallel to the task. */
struct job {
	uv_work_t work;
	struct sh_serve *serve;
	struct sh_job what;
	bool under_way;
};

/* A composition on a worker thread, which may take minutes; it runs in parallel to the task. */
struct composing {
	uv_work_t work;
	struct sh_serve *serve;
	struct sh_compose *what;
	atomic_bool stop;
	bool under_way;
	uint64_t began_ns;
};

struct sh_serve {
	struct peer unknown; /* the user of a link before its own peer is created; in no list */
	struct sh_serve_conf conf;
	uv_loop_t *loop;
	struct lk_server *server;
	uv_timer_t timer;
	struct cr_rng rng;
	struct peer *peers;
	struct sh_quota *quota;
	struct answers gathering, flying; /* answers by the commit that they wait for */
	struct task task;
	struct job job;
	struct composing composing;
	struct signing *signing; /* batches of intakes, in their order; the first is being signed */
	uint32_t last_intake;    /* the number given last */
	bool task_under_way, paused, pumping;
	bool stopping, stopped;
	int64_t started_ms;
	int64_t asked_ms;  /* monotonic; when the store was asked last whether it keeps what it has */
	int64_t looked_ms; /* when the connections to databases were looked at last, by the monotonic clock */
	struct cm_steady clock; /* of the open round */
	bool clock_held;        /* a round is open, by `clock` */
	struct sh_late late;
	void (*on_stopped)(void *user);
	void *stopped_user;
	struct sh_signed manifest; /* scratch: too large for the stack */
	struct cm_buf proof;       /* likewise */
	uint8_t part[PR_PAYLOAD_PART];
};

/* Start everything that can proceed: tasks, long polls, back-pressure, the timer.  Every callback calls it at
 * its end. */
void sh_serve_pump(struct sh_serve *s);
/* The time for the core.  While a round is open it does not follow a wall clock that is set, so that the
 * round ends neither early nor late; between rounds it is the wall clock.  A shuffler that starts past the
 * deadline of its open round, which would be void, holds the time before that deadline for half a minute: a
 * machine that has just booted may not have its time yet.  It goes on if the clock is put right meanwhile. */
int64_t sh_serve_now(struct sh_serve *s);
/* Log and end the process: storage or memory failed, so nothing more may be acknowledged. */
_Noreturn void sh_serve_fatal(const struct cm_err *err);

/* sh_serve_quota.c; these functions do nothing for the analyzer. */
/* Register a client's connection (false: out of memory), and remove it. */
CM_CHECK bool sh_serve_join(struct peer *p);
void sh_serve_leave(struct peer *p);
/* Charge so many frames to the peer's certificate. */
void sh_serve_charge(struct peer *p, uint32_t frames);
/* Count a refused Submit; too many in a row end the connection.  BUSY refusals do not count, since the
 * shuffler causes those. */
void sh_serve_junk(struct peer *p, const struct sh_refusal *no);
/* Read on from this client or pause it.  It is paused while too many bytes of all clients wait to be durable,
 * too many answers to it wait for that, or its certificate has used its quota. */
void sh_serve_flow(struct peer *p);
/* Milliseconds until a peer paused for its quota must be checked again; -1: no need. */
int64_t sh_serve_over_ms(const struct peer *p, int64_t mono_ms);
/* Raise the limit of open files for so many connections, as far as the system permits. */
void sh_serve_allow_files(uint32_t connections);

/* sh_serve_compose.c: start a composition if one is due; its end calls sh_serve_pump. */
void sh_serve_compose(struct sh_serve *s);

/* sh_serve_release.c: frames by which the analyzer releases, pulls and settles a round. */
void sh_serve_on_release(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_pull(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_settle(struct peer *p, const Tombola__V1__Frame *frame);
/* Answer POLL_SEGMENT or POLL_SETTLED if there is an answer; late: there must be one. */
void sh_serve_poll_released(struct peer *p, bool late);
/* Start a job if one is due; its end calls sh_serve_pump. */
void sh_serve_jobs(struct sh_serve *s);

/* sh_serve_plans.c: frames about plans, manifests and standings, for clients; about the ledger, for the
 * analyzer. */
void sh_serve_on_get_plan(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_get_manifest(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_get_standing(struct peer *p, const Tombola__V1__Frame *frame);
/* Log the result of a client's statement about the ledger. */
void sh_serve_say_stated(const struct sh_core *core, enum sh_stated what);
void sh_serve_on_get_witness(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_extend(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_get_policy(struct peer *p, const Tombola__V1__Frame *frame);

/* sh_serve_frames.c */
/* Handle a result of the core: true if the request succeeded, false if it was refused; does not return on the
 * shuffler's own faults. */
bool sh_serve_passed(struct peer *p, const Tombola__V1__Frame *frame, enum cm_rc rc,
	const struct sh_refusal *no, const struct cm_err *err, const uint8_t *round_id);
/* Send the manifest in s->manifest. */
void sh_serve_manifest(struct peer *p);
void sh_serve_on_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame);
/* Answer a long poll if an answer is available or its time is up. */
void sh_serve_poll(struct peer *p, int64_t now_ms, int64_t mono_ms);
/* The peer waits for an answer, until this monotonic time; its silence is expected until the end. */
void sh_serve_begin_poll(struct peer *p, enum poll_kind kind, int64_t until_ms);
void sh_serve_end_poll(struct peer *p);
void sh_serve_send(struct peer *p, const Tombola__V1__Frame *frame);

/* sh_serve_intakes.c: frames of intakes; doc/intakes.md. */
void sh_serve_on_behalf(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_join(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_claim(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_batch(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_stored(struct peer *p, const Tombola__V1__Frame *frame);
/* sh_serve_sign.c: promise places for a batch, and answer it once its receipts are signed. */
struct sh_signing;
void sh_serve_sign(struct peer *p, const struct sh_signing *what);
/* So many devices of the epoch are stored: answer when it is noted (sh_core_mark). */
void sh_serve_note(struct peer *p, uint64_t epoch, uint64_t devices);
/* An epoch has begun or ended: tell every intake what it takes now. */
void sh_serve_shares(struct sh_serve *s);
/* The peer's link is closing: if it is an intake's own, the next epoch is without it. */
void sh_serve_intake_gone(struct peer *p);
/* End the link of an intake that is silent; else milliseconds until it is to be looked at again, -1: none. */
int64_t sh_serve_watch_intake(struct peer *p, int64_t mono_ms);

/* sh_serve_payload.c */
void sh_serve_on_put_payload(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_get_payload(struct peer *p, const Tombola__V1__Frame *frame);

/* sh_serve_proof.c */
#define SH_SERVE_QUEUED   (1u << 20) /* bytes, for answers that are small */
#define SH_SERVE_RETRY_MS 1000u
/* Refuse (CM_EPROTO with *no, to try again after retry_ms) a peer that sends requests and does not read the
 * answers: more than `queued` bytes wait to be sent to it. */
CM_CHECK enum cm_rc sh_serve_check_reads(
	const struct peer *p, size_t queued, uint32_t retry_ms, struct sh_refusal *no);
void sh_serve_on_get_proof(struct peer *p, const Tombola__V1__Frame *frame);

/* sh_serve_answers.c */
void sh_answers_init(struct answers *a);
/* Send now, or after the commit that `wait` names.  Answers to one peer keep their order. */
void sh_serve_receipt(struct peer *p, const struct sh_receipt *receipt, size_t bytes);
void sh_serve_refuse(struct peer *p, const struct sh_refusal *no, const uint8_t *round_id);
/* A commit begins: what gathered waits for it. */
void sh_serve_answers_fly(struct sh_serve *s);
/* Send the answers that waited for the commit which is durable now. */
void sh_serve_release_answers(struct sh_serve *s);
/* Free a peer whose link is closed and for which no answer waits. */
void sh_serve_drop_peer(struct peer *p);
