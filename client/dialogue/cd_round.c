/* cd_round.c - the steps of a round, from the sealing of its messages to their erasure. */
#include "cd_round.h"

#include "cd_times.h"
#include "cm_fault.h"
#include "pr_error.h"

#define GRACE_MS  5000 /* how long after the deadline outcomes are awaited that are on their way */
#define RESUME_MS 3000 /* least time for a round that is resumed after its deadline */
#define CLOSED_MS 2000 /* how long after "round closed" receipts are awaited on other connections */
#define RETRY_MS  1000u

/* Set the action, and return true; or return false after changing the step, so that the new one decides. */
typedef bool step_fn(struct cd_round *r, int64_t now_ms, struct cd_action *out);
static step_fn at_seal, at_whole, at_hold, at_send, at_close, at_end, at_erase, at_over;

/* The steps in their order. */
static const struct {
	bool seals;   /* devices are given out to be sealed */
	bool saves;   /* what is sealed is saved */
	bool listens; /* frames are processed */
	step_fn *run;
} steps[] = {
	[CD_AT_SEAL] = { true, true, true, at_seal },
	[CD_AT_WHOLE] = { true, true, true, at_whole },
	[CD_AT_HOLD] = { true, true, true, at_hold },
	[CD_AT_SEND] = { true, true, true, at_send },
	[CD_AT_CLOSE] = { false, true, true, at_close },
	[CD_AT_END] = { false, false, false, at_end },
	[CD_AT_ERASE] = { false, false, false, at_erase },
	[CD_AT_OVER] = { false, false, false, at_over },
};

void cd_round_begin(struct cd_round *r, const struct cd_round_conf *conf, int64_t now_ms)
{
	int64_t deadline_ms = conf->d->deadline_ms;

	*r = (struct cd_round){ .conf = *conf,
		.late = now_ms >= deadline_ms,
		.over_ms = deadline_ms + GRACE_MS,
		.total = conf->saved + conf->devices,
		.given = conf->answered,
		.after = -1 };
	if (r->over_ms < now_ms + RESUME_MS)
		r->over_ms = now_ms + RESUME_MS;
	if (!conf->stopped)
		return;
	r->step = CD_AT_CLOSE;
	r->close_ms = now_ms;
}

/* End the round; with CM_OK in `why` its sealed bytes are erased. */
static void end(struct cd_round *r, const struct cm_err *why)
{
	if (r->step >= CD_AT_END)
		return;
	r->step = CD_AT_END;
	r->why = *why;
}

static void end_well(struct cd_round *r)
{
	end(r, &(struct cm_err){ .code = CM_OK });
}

/* The shuffler takes nothing more of this round. */
static void close_soon(struct cd_round *r, int64_t now_ms)
{
	if (r->step >= CD_AT_CLOSE)
		return;
	r->step = CD_AT_CLOSE;
	r->close_ms = now_ms + CLOSED_MS;
}

/* Whether every device has its outcome. */
static bool all_answered(const struct cd_round *r)
{
	return r->empty && r->open == 0 && r->next == r->conf.devices &&
	       cd_upload_unanswered(r->conf.upload) == 0;
}

/* Whether the round ends because nobody has said that it is closed. */
static bool is_over(struct cd_round *r, int64_t now_ms)
{
	struct cm_err why;

	if (now_ms < r->over_ms)
		return false;
	/* Our clock may be wrong, or the shuffler away: only the shuffler can say that the round is
	 * closed. */
	(void)cm_fail(
		&why, CM_ELATER, "the deadline has passed by our clock, and the shuffler has not said so");
	end(r, &why);
	return true;
}

/* ---- the actions ---- */

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool wait_until(int64_t until_ms, struct cd_action *out)
{
	*out = (struct cd_action){ .act = CD_ACT_WAIT, .until_ms = until_ms };
	return true;
}

/* Hand out an action whose report is awaited. */
static bool await(struct cd_round *r, const struct cd_action *action, struct cd_action *out)
{
	*out = *action;
	r->awaits = action->act;
	return true;
}

/* Hand out what comes before that which only this step does, if there is something. */
static bool run_first(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	struct cd_action act;

	if (r->answer.act == CD_ACT_NOTE) {
		act = r->answer;
		r->answer.act = CD_ACT_WAIT;
		return await(r, &act, out);
	}
	if (r->drop.act == CD_ACT_DROP) {
		*out = r->drop;
		r->drop.act = CD_ACT_WAIT;
		return true;
	}
	if (r->sealed && steps[r->step].saves) {
		r->sealed = false;
		return await(r, &(struct cd_action){ .act = CD_ACT_SAVE }, out);
	}
	/* Devices whose messages can no longer be sent are not randomized.  For a late round the shuffler
	 * decides when it is closed. */
	if (!r->late && now_ms >= r->conf.d->deadline_ms)
		r->conf.devices = r->next;
	if (!steps[r->step].seals || r->open >= r->conf.parts || r->next == r->conf.devices)
		return false;
	*out = (struct cd_action){ .act = CD_ACT_SEAL, .first = r->next, .n = r->conf.devices - r->next };
	out->n = out->n < r->conf.part ? out->n : r->conf.part;
	r->next += out->n;
	r->open++;
	return true;
}

