/* cl_prepare.c - turns a descriptor, a list of devices and their readings into one value per device. */
#include "cl_prepare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cd_times.h"
#include "cl_device.h"
#include "cl_npy.h"
#include "cl_reports.h"
#include "cl_texts.h"
#include "cm_clock.h"
#include "cm_fault.h"

struct gathering {
	const struct cl_input *in;
	const struct qy_query *q;
	uint64_t sequence;
	const char *population;
	const struct cr_key *secret;
	const struct cr_rng *rng;
	struct cl_batch *batch;
	struct cl_rows *rows;
	uint32_t *at; /* numbers of the current value */
	const struct qy_computing *computing;
	const char *field[PR_COLUMNS_MAX]; /* the fields of a reading that are read */
	uint32_t fields, width;            /* how many fields; numbers of a value */
	/* reads a reading in a round that computes; NULL if nothing can be computed */
	struct co_maker *maker;
	/* by field: the categories that it may have; NULL if it may have any text */
	struct cl_texts *known[PR_COLUMNS_MAX];
};

/* Name of the input for messages: the end of a long path, so that line and reason still fit. */
static const char *name_of(const struct cl_input *in)
{
	const char *path = strcmp(in->path, "-") == 0 ? "stdin" : in->path;
	size_t len = strlen(path);

	return len > CL_PLACE_MAX ? path + len - CL_PLACE_MAX : path;
}

static enum cm_rc bad_row(struct gathering *g, uint64_t line, const char *why, struct cm_err *err)
{
	char place[CL_PLACE_MAX + 24];

	if (!g->in->strict && g->rows->first_bad[0] != '\0')
		return CM_OK;
	/* A reading that does not come from a file has no line. */
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

/* Describe what is wrong with a row in which every field has a text, or from which nothing can be
 * computed. */
static enum cm_rc bad_value(struct gathering *g, const struct cl_row *row, struct cm_err *err)
{
	struct qy_value unused;
	struct cm_err why = { .msg = "" };
	int clamped = 0;

	if (!g->in->strict && g->rows->first_bad[0] != '\0')
		return CM_OK;
	if (qy_computes(g->computing))
		return bad_row(g, row->line, "no reading that the round's map is defined for", err);
	(void)(qy_value_read(g->q, row->text, g->at, &unused, &clamped, &why) != CM_OK);
	return bad_row(g, row->line, why.msg, err);
}

/* Set the row's value, or the numbers from which it is computed later.  Returns how many of `fields` had no
 * valid reading. */
static uint32_t take(struct gathering *g, const struct cl_row *row, struct qy_value *value, int *clamped)
{
	if (!qy_computes(g->computing))
		return qy_value_take(g->q, row->text, g->rng, g->at, value, clamped);
	*value = (struct qy_value){ .at = g->at };
	if (!g->maker)
		return g->fields;
	if (row->number ? cl_values_numbers(
				  g->maker, row->number, row->numbers, row->text[g->fields - 1], g->at)
			: cl_values_read(g->maker, row->text, g->at))
		return 0;
	return g->fields;
}

/* A row of an array belongs to the device at the same place in the list.  false: the list is shorter. */
static bool pseudonym_of(
	const struct gathering *g, const struct cl_row *row, uint8_t pseudonym[PR_PSEUDONYM_LEN])
{
	if (!row->by_number || !g->in->devices) {
		cl_device_pseudonym(g->secret, g->population, row->device, pseudonym);
		return true;
	}
	if (row->line > cl_devices_n(g->in->devices))
		return false;
	memcpy(pseudonym, cl_devices_at(g->in->devices, (size_t)row->line - 1), PR_PSEUDONYM_LEN);
	return true;
}

static void show(const struct gathering *g, const struct cl_seen *s)
{
	if (g->in->seen)
		g->in->seen(g->in->seer, s);
}

static enum cm_rc on_row(void *user, const struct cl_row *row, struct cm_err *err)
{
	struct gathering *g = user;
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	struct qy_value value;
	int clamped = 0;
	uint32_t missing;
	enum cm_rc rc = CM_OK;

