/* cl_round.c - carries out one round: encodes, persists, uploads, erases. */
#include "cl_round.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cd_times.h"
#include "cd_upload.h"
#include "cl_proof.h"
#include "cl_sealer.h"
#include "cl_standing.h"
#include "cm_clock.h"
#include "cm_fault.h"
#include "cm_steady.h"
#include "cm_table.h"

#define WINDOW    4u /* unanswered frames per connection */
#define TICK_MS   100u
#define GRACE_MS  5000 /* how long after the deadline outcomes are awaited that are on their way */
#define RESUME_MS 3000 /* least time for a round that is resumed after its deadline */
#define CLOSED_MS 2000 /* how long after "round closed" receipts are awaited on other connections */
#define RETRY_MS  1000u

struct cl_round {
	struct cl_round_conf conf;
	const struct rd_descriptor *d;
	struct cl_opening opening;
	struct cd_upload *upload;
	uv_timer_t tick;
	struct cr_rng rng;
	struct cl_sealer sealer;
	size_t device_len;
	size_t frame_devices;  /* most devices of one frame */
	struct cl_watch watch; /* accepted devices, in the order of their receipts */
	int64_t cursor;
	bool all_given, marked_whole, ending;
	bool planned;                    /* all is sealed, and the times of sending are fixed */
	uint64_t total, given, answered; /* numbers of devices */
	struct cm_steady clock;          /* all times of the round are in the time of this clock */
	bool conflict;                   /* a receipt of this run said CONFLICT, which is recorded */
	bool late;                       /* it was offered, or resumed, after its deadline by our clock */
	/* how many seconds each durable write took; on_stored gets them when sending begins */
	double *stored;
	size_t stored_n, stored_room;
	/* milliseconds from prepare_from until all was sealed, while on_sealed has not been called;
	 * otherwise 0 */
	int64_t sealed_ms;
	int64_t begin_at, send_at, spread_end, over_at, closed_at;
	unsigned bad_receipts;
	struct cm_progress progress;
	struct cm_err why;
};

static void pump(struct cl_round *r);
static void on_tick(uv_timer_t *t);

static void round_free(struct cl_round *r)
{
	cl_sealer_fini(&r->sealer);
	free(r->upload);
	free(r->stored);
	free(r);
}

static void tell_times(struct cl_round *r)
{
	for (size_t i = 0; i < r->stored_n; i++)
		r->conf.on_stored(r->conf.user, r->stored[i]);
	r->stored_n = 0;
	if (r->sealed_ms > 0)
		r->conf.on_sealed(r->conf.user, (double)r->sealed_ms / 1e3);
	r->sealed_ms = 0;
}

static void on_tick_closed(uv_handle_t *h)
{
	struct cl_round *r = h->data;
	struct cl_counts counts = { 0 };
	struct cm_err unused;

	if (cl_reports_counts(r->conf.db, &counts, &unused) != CM_OK)
		counts = (struct cl_counts){ 0 };
	if (r->why.code == CM_OK && cl_reports_erase(r->conf.db, r->d, cm_clock_wall_ms(), &r->why) == CM_OK)
		r->why.code = CM_OK;
	tell_times(r);
	if (r->conf.progress)
		cm_progress_done(&r->progress, r->answered, cm_clock_mono_ms());
	r->conf.on_over(r->conf.user, &counts, &r->why);
	round_free(r);
}

/* End once the last job is back. */
static void end(struct cl_round *r, const struct cm_err *why)
{
	struct cm_err err;

	if (!r->ending) {
		r->ending = true;
		r->why = why ? *why : (struct cm_err){ .code = CM_OK };
	}
	if (r->sealer.jobs > 0 || uv_is_closing((uv_handle_t *)&r->tick))
		return;
	if (cl_reports_flush(r->conf.db, &err) != CM_OK && r->why.code == CM_OK)
		r->why = err;
	uv_close((uv_handle_t *)&r->tick, on_tick_closed);
}

