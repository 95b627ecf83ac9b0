/* cl_drive.c - carries out the actions of a round on the loop. */
#include "cl_drive.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cd_round.h"
#include "cl_proof.h"
#include "cl_sealer.h"
#include "cl_standing.h"
#include "cm_clock.h"
#include "cm_steady.h"
#include "cm_table.h"

#define WINDOW  4u  /* unanswered frames per connection */
#define TICK_MS 100 /* between two times at which outcomes are made durable and progress is shown */

static_assert(CL_CONNECTIONS_MAX <= CD_CONNECTIONS_MAX, "a connection that cd_round.h does not know");

struct cl_drive {
	struct cl_drive_conf conf;
	const struct rd_descriptor *d;
	struct cl_opening opening;
	struct cd_round round;
	struct cd_upload *upload;
	struct cr_rng rng;
	struct cl_sealer sealer;
	const struct cl_sealed *sealed; /* what CD_ACT_SAVE stores; valid during on_sealed */
	size_t device_len;
	struct cl_watch watch; /* accepted devices, in the order of their receipts */
	uv_timer_t timer;
	struct cm_steady clock; /* all times of the round are in the time of this clock */
	int64_t tick_ms;        /* the next time at which outcomes are made durable */
	/* how many seconds each durable write took; on_stored gets them when sending begins */
	double *stored;
	size_t stored_n, stored_room;
	/* milliseconds from prepare_from until all was sealed, while on_sealed has not been called;
	 * otherwise 0 */
	int64_t sealed_ms;
	uint64_t answered;
	struct cm_progress progress;
	struct cl_counts counts; /* at the end */
	struct cm_err why;
};

static void pump(struct cl_drive *r);

static void drive_free(struct cl_drive *r)
{
	cl_sealer_fini(&r->sealer);
	free(r->upload);
	free(r->stored);
	free(r);
}

/* ---- metrics: until sending begins they do not show when all was sealed ---- */

static void tell_times(struct cl_drive *r)
{
	for (size_t i = 0; i < r->stored_n; i++)
		r->conf.on_stored(r->conf.user, r->stored[i]);
	r->stored_n = 0;
	if (r->sealed_ms > 0)
		r->conf.on_sealed(r->conf.user, (double)r->sealed_ms / 1e3);
	r->sealed_ms = 0;
}

/* ---- sealing and saving ---- */

static void on_sealed(void *user, const struct cl_sealed *s)
{
	struct cl_drive *r = user;

	r->sealed = s;
	cd_round_sealed(&r->round, s->err.code == CM_OK ? NULL : &s->err);
	pump(r);
	r->sealed = NULL;
}

static enum cm_rc save(struct cl_drive *r, struct cm_err *err)
{
	const struct cl_sealed *s = r->sealed;
	uint64_t began = uv_hrtime();
	enum cm_rc rc = cl_reports_put(r->conf.db, &r->opening, s->entry, s->n, s->salts, s->sealed,
		r->device_len, cm_clock_wall_ms(), err);

	double *more = cm_grow(r->stored, r->stored_n, &r->stored_room, sizeof *more);

	if (!more)
		return rc == CM_OK ? cm_fail(err, CM_EINTERNAL, "out of memory") : rc;
	r->stored = more;
	if (rc == CM_OK)
		r->stored[r->stored_n++] = (double)(uv_hrtime() - began) / 1e9;
	return rc;
}

static enum cm_rc whole(struct cl_drive *r, struct cm_err *err)
{
	r->sealed_ms = r->conf.prepared->batch ? cm_steady_ms(&r->clock) - r->conf.prepare_from : 0;
	return cl_reports_whole(r->conf.db, err);
}

/* ---- answers ---- */

/* Record some of the accepted devices, with one message of each, so that their inclusion can be verified
 * later. */
static enum cm_rc watch(struct cl_drive *r, const struct cd_answer *answer, struct cm_err *err)
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

static enum cm_rc note(struct cl_drive *r, const struct cd_action *act, struct cm_err *err)
{
	const struct cd_answer *answer = &act->answer;
	enum cm_rc rc = cl_reports_answer(r->conf.db, answer->slot, answer->outcome, answer->n, err);

	r->answered += answer->n;
	if (rc == CM_OK && act->conflict)
		rc = cl_loss_conflict(r->conf.db, r->d, cm_clock_wall_ms(), err);
	return rc == CM_OK ? watch(r, answer, err) : rc;
}

/* ---- the end ---- */

/* Make all outcomes durable, and count them. */
static enum cm_rc count(struct cl_drive *r, struct cm_err *err)
{
	enum cm_rc rc = cl_reports_flush(r->conf.db, err);
	struct cm_err unused;

	if (cl_reports_counts(r->conf.db, &r->counts, &unused) != CM_OK)
		r->counts = (struct cl_counts){ 0 };
	return rc;
}

static enum cm_rc erase(struct cl_drive *r, struct cm_err *err)
{
	enum cm_rc rc = count(r, err);