	g->rows->rows++;
	g->rows->bad += row->why != NULL;
	if (row->why)
		rc = bad_row(g, row->line, row->why, err);
	if (rc == CM_OK && !row->device)
		show(g, &(struct cl_seen){ .row = row, .missing = g->fields });
	if (rc != CM_OK || !row->device)
		return rc;
	if (!pseudonym_of(g, row, pseudonym)) {
		g->rows->unlisted++;
		return CM_OK;
	}
	/* Without a list, every device in the file takes part, even if its row is unusable. */
	if (!g->in->devices)
		rc = cl_batch_list(g->batch, pseudonym, err);
	if (rc != CM_OK)
		return rc;
	cr_rng_point("take", g->sequence, row->line);
	missing = take(g, row, &value, &clamped);
	g->rows->clamped += clamped != 0;
	show(g, &(struct cl_seen){
			row, pseudonym, missing, clamped != 0, missing < g->fields ? &value : NULL });
	if (missing > 0 && !row->why) {
		g->rows->out_of_domain++;
		rc = bad_value(g, row, err);
	}
	/* A row without any valid field is no reading: it does not compete with the device's other
	 * readings.  A test that removes the check drops rows with some valid fields too. */
	if (rc == CM_OK && missing < (CM_CHECKED("client.none") ? g->fields : 1))
		rc = cl_batch_add(g->batch, g->rng, pseudonym, &value, err);
	cr_wipe(&value, sizeof value);
	return rc;
}

/* Give every device no reading, because the file cannot be opened or does not have its form.  Lack of
 * memory and disk faults remain faults. */
static enum cm_rc without_file(struct gathering *g, const struct cm_err *why)
{
	if (!CM_CHECKED("client.absent") || (why->code != CM_ENOINPUT && why->code != CM_EDATA))
		return why->code;
	g->rows->bad++;
	if (g->rows->first_bad[0] == '\0')
		memcpy(g->rows->first_bad, why->msg, sizeof g->rows->first_bad);
	return CM_OK;
}

/* How many bytes a file may hold for each device.  This follows from what is asked, not from a reading. */
static size_t bytes_of(const struct gathering *g)
{
	const struct qy_query *q = g->q;
	size_t bytes = CL_BYTES + (size_t)g->width * CL_NUMBER_BYTES;

	for (uint32_t i = 0; i < g->fields; i++)
		bytes += strlen(g->field[i]) + CL_NUMBER_BYTES;
	for (uint32_t i = 0; q->kind == QY_SETS && i < q->categories; i++)
		bytes += 2 * strlen(q->category[i]);
	return bytes < CL_RECORD_MAX ? bytes : CL_RECORD_MAX;
}

static enum cm_rc know(struct gathering *g, struct cm_err *err)
{
	const struct qy_query *q = g->q;
	enum cm_rc rc = CM_OK;

	if (qy_computes(g->computing))
		return CM_OK;
	if (q->kind == QY_HISTOGRAM || q->kind == QY_SETS)
		rc = cl_texts_new((const char *const *)q->category, q->categories, &g->known[0], err);
	for (uint32_t i = 0; rc == CM_OK && q->kind == QY_MARGINALS && i < q->columns; i++)
		rc = cl_texts_new((const char *const *)q->column[i].category, q->column[i].categories,
			&g->known[i], err);
	return rc;
}

/* How many of the fields are texts or categories; these are the last ones. */
static size_t texts_of(const struct gathering *g)
{
	if (qy_computes(g->computing))
		return g->maker && co_maker_parameters(g->maker)->label ? 1 : 0;
	return g->q->kind & (QY_HISTOGRAM | QY_MARGINALS | QY_PREFIXES | QY_SETS) ? g->fields : 0;
}

static enum cm_rc read_input(struct gathering *g, const struct cl_reader_conf *conf, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (g->in->feed)
		return g->in->feed(g->in->user, conf, err);
	if (g->in->again)
		rc = cl_readings_lasting(g->in->path, err);
	if (rc == CM_OK && g->in->again && g->in->labels)
		rc = cl_readings_lasting(g->in->labels, err);
	if (rc != CM_OK)
		return rc;
	return g->in->format == CL_FORMAT_NPY ? cl_npy_file(g->in->path, g->in->labels, conf, err)
					      : cl_readings_file(g->in->path, conf, err);
}

/* Read the input into the batch of *g. */
static enum cm_rc gather(struct gathering *g, struct cl_db *taken, struct cm_err *err)
{
	const struct qy_query *q = g->q;
	bool computes = qy_computes(g->computing);
	struct cl_reader_conf conf = {
		.format = g->in->format,
		.name = name_of(g->in),
		.device_field = g->in->device_field,
		.field = g->field,
		.fields = g->fields,
		.arrays = computes || (q->kind == QY_VECTOR && q->columns == 0) ? CL_ARRAYS_NUMBERS
			  : q->kind == QY_SETS                                  ? CL_ARRAYS_SETS
										: CL_ARRAYS_NONE,
		.map = g->in->map,
		.csv = g->in->csv,
		.numbers = computes,
		.texts = texts_of(g),
		.on_row = on_row,
		.user = g,
		.bytes = bytes_of(g),
		.known = (const struct cl_texts *const *)g->known,
		.until_ns = g->in->devices ? g->in->until_ns : 0,
	};
	enum cm_rc rc = know(g, err);

