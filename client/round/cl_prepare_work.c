/* cl_prepare_work.c - prepares a round on the thread pool. */
#include "cl_prepare_work.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cl_answers.h"
#include "cm_clock.h"
#include "cm_fault.h"

#define LOOK_NS 50000000 /* pause between two checks of `stop` */

void cl_prepare_work_init(struct cl_prepare_work *p, const struct cl_context *context, struct cl_plans *plans)
{
	*p = (struct cl_prepare_work){ .context = context, .plans = plans };
	p->work.data = p;
	cm_buf_init(&p->descriptor, PR_DESCRIPTOR_MAX);
}

void cl_prepare_work_fini(struct cl_prepare_work *p)
{
	cl_prepared_fini(&p->prepared);
	cm_buf_fini(&p->descriptor);
}

static enum cm_rc keep(
	struct cl_prepare_work *p, const uint8_t *descriptor, size_t len, const uint8_t *signature)
{
	p->descriptor.len = 0;
	if (cm_buf_put(&p->descriptor, descriptor, len) != CM_OK)
		return CM_EINTERNAL;
	memcpy(p->signature, signature, PR_SIGNATURE_LEN);
	return CM_OK;
}

enum cm_rc cl_prepare_work_offer(
	struct cl_prepare_work *p, const Tombola__V1__Round *round, struct cm_err *err)
{
	p->descriptor.len = 0;
	if (round->descriptor.len == 0 || round->signature.len != PR_SIGNATURE_LEN ||
		keep(p, round->descriptor.data, round->descriptor.len, round->signature.data) != CM_OK)
		return cm_fail(err, CM_EPROTO, "a round without descriptor or signature");
	return CM_OK;
}

bool cl_prepare_work_is(const struct cl_prepare_work *p, const uint8_t *descriptor, size_t len)
{
	return p->descriptor.len == len && memcmp(p->descriptor.data, descriptor, len) == 0;
}

enum cm_rc cl_prepare_work_resume(
	struct cl_prepare_work *p, const struct cl_active *active, struct cm_err *err)
{
	cl_prepared_fini(&p->prepared);
	p->prepared = (struct cl_prepared){ 0 };
	if (keep(p, active->descriptor.data, active->descriptor.len, active->signature) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rd_descriptor_decode(p->descriptor.data, p->descriptor.len, &p->prepared.j.d, err) != CM_OK)
		return cm_context(err, "client.db: the active round");
	p->prepared.j.verified = p->prepared.j.resumed = true;
	return CM_OK;
}

void cl_prepare_work_forget(struct cl_prepare_work *p)
{
	cl_prepared_fini(&p->prepared);
}

void cl_prepare_work_drop(struct cl_prepare_work *p)
{
	cl_prepared_fini(&p->prepared);
	p->descriptor.len = 0;
}

void cl_prepare_work_look(const struct cl_prepare_work *p, uint64_t active)
{
	struct cl_db *db = p->context->db;
	struct rd_descriptor d;
	struct cm_err err, unused;

	if (rd_descriptor_verify(p->descriptor.data, p->descriptor.len, p->signature,
		    p->context->setup->analyzer, &d, &err) != CM_OK)
		return;
	if (d.sequence == active && cl_ledger_see(db, &d, cm_clock_wall_ms(), &err) == CM_EPERM) {
		cl_say(p->context, CM_LOG_ERROR, "round refused", &err);
		if (cl_ledger_refuse(db, &d, cm_clock_wall_ms(), err.msg, &unused) != CM_OK)
			cl_say(p->context, CM_LOG_ERROR, "ledger", &unused);
	}
	rd_descriptor_fini(&d);
}

bool cl_prepare_work_is_anothers(const struct cl_prepare_work *p, uint64_t sequence, struct cm_err *why)
{
	bool other = false;
	enum cm_rc rc =
		sequence > 0 && CM_CHECKED("client.key.stored")
			? cl_ledger_other_key(p->context->db, sequence, p->plans->key_hash, &other, why)
			: CM_OK;

	if (rc != CM_OK || !other)
		return false;
	(void)cm_fail(why, CM_EPERM,
		"round %" PRIu64 ": the certificate has another key than when its reports were sealed; those "
		"without a receipt are not sent, for some could count twice",
		sequence);
	cl_say(p->context, CM_LOG_WARN, "what is stored is not sent", why);
	return true;
}

/* ---- on the thread pool ---- */

/* The round's payload if it has arrived; borrowed until the round is over. */
static struct cl_payload_bytes payload_of(const struct cl_prepare_work *p)
{
	const struct cl_payload *from = &p->plans->payload;

	return from->state == CL_PAYLOAD_HERE ? (struct cl_payload_bytes){ from->bytes.data, from->bytes.len }
					      : (struct cl_payload_bytes){ NULL, 0 };
}

/* Fail if no device takes part and this client does not take part in the round already. */
static void check_batch(struct cl_prepare_work *p)
{
	size_t n = 0;

	if (p->prepared.batch)
		(void)cl_batch_entries(p->prepared.batch, &n);
	if (p->err.code == CM_OK && n == 0 && !p->prepared.j.resumed)
		(void)cm_fail(&p->err, CM_EDATA, "%s: no row names a device", p->input.path);
}

/* Have programs compute the values that the round asks for.  A spawner that has ended is not a fault of the
 * round: every device becomes NONE. */