	return rc == CM_OK ? cl_reports_erase(r->conf.db, r->d, cm_clock_wall_ms(), err) : rc;
}

static void on_closed(uv_handle_t *h)
{
	struct cl_drive *r = h->data;

	tell_times(r);
	if (r->conf.progress)
		cm_progress_done(&r->progress, r->answered, cm_clock_mono_ms());
	r->conf.on_over(r->conf.user, &r->counts, &r->why);
	drive_free(r);
}

static void over(struct cl_drive *r, const struct cm_err *why)
{
	struct cm_err unused;

	if (uv_is_closing((uv_handle_t *)&r->timer))
		return;
	/* What was not erased is counted now, and a fault of the flush is no worse than `why`. */
	if (why->code != CM_OK && count(r, &unused) != CM_OK)
		(void)0;
	r->why = *why;
	uv_close((uv_handle_t *)&r->timer, on_closed);
}

/* ---- the actions ---- */

/* Carry out one of the actions whose report is awaited, and report on it. */
static void do_and_report(struct cl_drive *r, const struct cd_action *act)
{
	struct cm_err err;
	enum cm_rc rc = CM_OK;
	size_t n = 0;

	if (act->act == CD_ACT_SAVE)
		rc = save(r, &err);
	else if (act->act == CD_ACT_WHOLE)
		rc = whole(r, &err);
	else if (act->act == CD_ACT_LOAD)
		rc = cl_reports_next(r->conf.db, act->after, act->n, r->device_len, act->room.slot,
			act->room.pseudonyms, act->room.salts, act->room.sealed, &n, &err);
	else if (act->act == CD_ACT_NOTE)
		rc = note(r, act, &err);
	else
		rc = erase(r, &err);
	if (act->act == CD_ACT_LOAD && rc == CM_OK)
		cd_round_loaded(&r->round, n);
	else
		cd_round_done(&r->round, rc == CM_OK ? NULL : &err);
}

static void seal(struct cl_drive *r, const struct cd_action *act)
{
	struct cm_err err;

	if (cl_sealer_give(&r->sealer, act->first, act->n, &err) != CM_OK)
		cd_round_sealed(&r->round, &err);
}

static void send_frame(struct cl_drive *r, const struct cd_action *act)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	struct cm_err err;

	frame.kind_case = TOMBOLA__V1__FRAME__KIND_SUBMIT;
	frame.submit = act->submit;
	/* A frame that could not be queued comes back when its connection has closed. */
	if (cl_links_send(r->conf.links, act->connection, &frame, &err) != CM_OK)
		cl_links_drop(r->conf.links, act->connection, 0, &err);
}

static void begin_sending(struct cl_drive *r)
{
	tell_times(r);
	cl_links_want(r->conf.links, (unsigned)r->conf.setup->conf.connections);
}

static void on_timer(uv_timer_t *t)
{
	struct cl_drive *r = t->data;
	struct cm_err err;

	if (cm_steady_ms(&r->clock) >= r->tick_ms) {
		r->tick_ms = cm_steady_ms(&r->clock) + TICK_MS;
		cm_steady_watch(&r->clock);
		if (cl_reports_flush(r->conf.db, &err) != CM_OK)
			cd_round_stop(&r->round, &err);
		if (r->conf.progress)
			cm_progress_at(&r->progress, r->answered, cm_clock_mono_ms());
	}
	pump(r);
}

/* Wake up at until_ms, and at the next tick. */
static void sleep_until(struct cl_drive *r, int64_t until_ms)
{
	int64_t now = cm_steady_ms(&r->clock), at = until_ms < r->tick_ms ? until_ms : r->tick_ms;

	/* The loop's time may be that of an earlier event. */
	uv_update_time(r->conf.loop);
	(void)uv_timer_start(&r->timer, on_timer, (uint64_t)(at > now ? at - now : 0), 0);
}

/* Carry out what the round wants, until it waits. */
static void pump(struct cl_drive *r)
{
	struct cd_action act;

	for (;;) {
		cd_round_next(&r->round, cm_steady_ms(&r->clock), &act);
		switch (act.act) {
		case CD_ACT_WAIT:
			sleep_until(r, act.until_ms);
			return;
		case CD_ACT_SEAL:
			seal(r, &act);
			break;
		case CD_ACT_CONNECT:
			begin_sending(r);
			break;
		case CD_ACT_SEND:
			send_frame(r, &act);
			break;
		case CD_ACT_DROP:
			cl_links_drop(r->conf.links, act.connection, act.pause_ms, act.why);
			break;
		case CD_ACT_OVER:
			over(r, act.why);
			return;
		case CD_ACT_SAVE:
		case CD_ACT_WHOLE:
		case CD_ACT_LOAD:
		case CD_ACT_NOTE:
		case CD_ACT_ERASE:
			do_and_report(r, &act);
		}
	}
}

/* ---- what comes in ---- */

void cl_drive_frame(struct cl_drive *r, unsigned i, const Tombola__V1__Frame *frame)
{
	cd_round_frame(&r->round, i, frame, cm_steady_ms(&r->clock));
	pump(r);
}