	if (rc == CM_OK && taken)
		rc = cl_reports_taken(taken, g->batch, err);
	for (size_t i = 0; rc == CM_OK && i < cl_devices_n(g->in->devices); i++)
		rc = cl_batch_list(g->batch, cl_devices_at(g->in->devices, i), err);
	if (rc != CM_OK)
		return rc;
	rc = read_input(g, &conf, err);
	g->rows->late = cl_readings_over(&conf);
	return rc != CM_OK && !g->in->feed && g->in->may_be_absent && g->in->devices ? without_file(g, err)
										     : rc;
}

enum cm_rc cl_prepare_batch(const struct cl_input *in, const struct rd_descriptor *d,
	const struct cl_policy *policy, const struct cr_key *secret, const struct cr_rng *rng,
	struct cl_db *taken, struct cl_batch **out, struct cl_rows *rows, struct cm_err *err)
{
	uint32_t width = cl_values_width(d), level;
	bool computes = qy_computes(&d->computing);
	struct gathering g = { .in = in,
		.q = &d->query,
		.sequence = d->sequence,
		.population = d->population,
		.secret = secret,
		.rng = rng,
		.batch = cl_batch_new(in->limit, width, d->sequence),
		.rows = rows,
		.computing = &d->computing,
		.fields = computes ? d->computing.fields : qy_query_fields(&d->query),
		.width = width,
		.at = width > 0 ? calloc(width, sizeof *g.at) : NULL };
	struct cl_batch_counts counts;
	enum cm_rc rc;

	*rows = (struct cl_rows){ 0 };
	rc = !g.batch || (width > 0 && !g.at) ? cm_fail(err, CM_EINTERNAL, "out of memory") : CM_OK;
	if (rc == CM_OK && computes)
		rc = cl_values_maker(d, &in->payload, &g.maker, err);
	for (uint32_t i = 0; i < g.fields; i++)
		g.field[i] = computes ? d->computing.field[i] : qy_query_field(&d->query, i);
	if (rc == CM_OK)
		rc = gather(&g, taken, err);
	if (rc == CM_OK)
		rc = cl_batch_complete(g.batch, computes ? NULL : g.q, rng, err);
	co_maker_free(g.maker);
	for (uint32_t i = 0; i < g.fields; i++)
		cl_texts_free(g.known[i]);
	if (g.at)
		cr_wipe(g.at, width * sizeof *g.at);
	free(g.at);
	if (rc != CM_OK) {
		cl_batch_free(g.batch);
		return rc;
	}
	cl_batch_counts(g.batch, &counts);
	rows->duplicates = counts.duplicates;
	rows->unlisted = counts.unlisted;
	rows->none = counts.none;
	(void)cl_policy_class(policy, d, &level);
	cl_batch_set_class(g.batch, level);
	*out = g.batch;
	return CM_OK;
}

void cl_prepare_times(const struct cl_conf *conf, const struct rd_descriptor *d, int64_t from_ms,
	int64_t judging_ms, struct cl_input *in, int64_t *read_ns)
{
	const struct cd_times times = cd_times_make(&(struct cd_times_of){ .from_ms = from_ms,
		.deadline_ms = d->deadline_ms,
		.prepare_ms = conf->prepare_ms,
		.devices = cl_devices_n(in->devices),
		.numbers = cl_values_width(d),
		.judging_ms = judging_ms,
		.rows = cl_mqtt_conf_sources(&conf->mqtt).n > 0 && !conf->mqtt.hold
				? (uint64_t)conf->mqtt.readings
				: 0 });
	int64_t zero = cm_clock_mono_ns() - cm_clock_wall_ms() * 1000000,
		last = zero + times.last_ms * 1000000;

	*read_ns = zero + times.end_ms * 1000000;
	/* On a machine that was started a moment ago this may be earlier than the start of the clock. */
	in->until_ns = !CM_CHECKED("client.until") ? 0 : last > 0 ? last : 1;
}

enum cm_rc cl_prepare(const struct cl_prepare_job *job, struct cl_prepared *out, struct cm_err *err)
{
	const struct cl_judge_job judge = { .db = job->db,
		.policy = &job->setup->policy,
		.analyzer = job->setup->analyzer,
		.descriptor = job->descriptor,
		.descriptor_len = job->descriptor_len,
		.signature = job->signature,
		.signature_len = job->signature_len,
		.now_ms = job->now_ms,
		.absent = job->absent,
		.stop = job->stop };
	struct cl_input input;
	struct cr_rng rng;
	bool whole = false;
	enum cm_rc rc;

	*out = (struct cl_prepared){ 0 };
	const int64_t begun = cm_clock_mono_ms();
	rc = cl_judge(&judge, &out->j, err);
	const int64_t judging = cm_clock_mono_ms() - begun;
	if (rc == CM_OK)
		rc = cl_reports_is_whole(job->db, &whole, err);
	if (rc != CM_OK || (out->j.resumed && whole))
		return rc;
	if (job->payload && out->j.d.payload_size > 0 && !cl_payload_settled(job->payload, &out->j.d)) {
		out->j.need.kind = CD_NEED_PAYLOAD;
		return CM_EMORE;
	}
	if (!job->input)
		return rc;
	cr_rng_point("prepare", out->j.d.sequence, 0);
	rc = cr_rng_system(&rng, err);
	if (rc != CM_OK)
		return rc;
	input = *job->input;
	if (job->from_ms > 0)
		cl_prepare_times(&job->setup->conf, &out->j.d, job->from_ms, judging, &input, &out->read_ns);
	out->payload = input.payload;
	return cl_prepare_batch(&input, &out->j.d, &job->setup->policy, job->secret, &rng,
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
