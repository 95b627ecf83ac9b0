/* cl_sealer.c - randomizes and seals the devices of a round on the thread pool. */
#include "cl_sealer.h"

#include <stdlib.h>

#define JOBS_MAX      4u
#define CHUNK_DEVICES 1024u
#define CHUNK_BYTES   (4u << 20)

struct job {
	uv_work_t work;
	struct cl_sealer *s;
	const struct cl_entry *entry;
	size_t n;
	uint8_t *sealed, *salts;
	struct cm_err err;
};

void cl_sealer_init(struct cl_sealer *s, uv_loop_t *loop, const struct rd_descriptor *d,
	const struct cl_entry *entry, size_t entries)
{
	size_t chunk = CHUNK_BYTES / cd_device_len(d);

	*s = (struct cl_sealer){ .loop = loop, .d = d, .entry = entry, .entries = entries };
	s->chunk = chunk < 1 ? 1 : chunk > CHUNK_DEVICES ? CHUNK_DEVICES : chunk;
}

void cl_sealer_fini(struct cl_sealer *s)
{
	cr_hpke_sealer_free(s->sealer);
	s->sealer = NULL;
}

static void job_free(struct job *j)
{
	if (!j)
		return;
	free(j->salts);
	free(j->sealed);
	free(j);
}

static struct job *job_new(struct cl_sealer *s)
{
	size_t left = s->entries - s->next;
	struct job *j = calloc(1, sizeof *j);

	if (!j)
		return NULL;
	j->work.data = j;
	j->s = s;
	j->entry = s->entry + s->next;
	j->n = left < s->chunk ? left : s->chunk;
	j->sealed = malloc(j->n * cd_device_len(s->d));
	j->salts = malloc(j->n * RD_SALT_LEN);
	if (j->sealed && j->salts)
		return j;
	job_free(j);
	return NULL;
}

static void work(uv_work_t *w)
{
	struct job *j = w->data;
	const struct cl_encoding encoding = { j->s->d, j->s->payload, j->s->sealer };
	struct cr_rng rng;

	if (cr_rng_system(&rng, &j->err) == CM_OK &&
		cl_encode_computed(&encoding, j->entry, j->n, &rng, j->sealed, &j->err) == CM_OK) {
		rng.fill(rng.ctx, j->salts, j->n * RD_SALT_LEN);
		j->err.code = CM_OK;
	}
}

static void on_worked(uv_work_t *w, int status)
{
	struct job *j = w->data;
	struct cl_sealer *s = j->s;
	const struct cl_sealed sealed = { j->entry, j->n, j->salts, j->sealed, j->err };

	(void)status;
	s->jobs--;
	s->on_sealed(s->user, &sealed);
	job_free(j);
}

enum cm_rc cl_sealer_go_on(struct cl_sealer *s, struct cm_err *err)
{
	if (!s->sealer && s->next < s->entries &&
		cl_encode_sealer(s->d, s->entries, &s->sealer, err) != CM_OK)
		return err->code;
	while (s->jobs < JOBS_MAX && s->next < s->entries) {
		struct job *j = job_new(s);

		if (!j)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		if (uv_queue_work(s->loop, &j->work, work, on_worked) != 0) {
			job_free(j);
			return cm_fail(err, CM_EINTERNAL, "the thread pool accepts no work");
		}
		s->jobs++;
		s->next += j->n;
	}
	return CM_OK;
}

void cl_sealer_cut(struct cl_sealer *s)
{
	s->entries = s->next;
}

bool cl_sealer_done(const struct cl_sealer *s)
{
	return s->jobs == 0 && s->next == s->entries;
}