/* ---- sealing: on the pool; persisted on the loop before anything of it is sent ---- */

static enum cm_rc store(struct cl_round *r, const struct cl_sealed *s, struct cm_err *err)
{
	uint64_t began = uv_hrtime();
	enum cm_rc rc = cl_reports_put(r->conf.db, &r->opening, s->entry, s->n, s->salts, s->sealed,
		r->device_len, cm_clock_wall_ms(), err);

	double *more = cm_grow(r->stored, r->stored_n, &r->stored_room, sizeof *more);

	if (!more)
		return rc == CM_OK ? cm_fail(err, CM_EINTERNAL, "out of memory") : rc;
	r->stored = more;
	/* The time is reported when sending begins: until then the metrics do not show when all was
	 * sealed. */
	if (rc == CM_OK)
		r->stored[r->stored_n++] = (double)(uv_hrtime() - began) / 1e9;
	return rc;
}

static void on_sealed(void *user, const struct cl_sealed *s)
{
	struct cl_round *r = user;
	struct cm_err err = s->err;

	if (!r->ending && (err.code != CM_OK || store(r, s, &err) != CM_OK))
		end(r, &err);
	if (r->ending)
		end(r, NULL);
	else
		pump(r);
}

static void seal(struct cl_round *r)
{
	struct cm_err err;

	/* Devices whose messages can no longer be sent are not randomized.  For a late round the shuffler
	 * decides when it is closed. */
	if (r->closed_at > 0 || (!r->late && cm_steady_ms(&r->clock) >= r->d->deadline_ms))
		cl_sealer_cut(&r->sealer);
	if (cl_sealer_go_on(&r->sealer, &err) != CM_OK)
		end(r, &err);
}

/* ---- upload ---- */

/* Read stored reports back into the frames that are in no use. */
static enum cm_rc feed(struct cl_round *r, struct cm_err *err)
{
	struct cd_frame_room room;
	enum cm_rc rc = CM_OK;

	while (!r->all_given && cd_upload_room(r->upload, &room)) {
		size_t n = 0;

		rc = cl_reports_next(r->conf.db, r->cursor, r->frame_devices, r->device_len, room.slot,
			room.pseudonyms, room.salts, room.sealed, &n, err);
		if (rc != CM_OK)
			break;
		if (n == 0) {
			r->all_given = cl_sealer_done(&r->sealer);
			break;
		}
		cd_upload_give(r->upload, n);
		r->cursor = room.slot[n - 1];
		r->given += n;
	}
	return rc;
}

static void schedule_next(struct cl_round *r, int64_t now)
{
	uint64_t frames;

	if (now >= r->spread_end)
		return;
	frames = (r->total - r->given + r->frame_devices - 1) / r->frame_devices +
		 cd_upload_waiting(r->upload);
	r->send_at = cd_send_spread(now, r->spread_end, frames > 0 ? frames : 1, &r->rng);
}

/* Every device is sealed: fix when to send. */
static enum cm_rc plan(struct cl_round *r, struct cm_err *err)
{
	int64_t now = cm_steady_ms(&r->clock), opens = r->d->opens_ms;
	/* prepare_from is later than now only if the clock was set back since then. */
	int64_t from = r->conf.prepare_from < now ? r->conf.prepare_from : now;
	/* A round resumed after a restart sends at once. */
	int64_t start = !r->conf.prepared->batch
				? now
				: cd_send_start(from > opens ? from : opens, r->d->deadline_ms,
					  r->conf.setup->conf.prepare_ms, now);
	int64_t spread = r->conf.setup->conf.spread_ms;
	/* The last tenth of the window is kept for retries. */
	int64_t last = start + (r->d->deadline_ms - start) / 10 * 9;

