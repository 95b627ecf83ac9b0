/* cl_prepare.c - a descriptor and a file of readings to one value per device. */
#include "cl_prepare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cl_device.h"
#include "cl_store.h"

struct gathering {
	const struct cl_input *in;
	const struct pt_query *q;
	const char *population;
	const struct cm_key *secret;
	const struct cm_rng *rng;
	struct cl_batch *batch;
	struct cl_rows *rows;
	uint32_t *at; /* numbers of the value being read */
};

/* The input's name in messages: the end of a long path, so that line and reason still fit. */
static const char *name_of(const struct cl_input *in)
{
	const char *path = strcmp(in->path, "-") == 0 ? "stdin" : in->path;
	size_t len = strlen(path);

	return len > CL_PLACE_MAX ? path + len - CL_PLACE_MAX : path;
}

static enum cm_rc bad_row(struct gathering *g, uint64_t line, const char *why, struct cm_err *err)
{
	char place[CL_PLACE_MAX + 24];

	/* A reading that came in no file has no line. */
	if (line > 0)
		(void)snprintf(place, sizeof place, "%s:%" PRIu64, name_of(g->in), line);
	else
		(void)snprintf(place, sizeof place, "%s", name_of(g->in));
	if (g->rows->first_bad[0] == '\0')
		(void)snprintf(g->rows->first_bad, sizeof g->rows->first_bad, "%s: %s", place, why);
	if (g->in->strict)
		return cm_fail(err, CM_EDATA, "%s: %s", place, why);
	return CM_OK;
}

static enum cm_rc on_bad(void *user, uint64_t line, const char *why, struct cm_err *err)
{
	struct gathering *g = user;

	g->rows->rows++;
	g->rows->bad++;
	return bad_row(g, line, why, err);
}

static enum cm_rc on_row(void *user, const struct cl_row *row, struct cm_err *err)
{
	struct gathering *g = user;
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	struct pt_value value;
	struct cm_err why;
	int clamped = 0;
	enum cm_rc rc;

	g->rows->rows++;
	if (pt_value_read(g->q, row->text, g->at, &value, &clamped, &why) != CM_OK) {
		g->rows->out_of_domain++;
		return bad_row(g, row->line, why.msg, err);
	}
	g->rows->clamped += clamped != 0;
	cl_device_pseudonym(g->secret, g->population, row->device, pseudonym);
	rc = cl_batch_add(g->batch, g->rng, pseudonym, &value, err);
	cm_wipe(&value, sizeof value);
	return rc;
}

/* Feed the input to the batch of *g. */
static enum cm_rc gather(struct gathering *g, struct cl_db *taken, struct cm_err *err)
{
	const struct pt_query *q = g->q;
	const char *field[PR_COLUMNS_MAX];
	struct cl_reader_conf conf = {
		.format = g->in->format,
		.name = name_of(g->in),
		.device_field = g->in->device_field,
		.field = field,
		.fields = pt_query_fields(q),
		.arrays = q->kind == PT_VECTOR && q->columns == 0,
		.on_row = on_row,
		.on_bad = on_bad,
		.user = g,
	};
	enum cm_rc rc = CM_OK;

	for (uint32_t i = 0; i < conf.fields; i++)
		field[i] = pt_query_field(q, i);
	if (taken != NULL)
		rc = cl_store_taken(taken, g->batch, err);
	if (rc != CM_OK)
		return rc;
	return g->in->feed != NULL ? g->in->feed(g->in->user, &conf, err)
				   : cl_readings_file(g->in->path, &conf, err);
}

enum cm_rc cl_prepare_batch(const struct cl_input *in, const struct rd_descriptor *d,
	const struct cl_policy *policy, const struct cm_key *secret, const struct cm_rng *rng,
	struct cl_db *taken, struct cl_batch **out, struct cl_rows *rows, struct cm_err *err)
{
	uint32_t width = pt_value_width(&d->query), level;
	struct gathering g = { .in = in,
		.q = &d->query,
		.population = d->population,
		.secret = secret,
		.rng = rng,
		.batch = cl_batch_new(in->limit, width),
		.rows = rows,
		.at = width > 0 ? calloc(width, sizeof *g.at) : NULL };
	enum cm_rc rc;

	*rows = (struct cl_rows){ 0 };
	rc = g.batch == NULL || (width > 0 && g.at == NULL) ? cm_fail(err, CM_EINTERNAL, "out of memory")
							    : gather(&g, taken, err);
	if (g.at != NULL)
		cm_wipe(g.at, width * sizeof *g.at);
	free(g.at);
	if (rc != CM_OK) {
		cl_batch_free(g.batch);
		return rc;
	}
	rows->duplicates = cl_batch_duplicates(g.batch);
	rows->over_limit = cl_batch_over_limit(g.batch);
	cl_batch_shuffle(g.batch, rng);
	(void)cl_policy_class(policy, d, &level);
	cl_batch_set_class(g.batch, level);
	*out = g.batch;
	return CM_OK;
}

enum cm_rc cl_prepare(const struct cl_prepare_job *job, struct cl_prepared *out, struct cm_err *err)
{
	struct cm_rng rng;
	int64_t whole = 0;
	enum cm_rc rc;

	*out = (struct cl_prepared){ 0 };
	rc = cl_judge(job->db, &job->setup->policy, job->setup->analyzer, job->descriptor,
		job->descriptor_len, job->signature, job->signature_len, job->now_ms, &out->j, err);
	if (rc == CM_OK)
		rc = cl_db_int(job->db, "SELECT whole FROM active", &whole, err);
	if (rc != CM_OK || (out->j.resumed && whole != 0) || job->input == NULL)
		return rc;
	cm_rng_point("prepare", out->j.d.sequence, 0);
	rc = cm_rng_system(&rng, err);
	if (rc != CM_OK)
		return rc;
	return cl_prepare_batch(job->input, &out->j.d, &job->setup->policy, job->secret, &rng,
		out->j.resumed ? job->db : NULL, &out->batch, &out->rows, err);
}

void cl_prepared_fini(struct cl_prepared *p)
{
	cl_batch_free(p->batch);
	p->batch = NULL;
	if (p->j.verified)
		rd_descriptor_fini(&p->j.d);
	p->j.verified = false;
}
