/* cl_sealer.c - randomizes and seals the devices of a round on the thread pool. */
#include "cl_sealer.h"

#include <stdlib.h>

#define PART_DEVICES 1024u
#define PART_BYTES   (4u << 20)

struct job {
	uv_work_t work;
	struct cl_sealer *s;
	const struct cl_entry *entry;
	size_t n;
	uint8_t *sealed, *salts;
	struct cm_err err;
};

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

static struct job *job_new(struct cl_sealer *s, size_t first, size_t n)
{
	struct job *j = calloc(1, sizeof *j);

	if (!j)
		return NULL;
	j->work.data = j;
	j->s = s;
	j->entry = s->entry + first;
	j->n = n;
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
	s->on_sealed(s->user, &sealed);
	job_free(j);
}

size_t cl_sealer_part(const struct rd_descriptor *d)
{
	size_t part = PART_BYTES / cd_device_len(d);

	return part < 1 ? 1 : part > PART_DEVICES ? PART_DEVICES : part;
}

enum cm_rc cl_sealer_give(struct cl_sealer *s, size_t first, size_t n, struct cm_err *err)
{
	struct job *j;

	if (!s->sealer && cl_encode_sealer(s->d, s->entries, &s->sealer, err) != CM_OK)
		return err->code;
	j = job_new(s, first, n);
	if (!j)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (uv_queue_work(s->loop, &j->work, work, on_worked) == 0)
		return CM_OK;
	job_free(j);
	return cm_fail(err, CM_EINTERNAL, "the thread pool accepts no work");
}