	if (!r->marked_whole && cl_reports_whole(r->conf.db, err) != CM_OK)
		return err->code;
	r->marked_whole = true;
	start = start < r->over_at ? start : r->over_at;
	r->planned = true;
	r->begin_at = r->send_at = start;
	r->sealed_ms = r->conf.prepared->batch ? now - r->conf.prepare_from : 0;
	r->spread_end = spread < last - start ? start + spread : last;
	cr_rng_point("times", r->d->sequence, 0);
	schedule_next(r, start);
	/* The timer starts at that moment, not when the last device was sealed. */
	(void)uv_timer_start(&r->tick, on_tick, (uint64_t)(start > now ? start - now : 0), TICK_MS);
	return CM_OK;
}

static void send_due(struct cl_round *r)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Submit submit;
	struct cm_err err;
	bool moved = true;

	while (moved) {
		moved = false;
		for (unsigned i = 0; i < (unsigned)r->conf.setup->conf.connections; i++) {
			int64_t now = cm_steady_ms(&r->clock);

			if (now < r->send_at || !cl_links_up(r->conf.links, i) ||
				cd_upload_next(r->upload, i, &submit) != CM_OK)
				continue;
			frame.kind_case = TOMBOLA__V1__FRAME__KIND_SUBMIT;
			frame.submit = &submit;
			/* A frame that could not be queued comes back when its connection has closed. */
			if (cl_links_send(r->conf.links, i, &frame, &err) != CM_OK)
				cl_links_drop(r->conf.links, i, 0, &err);
			else
				moved = true;
			schedule_next(r, now);
		}
	}
}

static void pump(struct cl_round *r)
{
	struct cm_err err;

	if (r->ending)
		return;
	seal(r);
	if (r->ending)
		return;
	if (!r->planned && cd_send_may_begin(r->sealer.jobs, r->sealer.next, r->sealer.entries) &&
		plan(r, &err) != CM_OK) {
		end(r, &err);
		return;
	}
	if (!r->planned || cm_steady_ms(&r->clock) < r->begin_at)
		return;
	tell_times(r);
	cl_links_want(r->conf.links, (unsigned)r->conf.setup->conf.connections);
	if (r->closed_at == 0 && feed(r, &err) != CM_OK) {
		end(r, &err);
		return;
	}
	if (r->closed_at == 0)
		send_due(r);
	if (r->all_given && cd_upload_unanswered(r->upload) == 0)
		end(r, NULL);
}

static void on_tick(uv_timer_t *t)
{
	struct cl_round *r = t->data;
	int64_t now = cm_steady_ms(&r->clock);
	struct cm_err err;

	if (r->ending)
		return;
	cm_steady_watch(&r->clock);
	if (cl_reports_flush(r->conf.db, &err) != CM_OK) {
		end(r, &err);
		return;
	}
	if (r->conf.progress)
		cm_progress_at(&r->progress, r->answered, cm_clock_mono_ms());
	if (r->closed_at > 0 && now >= r->closed_at) {
		end(r, NULL);
	} else if (r->closed_at == 0 && now >= r->over_at) {
		/* Our clock may be wrong, or the shuffler away: only the shuffler can say that the round is
		 * closed. */
		(void)cm_fail(&err, CM_ELATER,
			"the deadline has passed by our clock, and the shuffler has not said so");
		end(r, &err);
	} else {
		pump(r);
	}
}

/* Record some of the accepted devices, with one message of each, so that their inclusion can be verified
 * later. */
static enum cm_rc watch(struct cl_round *r, const struct cd_answer *answer, struct cm_err *err)
{
	struct rd_opening opening;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < answer->n; i++) {
		int64_t place = answer->outcome[i] == TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED
					? cl_watch_place(&r->watch, &r->rng)
					: -1;
		if (place < 0)
			continue;
		cd_upload_opening(
			r->upload, i, (uint32_t)cr_rng_below(&r->rng, r->d->messages_per_client), &opening);
		rc = cl_proof_keep(
			r->conf.db, r->d->sequence, place, &opening, r->d->messages_per_client, err);
	}
	return rc;
}

/* Record that the shuffler holds other bytes of a device: this client then sends no more of this round, and
 * takes part in no other until an operator decides (cl_standing.h). */