void cl_drive_up(struct cl_drive *r, unsigned i)
{
	cd_round_up(&r->round, i);
	pump(r);
}

void cl_drive_down(struct cl_drive *r, unsigned i)
{
	cd_round_down(&r->round, i);
	pump(r);
}

bool cl_drive_sends(const struct cl_drive *r)
{
	return cd_round_sends(&r->round);
}

void cl_drive_stop(struct cl_drive *r)
{
	struct cm_err why;

	(void)cm_fail(&why, CM_ELATER, "stopped; what is stored is sent when it starts again");
	cd_round_stop(&r->round, &why);
	pump(r);
}

/* ---- the beginning ---- */

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

/* Begin the upload of a round of `total` devices.  It holds as many frames as the connections take at once,
 * or as the round has.  Sets *devices to the most of a frame. */
static enum cm_rc begin_upload(struct cl_drive *r, uint64_t total, size_t *devices, struct cm_err *err)
{
	const struct cl_setup *setup = r->conf.setup;
	const char *population = setup->conf.population;
	size_t fit = cd_upload_frame_devices(r->device_len, most_in_frame(setup)),
	       most = (size_t)setup->conf.connections * WINDOW;
	uint64_t frames = (total + fit - 1) / fit;
	struct cd_upload_conf upload = { .shape = rd_receipt_shape(r->d),
		.window = WINDOW,
		.shuffler = setup->shuffler,
		.devices = total < fit ? (size_t)total : fit,
		.frames = frames < most ? (size_t)frames : most };
	void *memory;

	memcpy(upload.round_id, r->d->round_id, PR_ROUND_ID_LEN);
	cl_standing_mac(r->conf.secret, population, r->d->sequence, r->d->hash, upload.mac);
	cl_standing_gateway(r->conf.secret, population, upload.gateway);
	/* There is always room for a frame, by which the round learns that no more devices are stored. */
	upload.devices = upload.devices > 0 ? upload.devices : 1;
	upload.frames = upload.frames > 0 ? upload.frames : 1;
	memory = malloc(cd_upload_len(&upload));
	if (!memory)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	r->upload = cd_upload_begin(&upload, memory);
	*devices = upload.devices;
	return CM_OK;
}

static void begin_round(
	struct cl_drive *r, const struct cl_counts *counts, size_t entries, size_t frame_devices)
{
	const struct cl_conf *conf = &r->conf.setup->conf;
	const struct cd_round_conf round = { .d = r->d,
		.upload = r->upload,
		.frame_devices = frame_devices,
		.connections = (unsigned)conf->connections,
		.saved = counts->total,
		.answered = counts->total - counts->by[CL_UNANSWERED],
		.devices = entries,
		.part = cl_sealer_part(r->d),
		.parts = CL_SEALER_PARTS,
		.drawn = r->conf.prepared->batch != NULL,
		.from_ms = r->conf.prepare_from,
		.prepare_ms = conf->prepare_ms,
		.spread_ms = conf->spread_ms,
		.stopped = r->conf.stopped,
		.bad_receipts = r->conf.bad_receipts,
		.rng = r->rng };

	cm_steady_begin(&r->clock, r->d->opens_ms);
	r->tick_ms = cm_steady_ms(&r->clock);
	r->answered = round.answered;
	cd_round_begin(&r->round, &round, r->tick_ms);
	for (unsigned i = 0; i < round.connections; i++)
		if (cl_links_up(r->conf.links, i))
			cd_round_up(&r->round, i);
	if (r->conf.progress)
		cm_progress_init(&r->progress, "devices", counts->total + entries, cm_clock_mono_ms());
}

enum cm_rc cl_drive_new(const struct cl_drive_conf *conf, struct cl_drive **out, struct cm_err *err)
{
	struct cl_drive *r = calloc(1, sizeof *r);
	const struct cl_entry *entry = NULL;
	size_t entries = 0, frame_devices = 0;
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
	r->sealer = (struct cl_sealer){ .loop = conf->loop,
		.d = r->d,
		.entry = entry,
		.entries = entries,
		.payload = &conf->prepared->payload,
		.on_sealed = on_sealed,
		.user = r };
	rc = cr_rng_system(&r->rng, err);
	if (rc == CM_OK)
		rc = cl_reports_counts(conf->db, &counts, err);
	if (rc == CM_OK)
		rc = begin_upload(r, counts.total + entries, &frame_devices, err);
	if (rc != CM_OK) {
		drive_free(r);
		return rc;
	}
	/* A round that evens out tags drops messages as prescribed, so no message of it can be watched. */
	r->watch.most = r->d->randomizer.shuffler.tag_messages > 0 ? 0 : (uint64_t)conf->setup->conf.proofs;
	r->watch.seen = counts.by[CL_ACCEPTED];
	begin_round(r, &counts, entries, frame_devices);
	(void)uv_timer_init(conf->loop, &r->timer);
	r->timer.data = r;
	(void)uv_timer_start(&r->timer, on_timer, 0, 0);
	*out = r;
	return CM_OK;
}