static void compute(struct cl_prepare_work *p)
{
	const struct cl_answers a = { .programs = p->context->run->programs,
		.setup = p->context->setup,
		.from_ms = p->from,
		.stop = &p->plans->stop };
	struct cm_err why;

	if (p->err.code != CM_OK || !p->prepared.batch)
		return;
	if (cl_answers_take(&a, &p->prepared, &why) != CM_OK)
		cl_say(p->context, why.code == CM_EUNAVAIL ? CM_LOG_ERROR : CM_LOG_WARN,
			"programs compute nothing: devices take part as without readings", &why);
}

/* Wait until reading was to end.  That moment was fixed before reading began, so that the next steps do not
 * show how long reading took. */
static void rest(struct cl_prepare_work *p)
{
	int64_t left;

	if (p->err.code != CM_OK || !p->prepared.batch)
		return;
	while ((left = p->prepared.read_ns - cm_clock_mono_ns()) > 0 && !atomic_load(&p->plans->stop)) {
		const struct timespec wait = { 0, (long)(left < LOOK_NS ? left : LOOK_NS) };

		(void)nanosleep(&wait, NULL);
	}
	if (p->prepared.rows.late && cl_setup_shows(p->context->setup))
		cm_log(CM_LOG_WARN,
			"the time for reading was over before all was read: a longer `prepare` is needed",
			CM_I("round", p->prepared.j.d.sequence));
}

/* Record why a round is passed over, so that `check` can say it once the round has gone by.  A round that
 * waits for its time is not passed over, unless this host's clock is wrong.  Refusals are recorded where they
 * are judged. */
static void record(struct cl_prepare_work *p)
{
	const struct cl_judgement *j = &p->prepared.j;
	struct cm_err err;

	if (!j->verified || p->err.code == CM_OK || p->err.code == CM_EMORE || p->err.code == CM_EPERM ||
		p->err.code == CM_EBUDGET || p->err.code == CM_EIO || p->err.code == CM_EINTERNAL ||
		(p->err.code == CM_ELATER && !j->clock))
		return;
	if (cl_ledger_refuse(p->context->db, &j->d, cm_clock_wall_ms(), p->err.msg, &err) != CM_OK)
		cl_say(p->context, CM_LOG_ERROR, "ledger", &err);
}

static void judge(uv_work_t *w)
{
	struct cl_prepare_work *p = w->data;
	const struct cl_prepare_job job = {
		.db = p->context->db,
		.setup = p->context->setup,
		.input = p->by_mqtt ? NULL : &p->input,
		.secret = &p->context->secret,
		.descriptor = p->descriptor.data,
		.descriptor_len = p->descriptor.len,
		.signature = p->signature,
		.signature_len = PR_SIGNATURE_LEN,
		.now_ms = cm_clock_wall_ms(),
		.from_ms = p->from,
		.absent = p->plans->absent[0] != '\0' ? p->plans->absent : NULL,
		.payload = &p->plans->payload,
		.stop = &p->plans->stop,
	};

	p->err.code = cl_prepare(&job, &p->prepared, &p->err);
	if (!p->by_mqtt) {
		check_batch(p);
		rest(p);
		compute(p);
	}
	record(p);
}

static void draw(uv_work_t *w)
{
	struct cl_prepare_work *p = w->data;
	struct cl_prepared *r = &p->prepared;
	struct cr_rng rng;

	p->err.code = cr_rng_system(&rng, &p->err);
	r->payload = p->input.payload;
	cl_prepare_times(&p->context->setup->conf, &r->j.d, p->from, 0, &p->input, &r->read_ns);
	if (p->err.code == CM_OK)
		p->err.code =
			cl_prepare_batch(&p->input, &r->j.d, &p->context->setup->policy, &p->context->secret,
				&rng, r->j.resumed ? p->context->db : NULL, &r->batch, &r->rows, &p->err);
	check_batch(p);
	rest(p);
	compute(p);
	record(p);
}

static void on_worked(uv_work_t *w, int status)
{
	struct cl_prepare_work *p = w->data;

	(void)status;
	p->works = false;
	p->done(p->user);
}

static enum cm_rc start(
	struct cl_prepare_work *p, uv_work_cb work, void (*done)(void *user), void *user, struct cm_err *err)
{
	p->done = done;
	p->user = user;
	p->works = uv_queue_work((uv_loop_t *)&p->context->loop, &p->work, work, on_worked) == 0;
	return p->works ? CM_OK : cm_fail(err, CM_EINTERNAL, "the thread pool accepts no work");
}

enum cm_rc cl_prepare_work_judge(struct cl_prepare_work *p, const struct cl_input *input, int64_t from_ms,
	void (*done)(void *user), void *user, struct cm_err *err)
{
	p->from = from_ms > 0 ? from_ms : cm_clock_wall_ms();
	p->by_mqtt = !input;
	if (input) {
		p->input = *input;
		p->input.devices = p->context->devices;
		p->input.payload = payload_of(p);
	}
	return start(p, judge, done, user, err);
}

enum cm_rc cl_prepare_work_draw(
	struct cl_prepare_work *p, void (*done)(void *user), void *user, struct cm_err *err)
{
	p->input.payload = payload_of(p);
	return start(p, draw, done, user, err);
}