static enum cm_rc note_conflicts(struct cl_round *r, const struct cd_answer *answer, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && !r->conflict && i < answer->n; i++) {
		if (answer->outcome[i] != TOMBOLA__V1__OUTCOME__OUTCOME_CONFLICT ||
			!CM_CHECKED("client.conflict"))
			continue;
		r->conflict = true;
		rc = cl_loss_conflict(r->conf.db, r->d, cm_clock_wall_ms(), err);
		if (r->closed_at == 0)
			r->closed_at = cm_steady_ms(&r->clock) + CLOSED_MS;
	}
	return rc;
}

static void take_receipt(struct cl_round *r, unsigned i, const Tombola__V1__Receipt *receipt)
{
	struct cd_answer answer;
	struct cm_err err;

	if (cd_upload_receipt(r->upload, i, receipt, &answer, &err) != CM_OK) {
		if (++r->bad_receipts >= r->conf.bad_receipts)
			end(r, &err);
		else
			cl_links_drop(r->conf.links, i, RETRY_MS, &err);
		return;
	}
	r->bad_receipts = 0;
	r->answered += answer.n;
	if (cl_reports_answer(r->conf.db, answer.slot, answer.outcome, answer.n, &err) != CM_OK ||
		note_conflicts(r, &answer, &err) != CM_OK || watch(r, &answer, &err) != CM_OK)
		end(r, &err);
}

static void take_error(struct cl_round *r, unsigned i, const Tombola__V1__Error *e)
{
	struct cm_err err;

	(void)pr_error(e, &err);
	switch (e->code) {
	case TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED:
	case TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND:
		if (r->closed_at == 0)
			r->closed_at = cm_steady_ms(&r->clock) + CLOSED_MS;
		break;
	case TOMBOLA__V1__ERROR_CODE__ERROR_BUSY:
	case TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE:
		/* The error does not name the refused frame, so all frames of this connection are sent
		 * again. */
		cl_links_drop(r->conf.links, i, e->retry_after_ms > 0 ? e->retry_after_ms : RETRY_MS, &err);
		break;
	default:
		end(r, &err);
	}
}

void cl_round_frame(struct cl_round *r, unsigned i, const Tombola__V1__Frame *frame)
{
	struct cm_err err;

	if (r->ending)
		return;
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_RECEIPT) {
		take_receipt(r, i, frame->receipt);
	} else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR) {
		take_error(r, i, frame->error);
	} else {
		(void)cm_fail(&err, CM_EPROTO, "%s instead of a receipt", pr_kind_name(frame));
		cl_links_drop(r->conf.links, i, RETRY_MS, &err);
	}
	pump(r);
}

void cl_round_up(struct cl_round *r, unsigned i)
{
	(void)i;
	pump(r);
}

void cl_round_down(struct cl_round *r, unsigned i)
{
	cd_upload_lost(r->upload, i);
	pump(r);
}

bool cl_round_sends(const struct cl_round *r)
{
	return r->planned && cm_steady_ms(&r->clock) >= r->begin_at;
}

void cl_round_stop(struct cl_round *r)
{
	struct cm_err err;

	(void)cm_fail(&err, CM_ELATER, "stopped; what is stored is sent when it starts again");
	end(r, &err);
}

/* A frame with more devices than the certificate allows is refused as a whole; split into several frames, the
 * allowed devices are accepted. */
static size_t most_in_frame(const struct cl_setup *setup)
{
	size_t wanted = (size_t)setup->conf.frame_devices;
	struct cr_pki_info info;
	struct cm_err unused;

	if (cr_pki_show(setup->conf.cert, &info, &unused) == CM_OK && info.identity.devices > 0 &&
		info.identity.devices < wanted)
		return info.identity.devices;
	return wanted;
}

