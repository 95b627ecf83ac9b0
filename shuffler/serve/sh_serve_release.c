/* sh_serve_release.c - a sealed round for the analyzer: released, pulled, settled; buckets are read and
 * messages deleted on a worker thread, so that every other peer is served meanwhile.
 *
 * When a segment is sent depends on what the analyzer asks and on how long buckets are, which the manifest
 * states: every message of a round has one length, and is read, decrypted and moved the same way. */
#include <string.h>

#include "sh_serve_private.h"

/* Messages in one Segment: a frame with room for its other fields. */
#define SEGMENT_MAX   (PR_FRAME_MAX - 4096u)
#define PULL_PENDING  (4u << 20) /* bytes queued to the analyzer before further frames wait */
#define BUSY_RETRY_MS 1000u

#define BYTES(p, n) ((ProtobufCBinaryData){ (n), (uint8_t *)(p) })

static const uint8_t *id_of(const ProtobufCBinaryData *id)
{
	return id->len == PR_ROUND_ID_LEN ? id->data : NULL;
}

void sh_serve_on_release(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Release *release = frame->release;
	struct sh_core *core = p->serve->conf.core;
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Released released = TOMBOLA__V1__RELEASED__INIT;
	uint8_t round_id[PR_ROUND_ID_LEN] = { 0 };
	size_t releasing = sh_core_count(core, SH_RELEASING);
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_release(core, (struct cr_span){ release->charge.data, release->charge.len },
		(struct cr_span){ release->signature.data, release->signature.len }, round_id, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, round_id))
		return;
	sh_metrics_event(
		p->serve->conf.metrics, SH_EVENT_RELEASED, sh_core_count(core, SH_RELEASING) - releasing);
	cm_log(CM_LOG_INFO, "round released against its charge",
		CM_I("round", sh_core_number(core, round_id)));
	released.round_id = BYTES(round_id, PR_ROUND_ID_LEN);
	out.kind_case = TOMBOLA__V1__FRAME__KIND_RELEASED;
	out.released = &released;
	sh_serve_send(p, &out);
}

/* ---- Requests that wait for a job ---- */

static void pause_link(struct peer *p)
{
	if (!p->link || p->paused)
		return;
	p->paused = true;
	lk_pause(p->link);
}

static void begin_wait(struct peer *p, enum poll_kind kind)
{
	sh_serve_begin_poll(p, kind, INT64_MAX);
	pause_link(p);
}

/* The answer is queued. */
static void end_wait(struct peer *p)
{
	bool full = p->link && lk_pending(p->link) > PULL_PENDING;

	if (p->poll != POLL_NONE)
		sh_serve_end_poll(p);
	if (full) {
		pause_link(p);
	} else if (p->link && p->paused) {
		p->paused = false;
		lk_resume(p->link);
	}
}

static enum cm_rc one_at_a_time(const struct peer *p, struct sh_refusal *no)
{
	return p->poll == POLL_NONE ? CM_OK
				    : sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, BUSY_RETRY_MS,
					      "one request that waits at a time");
}

/* The shuffler is going down, and the job that this waits for is not begun. */
static enum cm_rc too_late(struct sh_refusal *no)
{
	return sh_refuse(
		no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, BUSY_RETRY_MS, "the shuffler is going down");
}

/* ---- Segments ---- */

static enum cm_rc try_segment(struct peer *p, const struct cr_span *id, bool late, struct sh_refusal *no)
{
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Segment segment = TOMBOLA__V1__SEGMENT__INIT;
	struct cr_span sealed;

	enum cm_rc rc = sh_core_pull(p->serve->conf.core, id->data, id->len, p->poll_bucket, p->poll_offset,
		SEGMENT_MAX, &sealed, no);
	if (rc != CM_OK)
		return rc == CM_EMORE && late ? too_late(no) : rc;
	segment.round_id = BYTES(id->data, id->len);
	segment.bucket = p->poll_bucket;
	segment.offset = p->poll_offset;
	segment.sealed = BYTES(sealed.data, sealed.len);
	out.kind_case = TOMBOLA__V1__FRAME__KIND_SEGMENT;
	out.segment = &segment;
	sh_serve_send(p, &out);
	end_wait(p);
	return CM_OK;
}

static void wait_or_refuse(struct peer *p, const Tombola__V1__Frame *frame, enum cm_rc rc,
	const struct sh_refusal *no, const struct cm_err *err, const ProtobufCBinaryData *id,
	enum poll_kind kind)
{
	if (rc == CM_EMORE) {
		memcpy(p->poll_round, id->data, PR_ROUND_ID_LEN);
		begin_wait(p, kind);
	} else {
		(void)sh_serve_passed(p, frame, rc, no, err, id_of(id));
	}
}

