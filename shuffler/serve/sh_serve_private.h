/* sh_serve_private.h - the state of the server, shared by the files sh_serve*.c.
 *
 * From the top: sh_serve.c (lifetime, and what is due next), sh_serve_frames.c (the table of frames),
 * sh_serve_work.c (tasks), then the requests by kind, and sh_serve_answers.c, which all of them use. */
#pragma once

#include "cm_log.h"
#include "cm_text.h"
#include "sh_clock.h"
#include "sh_serve.h"

/* What a peer waits for.  The analyzer waits for buckets and erasures without a time limit; nothing is read
 * from it meanwhile. */
enum poll_kind { POLL_NONE, POLL_ROUND, POLL_MANIFEST, POLL_SEGMENT, POLL_SETTLED, POLL_REHEARSAL };

struct peer {
	struct sh_peer base;
	struct sh_serve *serve;
	unsigned refusals; /* refusals so far, for the log */
	bool named;        /* link of an intake: it speaks on behalf of the client `who` */
	uint32_t intake;   /* an intake's own link: its number, from 1; otherwise 0 */
	unsigned signings; /* intake: number of its batches that wait for their signatures */
	int64_t heard_ms;  /* when something last came from it; monotonic */
	enum poll_kind poll;
	uint64_t poll_after, passed_over; /* passed_over: the round that the client said it passed over */
	bool poll_rehearses;              /* the request may be answered with a rehearsal */
	uint8_t poll_round[PR_ROUND_ID_LEN];
	uint32_t poll_bucket;
	uint64_t poll_offset;
	int64_t poll_until_ms; /* monotonic */
	int64_t proof_from_ms; /* no proof is sent before this time; monotonic */
	/* when a part was last sent, or the peer was last seen to read; monotonic; 0: never */
	int64_t part_ms;
	size_t unread;      /* bytes that it had not taken when that was last looked at */
	uint64_t rehearsal; /* number of the last rehearsal in which its certificate was asked; 0: none */
	bool drafting;      /* a draft is on its way to it */
};

struct sh_serve {
	struct sh_gate gate;
	struct sh_serve_conf conf;
	struct cr_rng rng;
	/* Worker threads run these at the same time: the task; a job; a composition, which may take
	 * minutes. */
	struct sh_work tasking, working, composing;
	struct sh_task task;
	uint64_t task_began_ns, compose_began_ns;
	struct sh_job job;
	struct sh_compose *compose;
	atomic_bool compose_stop;
	struct sh_policy old; /* the policy whose texts the composition under way reads, if keeps_old */
	bool keeps_old;
	struct signing *signing; /* batches of intakes, in their order; the first one is being signed */
	uint32_t last_intake;    /* the last number that was given */
	size_t drafting;         /* drafts on their way to clients */
	int64_t started_ms;
	int64_t asked_ms; /* when the store was last asked whether it keeps its data; monotonic */
	struct sh_clock clock;
	struct sh_signed manifest; /* working memory, too large for the stack */
	struct cm_buf proof;       /* working memory, too */
	uint8_t part[PR_PAYLOAD_PART];
};

/* The peers, in the order of the gate's list. */
static inline struct peer *first_peer(const struct sh_serve *s)
{
	return (struct peer *)s->gate.peers;
}
static inline struct peer *next_peer(const struct peer *p)
{
	return (struct peer *)p->base.next;
}
static inline int64_t now_of(struct sh_serve *s)
{
	return sh_clock_now(&s->clock, s->conf.core);
}
/* A round's id, for an answer; NULL if the field has none. */
static inline const uint8_t *id_of(const ProtobufCBinaryData *id)
{
	return id->len == PR_ROUND_ID_LEN ? id->data : NULL;
}
#define SPAN(field) ((struct cr_span){ (field).data, (field).len })
#define BYTES(p, n) ((ProtobufCBinaryData){ (n), (uint8_t *)(p) })

/* sh_serve_work.c: begin the tasks, jobs and compositions that are due, each on a worker thread. */
void sh_serve_tasks(struct sh_serve *s, int64_t now_ms);
void sh_serve_compose(struct sh_serve *s);
void sh_serve_jobs(struct sh_serve *s);

/* sh_serve_frames.c: the table of frames, and those that concern the open or a sealed round. */
void sh_serve_frame(struct peer *p, const Tombola__V1__Frame *frame);
/* Answer a long poll if an answer is available or its time is up. */
void sh_serve_poll(struct peer *p, int64_t now_ms, int64_t mono_ms);

/* sh_serve_questions.c: requests of clients that are not about the open round; the ledger and payloads, for
 * the analyzer. */
void sh_serve_on_get_plan(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_get_manifest(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_get_standing(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_get_witness(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_extend(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_get_policy(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_put_payload(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_get_payload(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_get_proof(struct peer *p, const Tombola__V1__Frame *frame);
/* Log the result of a client's statement about the ledger. */
void sh_serve_say_stated(const struct sh_core *core, enum sh_stated what);

/* sh_serve_intakes.c: frames of intakes; doc/intakes.md. */
void sh_serve_on_behalf(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_join(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_claim(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_batch(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_stored(struct peer *p, const Tombola__V1__Frame *frame);
/* Call it when an epoch has begun or ended: tells every intake what it takes now. */
void sh_serve_shares(struct sh_serve *s);
/* Call it when a peer's link closes: if it is an intake's own link, the next epoch is without that
 * intake. */
void sh_serve_intake_gone(struct peer *p);
/* End the link of an intake that is silent; otherwise returns the milliseconds until it must be looked at
 * again, -1: there is no need. */
int64_t sh_serve_watch_intake(struct peer *p, int64_t mono_ms);

/* sh_serve_answers.c */
/* Handle a result of the core: true if the request succeeded, false if it was refused; does not return on the
 * shuffler's own faults. */
bool sh_serve_passed(struct peer *p, const Tombola__V1__Frame *frame, enum cm_rc rc,
	const struct sh_refusal *no, const struct cm_err *err, const uint8_t *round_id);
/* Log a refusal and answer with it, behind the receipts that the peer waits for. */
void sh_serve_refuse(struct peer *p, const Tombola__V1__Frame *frame, const struct sh_refusal *no,
	const uint8_t *round_id);
/* Send it now, or after the commit that it names; `bytes` are those of new reports. */
void sh_serve_receipt(struct peer *p, const struct sh_receipt *receipt, size_t bytes);
/* May one more line about this peer be a warning?  A peer must not fill the log. */
bool sh_serve_is_loud(struct peer *p);
/* Send the manifest in s->manifest. */
void sh_serve_manifest(struct peer *p);
#define SH_SERVE_QUEUED   (1u << 20) /* queued bytes up to which small answers are sent */
#define SH_SERVE_RETRY_MS 1000u
/* Refuse (CM_EPROTO with *no, to try again after retry_ms) a peer that sends requests and does not read the
 * answers: more than `queued` bytes wait to be sent to it. */
CM_CHECK enum cm_rc sh_serve_check_reads(
	const struct peer *p, size_t queued, uint32_t retry_ms, struct sh_refusal *no);
/* Refuse a second request that would wait. */
CM_CHECK enum cm_rc sh_serve_check_waits(const struct peer *p, struct sh_refusal *no);