static void begin_clock(struct cl_round *r)
{
	cm_steady_begin(&r->clock, r->d->opens_ms);
	r->late = cm_steady_ms(&r->clock) >= r->d->deadline_ms;
	r->closed_at = r->conf.stopped ? cm_steady_ms(&r->clock) : 0;
	r->over_at = r->d->deadline_ms + GRACE_MS;
	if (r->over_at < cm_steady_ms(&r->clock) + RESUME_MS)
		r->over_at = cm_steady_ms(&r->clock) + RESUME_MS;
}

/* Begin the upload.  It holds as many frames as the connections take at once, or as the round has. */
static enum cm_rc begin_upload(struct cl_round *r, struct cm_err *err)
{
	const struct cl_setup *setup = r->conf.setup;
	const char *population = setup->conf.population;
	size_t devices = cd_upload_frame_devices(r->device_len, most_in_frame(setup)),
	       most = (size_t)setup->conf.connections * WINDOW;
	uint64_t frames = (r->total + devices - 1) / devices;
	struct cd_upload_conf upload = { .shape = rd_receipt_shape(r->d),
		.window = WINDOW,
		.shuffler = setup->shuffler,
		.devices = r->total < devices ? (size_t)r->total : devices,
		.frames = frames < most ? (size_t)frames : most };
	void *memory;

	memcpy(upload.round_id, r->d->round_id, PR_ROUND_ID_LEN);
	cl_standing_mac(r->conf.secret, population, r->d->sequence, r->d->hash, upload.mac);
	cl_standing_gateway(r->conf.secret, population, upload.gateway);
	/* There is always room for a frame, by which feed() learns that no more devices are stored. */
	upload.devices = upload.devices > 0 ? upload.devices : 1;
	upload.frames = upload.frames > 0 ? upload.frames : 1;
	memory = malloc(cd_upload_len(&upload));
	if (!memory)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	r->upload = cd_upload_begin(&upload, memory);
	r->frame_devices = upload.devices;
	return CM_OK;
}

enum cm_rc cl_round_new(const struct cl_round_conf *conf, struct cl_round **out, struct cm_err *err)
{
	struct cl_round *r = calloc(1, sizeof *r);
	const struct cl_entry *entry = NULL;
	size_t entries = 0;
	struct cl_counts counts;
	enum cm_rc rc;

	if (!r)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	r->conf = *conf;
	r->d = &conf->prepared->j.d;
	r->opening = (struct cl_opening){ r->d, conf->descriptor, conf->signature, conf->descriptor_len,
		conf->prepared->j.charge };
	r->opening.charge.key_hash = conf->key_hash;
	r->device_len = cd_device_len(r->d);
	if (conf->prepared->batch)
		entry = cl_batch_entries(conf->prepared->batch, &entries);
	cl_sealer_init(&r->sealer, conf->loop, r->d, entry, entries);
	r->sealer.on_sealed = on_sealed;
	r->sealer.user = r;
	r->sealer.payload = &conf->prepared->payload;
	rc = cr_rng_system(&r->rng, err);
	if (rc == CM_OK)
		rc = cl_reports_counts(conf->db, &counts, err);
	r->total = rc == CM_OK ? counts.total + entries : 0;
	if (rc == CM_OK)
		rc = begin_upload(r, err);
	if (rc != CM_OK) {
		round_free(r);
		return rc;
	}
	/* A round that evens out tags drops messages as prescribed, so no message of it can be watched. */
	r->watch.most = r->d->randomizer.shuffler.tag_messages > 0 ? 0 : (uint64_t)conf->setup->conf.proofs;
	r->watch.seen = counts.by[CL_ACCEPTED];
	r->answered = counts.total - counts.by[CL_UNANSWERED];
	r->given = r->answered;
	/* Without an active round in the store there is nothing to mark until the first put. */
	r->marked_whole = r->total == 0;
	begin_clock(r);
	if (conf->progress)
		cm_progress_init(&r->progress, "devices", r->total, cm_clock_mono_ms());
	(void)uv_timer_init(conf->loop, &r->tick);
	r->tick.data = r;
	(void)uv_timer_start(&r->tick, on_tick, 0, TICK_MS);
	*out = r;
	return CM_OK;
}