void sh_serve_on_pull(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Pull *pull = frame->pull;
	const struct cr_span id = { pull->round_id.data, pull->round_id.len };
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = one_at_a_time(p, &no);
	if (rc == CM_OK) {
		p->poll_bucket = pull->bucket;
		p->poll_offset = pull->offset;
		rc = try_segment(p, &id, p->serve->stopping, &no);
	}
	wait_or_refuse(p, frame, rc, &no, &err, &pull->round_id, POLL_SEGMENT);
}

/* ---- Settling ---- */

static enum cm_rc try_settle(
	struct peer *p, const struct cr_span *id, bool late, struct sh_refusal *no, struct cm_err *err)
{
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Settled settled = TOMBOLA__V1__SETTLED__INIT;

	enum cm_rc rc = sh_core_settle(p->serve->conf.core, id->data, id->len, no, err);
	if (rc != CM_OK)
		return rc == CM_EMORE && late ? too_late(no) : rc;
	settled.round_id = BYTES(id->data, id->len);
	out.kind_case = TOMBOLA__V1__FRAME__KIND_SETTLED;
	out.settled = &settled;
	sh_serve_send(p, &out);
	end_wait(p);
	return CM_OK;
}

void sh_serve_on_settle(struct peer *p, const Tombola__V1__Frame *frame)
{
	const ProtobufCBinaryData *round_id = &frame->settle->round_id;
	const struct cr_span id = { round_id->data, round_id->len };
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = one_at_a_time(p, &no);
	if (rc == CM_OK) /* erasures are done although the shuffler goes down */
		rc = try_settle(p, &id, false, &no, &err);
	wait_or_refuse(p, frame, rc, &no, &err, round_id, POLL_SETTLED);
}

/* ---- Jobs ---- */

void sh_serve_poll_released(struct peer *p, bool late)
{
	const struct cr_span id = { p->poll_round, PR_ROUND_ID_LEN };
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	struct sh_refusal no;
	struct cm_err err = { 0 };
	enum cm_rc rc;

	if (p->poll == POLL_SEGMENT) {
		frame.kind_case = TOMBOLA__V1__FRAME__KIND_PULL;
		rc = try_segment(p, &id, late, &no);
	} else {
		frame.kind_case = TOMBOLA__V1__FRAME__KIND_SETTLE;
		rc = try_settle(p, &id, false, &no, &err);
	}
	if (rc == CM_OK || rc == CM_EMORE)
		return;
	(void)sh_serve_passed(p, &frame, rc, &no, &err, p->poll_round);
	end_wait(p);
}

/* On the worker thread. */
static void job_run(uv_work_t *work)
{
	struct job *j = work->data;

	sh_core_job_run(&j->what);
}

static void job_done(uv_work_t *work, int status)
{
	struct job *j = work->data;
	struct sh_serve *s = j->serve;
	const struct sh_round *r = j->what.round;
	bool erased = j->what.kind == SH_JOB_ERASE && r->state == SH_ERASED;
	bool read = j->what.kind == SH_JOB_READ;
	uint64_t number = r->d.sequence;
	struct cm_err err = { 0 };

	(void)status; /* never cancelled */
	j->under_way = false;
	if (sh_core_job_end(s->conf.core, &j->what, &err) != CM_OK)
		sh_serve_fatal(&err);
	if (read && r->damage.code != CM_OK)
		cm_log(CM_LOG_ERROR, "a round that is being released is damaged; all others go on",
			CM_I("round", number), CM_S("query", r->d.query.name), CM_S("reason", r->damage.msg));
	if (erased) {
		sh_metrics_event(s->conf.metrics, SH_EVENT_ERASED, 1);
		cm_log(CM_LOG_INFO, "round erased", CM_I("round", number));
	}
	sh_serve_pump(s);
}

void sh_serve_jobs(struct sh_serve *s)
{
	struct job *j = &s->job;
	struct cm_err err = { 0 };

	if (j->under_way || sh_core_job_begin(s->conf.core, s->stopping, &j->what) == SH_JOB_NONE)
		return;
	j->work.data = j;
	j->serve = s;
	j->under_way = true;
	int status = uv_queue_work(s->loop, &j->work, job_run, job_done);
	if (status == 0)
		return;
	(void)cm_fail(&err, CM_EINTERNAL, "worker thread: %s", uv_strerror(status));
	sh_serve_fatal(&err);
}
