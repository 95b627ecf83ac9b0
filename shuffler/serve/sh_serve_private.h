/* sh_serve_private.h - the state of the server, shared by the files sh_serve*.c.
 *
 * From the top: sh_serve.c (lifetime, and what is to be done next), sh_serve_frames.c (the table of frames),
 * sh_serve_work.c (tasks), then the requests by kind, and sh_serve_answers.c, which all of them use. */
#pragma once

#include "cm_log.h"
#include "cm_text.h"
#include "sh_clock.h"
#include "sh_serve.h"

/* What a peer waits for.  The analyzer waits for buckets and erasures without a limit of ours; nothing is
 * read from it meanwhile. */
enum poll_kind { POLL_NONE, POLL_ROUND, POLL_MANIFEST, POLL_SEGMENT, POLL_SETTLED };

struct peer {
	struct sh_peer base;
	struct sh_serve *serve;
	unsigned refusals; /* refusals so far, for the log */
	bool named;        /* of an intake: it speaks on behalf of `who` */
	uint32_t intake;   /* of an intake's own link: its number, from 1; else 0 */
	unsigned signings; /* of an intake: its batches that wait for their signatures */
	int64_t heard_ms;  /* when that was heard last; monotonic */
	enum poll_kind poll;
	uint64_t poll_after, passed_over; /* passed_over: the round of which the client said so */
	uint8_t poll_round[PR_ROUND_ID_LEN];
	uint32_t poll_bucket;
	uint64_t poll_offset;
	int64_t poll_until_ms; /* monotonic */
	int64_t proof_from_ms; /* no proof is sent before this time; monotonic */
	int64_t part_ms; /* when a part was sent, or the peer was seen to read, last; monotonic; 0: never */
	size_t unread;   /* bytes that it had not taken when that was looked at last */
};

struct sh_serve {
	struct sh_gate gate;
	struct sh_serve_conf conf;
	struct cr_rng rng;
	/* On worker threads, beside each other: the task; a job; a composition, which may take minutes. */
	struct sh_work tasking, working, composing;
	struct sh_task task;
	uint64_t task_began_ns, compose_began_ns;
	struct sh_job job;
	struct sh_compose *compose;
	atomic_bool compose_stop;
	struct signing *signing; /* batches of intakes, in their order; the first is being signed */
	uint32_t last_intake;    /* the number given last */
	int64_t started_ms;
	int64_t asked_ms; /* monotonic; when the store was asked last whether it keeps what it has */
	struct sh_clock clock;
	struct sh_signed manifest; /* scratch: too large for the stack */
	struct cm_buf proof;       /* likewise */
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
/* A round's id, for an answer; NULL if the field holds none. */
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

/* sh_serve_questions.c: what clients ask for beside rounds; the ledger and payloads, for the analyzer. */
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
/* An epoch has begun or ended: tell every intake what it takes now. */
void sh_serve_shares(struct sh_serve *s);
/* The peer's link is closing: if it is an intake's own, the next epoch is without it. */
void sh_serve_intake_gone(struct peer *p);
/* End the link of an intake that is silent; else milliseconds until it is to be looked at again, -1: none. */
int64_t sh_serve_watch_intake(struct peer *p, int64_t mono_ms);

/* sh_serve_answers.c */
/* Handle a result of the core: true if the request succeeded, false if it was refused; does not return on the
 * shuffler's own faults. */
bool sh_serve_passed(struct peer *p, const Tombola__V1__Frame *frame, enum cm_rc rc,
	const struct sh_refusal *no, const struct cm_err *err, const uint8_t *round_id);
/* Log a refusal and answer with it, behind the receipts that the peer waits for. */
void sh_serve_refuse(struct peer *p, const Tombola__V1__Frame *frame, const struct sh_refusal *no,
	const uint8_t *round_id);
/* Send now, or after the commit that it names; `bytes` are those of new reports. */
void sh_serve_receipt(struct peer *p, const struct sh_receipt *receipt, size_t bytes);
/* Whether one more line about this peer may be a warning: a peer must not fill the log. */
bool sh_serve_is_loud(struct peer *p);
/* Send the manifest in s->manifest. */
void sh_serve_manifest(struct peer *p);
#define SH_SERVE_QUEUED   (1u << 20) /* bytes, for answers that are small */
#define SH_SERVE_RETRY_MS 1000u
/* Refuse (CM_EPROTO with *no, to try again after retry_ms) a peer that sends requests and does not read the
 * answers: more than `queued` bytes wait to be sent to it. */
CM_CHECK enum cm_rc sh_serve_check_reads(
	const struct peer *p, size_t queued, uint32_t retry_ms, struct sh_refusal *no);
/* Refuse a second request that waits. */
CM_CHECK enum cm_rc sh_serve_check_waits(const struct peer *p, struct sh_refusal *no);
