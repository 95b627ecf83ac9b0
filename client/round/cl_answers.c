/* cl_answers.c - has programs compute the answers for a round's readings. */
#include "cl_answers.h"

#include <string.h>

#include "cd_times.h"
#include "cm_clock.h"

#define PART 2 /* programs take at most one part in PART of the time that a round is still open */

struct taking {
	struct cl_prepared *p;
	struct cl_batch *batch;
	uint32_t dimension;
};

static const uint32_t *reading(void *user, size_t i)
{
	const struct taking *t = user;

	return cl_batch_numbers(t->batch, i);
}

static void answer(void *user, size_t i, const float *numbers)
{
	const struct taking *t = user;
	uint32_t *at = cl_batch_numbers(t->batch, i);

	if (!at)
		return;
	if (numbers) {
		memcpy(at, numbers, t->dimension * sizeof *at);
		return;
	}
	t->p->rows.none++;
	cl_batch_drop(t->batch, i);
}

/* Give every device the value NONE at once, because no program answers. */
static enum cm_rc drop_all(struct taking *t, size_t devices, enum cm_rc rc)
{
	for (size_t i = 0; i < devices; i++)
		answer(t, i, NULL);
	return rc;
}

static enum cm_rc ask(const struct cl_answers *a, struct taking *t, const struct co_parameters *parameters,
	size_t devices, struct cm_err *err)
{
	const struct cl_program_conf *conf = &a->setup->conf.programs;
	const struct rd_descriptor *d = &t->p->j.d;
	int64_t now = cm_clock_wall_ms(), clock = cm_clock_mono_ns(), end_ns,
		takes = cl_programs_time(conf, devices, parameters->seconds, d->payload_size),
		opens = d->opens_ms, from = a->from_ms > opens ? a->from_ms : opens,
		start = cd_send_start(
			from < now ? from : now, d->deadline_ms, a->setup->conf.prepare_ms, now);
	struct cl_program_round round = { .hash = d->computing.program,
		.job = { parameters->features, parameters->classes, d->query.dimension, t->p->payload.data,
			t->p->payload.len },
		.seconds = parameters->seconds,
		.payload_size = d->payload_size,
		.start_ns = clock + (start - now) * 1000000,
		.devices = devices,
		.reading = reading,
		.answer = answer,
		.user = t,
		.stop = a->stop };
	enum cm_rc rc;

	if (!a->shown && takes / 1000000 > (d->deadline_ms - start) / PART)
		return drop_all(t, devices,
			cm_fail(err, CM_ELATER,
				"%zu devices take programs %.0f s, more than half of the time that is left",
				devices, (double)takes / 1e9));
	rc = cl_programs_run(a->programs, conf, &round, &end_ns, err);
	if (rc == CM_EINTERNAL)
		return drop_all(t, devices, rc);
	t->p->computed_ms = start + (end_ns - round.start_ns) / 1000000;
	return rc;
}

enum cm_rc cl_answers_take(const struct cl_answers *a, struct cl_prepared *p, struct cm_err *err)
{
	const struct rd_descriptor *d = &p->j.d;
	struct taking t = { p, p->batch, d->query.dimension };
	struct co_parameters parameters;
	size_t devices;

	if (strcmp(d->computing.map, QY_MAP_PROGRAM) != 0)
		return CM_OK;
	(void)cl_batch_entries(p->batch, &devices);
	if (co_parameters_read(&d->computing, &parameters, err) != CM_OK)
		return drop_all(&t, devices, err->code);
	if (p->payload.len != d->payload_size)
		/* A device without the payload has the value NONE already. */
		p->payload = (struct cl_payload_bytes){ NULL, 0 };
	return devices > 0 ? ask(a, &t, &parameters, devices, err) : CM_OK;
}