void cd_round_next(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	if (r->awaits != CD_ACT_WAIT)
		(void)wait_until(INT64_MAX, out);
	else if (!run_first(r, now_ms, out))
		while (!steps[r->step].run(r, now_ms, out))
			;
}

void cd_round_sealed(struct cd_round *r, const struct cm_err *why)
{
	r->sealed = !why && steps[r->step].saves;
	if (r->sealed)
		return;
	r->open--;
	if (why)
		end(r, why);
}

void cd_round_done(struct cd_round *r, const struct cm_err *why)
{
	const enum cd_act act = r->awaits;

	r->awaits = CD_ACT_WAIT;
	if (act == CD_ACT_SAVE) {
		r->open--;
		r->empty = false;
	}
	if (act == CD_ACT_WHOLE)
		r->whole = !why;
	if (act == CD_ACT_ERASE) {
		r->step = CD_AT_OVER;
		r->why = why ? *why : r->why;
	}
	if (why)
		end(r, why);
}

void cd_round_loaded(struct cd_round *r, size_t n)
{
	r->awaits = CD_ACT_WAIT;
	r->empty = n == 0;
	if (r->empty)
		return;
	cd_upload_give(r->conf.upload, n);
	r->after = r->room.slot[n - 1];
	r->given += n;
}

/* ---- the steps ---- */

/* Until every device is sealed and saved. */
static bool at_seal(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	bool cuts = !r->late && r->next < r->conf.devices;

	if (is_over(r, now_ms))
		return false;
	if (!cd_send_may_begin(r->open, r->next, r->conf.devices))
		return wait_until(cuts ? sooner(r->conf.d->deadline_ms, r->over_ms) : r->over_ms, out);
	r->step = CD_AT_WHOLE;
	return false;
}

/* Choose when the next frame is sent.  now_ms: when the last one was, or when sending begins. */
static void schedule_next(struct cd_round *r, int64_t now_ms)
{
	uint64_t frames = (r->total - r->given + r->conf.frame_devices - 1) / r->conf.frame_devices +
			  cd_upload_waiting(r->conf.upload);

	if (now_ms < r->spread_end_ms)
		r->send_ms = cd_send_spread(now_ms, r->spread_end_ms, frames > 0 ? frames : 1, &r->conf.rng);
}

/* All is saved, and this is recorded: fix when to send. */
static bool at_whole(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	const struct rd_descriptor *d = r->conf.d;
	/* from_ms is later than now only if the clock was set back since then. */
	int64_t from = sooner(r->conf.from_ms, now_ms), start = now_ms, last;

	if (!r->whole)
		return await(r, &(struct cd_action){ .act = CD_ACT_WHOLE }, out);
	/* A round resumed after a restart sends at once. */
	if (r->conf.drawn)
		start = cd_send_start(
			from > d->opens_ms ? from : d->opens_ms, d->deadline_ms, r->conf.prepare_ms, now_ms);
	/* The last tenth of the window is kept for retries. */
	last = start + (d->deadline_ms - start) / 10 * 9;
	start = sooner(start, r->over_ms);
	r->begin_ms = r->send_ms = start;
	r->spread_end_ms = r->conf.spread_ms < last - start ? start + r->conf.spread_ms : last;
	cr_rng_point("times", d->sequence, 0);
	schedule_next(r, start);
	r->step = CD_AT_HOLD;
	return false;
}

static bool at_hold(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	if (is_over(r, now_ms))
		return false;
	if (now_ms < r->begin_ms)
		return wait_until(r->begin_ms, out);
	r->step = CD_AT_SEND;
	return false;
}

/* Give the next connection that has room a frame that waits. */
static bool send_next(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	unsigned n = r->conf.connections;

	for (unsigned tried = 0; now_ms >= r->send_ms && tried < n; tried++) {
		unsigned i = r->turn;

		r->turn = (r->turn + 1) % n;
		if (!r->up[i] || cd_upload_next(r->conf.upload, i, &r->submit) != CM_OK)
			continue;
		*out = (struct cd_action){ .act = CD_ACT_SEND, .connection = i, .submit = &r->submit };
		schedule_next(r, now_ms);
		return true;
	}
	r->turn = 0;
	return false;
}

static bool at_send(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	if (!r->connected) {
		r->connected = true;
		*out = (struct cd_action){ .act = CD_ACT_CONNECT };
		return true;
	}
	if (!r->empty && cd_upload_room(r->conf.upload, &r->room))
		return await(r,
			&(struct cd_action){ .act = CD_ACT_LOAD,
				.after = r->after,
				.n = r->conf.frame_devices,
				.room = r->room },
			out);
	if (all_answered(r)) {
		end_well(r);
		return false;
	}
	if (is_over(r, now_ms))
		return false;
	if (send_next(r, now_ms, out))
		return true;
	return wait_until(r->send_ms > now_ms ? sooner(r->send_ms, r->over_ms) : r->over_ms, out);
}

static bool at_close(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	if (now_ms < r->close_ms && !all_answered(r))
		return wait_until(r->close_ms, out);
	end_well(r);
	return false;
}

static bool at_end(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	(void)now_ms;
	if (r->sealed) {
		r->sealed = false;
		r->open--;
	}
	if (r->open > 0)
		return wait_until(INT64_MAX, out);
	r->step = r->why.code == CM_OK ? CD_AT_ERASE : CD_AT_OVER;
	return false;
}

static bool at_erase(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	(void)now_ms;
	return await(r, &(struct cd_action){ .act = CD_ACT_ERASE }, out);
}

static bool at_over(struct cd_round *r, int64_t now_ms, struct cd_action *out)
{
	(void)now_ms;
	*out = (struct cd_action){ .act = CD_ACT_OVER, .why = &r->why };
	return true;
}

/* ---- what comes in ---- */

static void drop(struct cd_round *r, unsigned connection, uint32_t pause_ms, const struct cm_err *why)
{
	r->up[connection] = false;
	r->drop_why = *why;
	r->drop = (struct cd_action){
		.act = CD_ACT_DROP, .connection = connection, .pause_ms = pause_ms, .why = &r->drop_why
	};
}

static void take_receipt(
	struct cd_round *r, unsigned connection, const Tombola__V1__Receipt *receipt, int64_t now_ms)
{
	struct cd_action note = { .act = CD_ACT_NOTE };
	struct cm_err err;

	if (cd_upload_receipt(r->conf.upload, connection, receipt, &note.answer, &err) != CM_OK) {
		if (++r->bad_receipts >= r->conf.bad_receipts)
			end(r, &err);
		else
			drop(r, connection, RETRY_MS, &err);
		return;
	}
	r->bad_receipts = 0;
	/* The shuffler holds other bytes of a device: this device sends no more of this round, and takes part
	 * in no other until an operator decides. */
	for (size_t i = 0; !r->conflict && i < note.answer.n; i++)
		note.conflict = r->conflict =
			CM_CHECKED("client.conflict") &&
			note.answer.outcome[i] == TOMBOLA__V1__OUTCOME__OUTCOME_CONFLICT;
	if (note.conflict)
		close_soon(r, now_ms);
	r->answer = note;
}

static void take_error(struct cd_round *r, unsigned connection, const Tombola__V1__Error *e, int64_t now_ms)
{
	struct cm_err err;

	(void)pr_error(e, &err);
	switch (e->code) {
	case TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED:
	case TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND:
		close_soon(r, now_ms);
		break;
	case TOMBOLA__V1__ERROR_CODE__ERROR_BUSY:
	case TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE:
		/* The error does not name the refused frame, so all frames of this connection are sent
		 * again. */
		drop(r, connection, e->retry_after_ms > 0 ? e->retry_after_ms : RETRY_MS, &err);
		break;
	default:
		end(r, &err);
	}
}

void cd_round_frame(struct cd_round *r, unsigned connection, const Tombola__V1__Frame *frame, int64_t now_ms)
{
	struct cm_err err;

	if (!steps[r->step].listens)
		return;
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_RECEIPT) {
		take_receipt(r, connection, frame->receipt, now_ms);
	} else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR) {
		take_error(r, connection, frame->error, now_ms);
	} else {
		(void)cm_fail(&err, CM_EPROTO, "%s instead of a receipt", pr_kind_name(frame));
		drop(r, connection, RETRY_MS, &err);
	}
}

void cd_round_up(struct cd_round *r, unsigned connection)
{
	r->up[connection] = true;
}

void cd_round_down(struct cd_round *r, unsigned connection)
{
	r->up[connection] = false;
	cd_upload_lost(r->conf.upload, connection);
}

void cd_round_stop(struct cd_round *r, const struct cm_err *why)
{
	end(r, why);
}

bool cd_round_sends(const struct cd_round *r)
{
	return r->connected;
}
