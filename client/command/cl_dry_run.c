/* cl_dry_run.c - shows what would leave the machine, and sends nothing. */
#include "cl_dry_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cl_answers.h"
#include "cl_db.h"
#include "cl_encode.h"
#include "cl_pins.h"
#include "cl_show.h"
#include "cm_clock.h"
#include "cm_log.h"
#include "cm_round.h"
#include "cm_table.h"

#define SHOWN_DEVICES  10u
#define SHOWN_MESSAGES 8u

/* Store the plan that came with the round, if one did. */
static enum cm_rc learn_plan(
	const struct cl_dry_run *what, struct cl_db *db, const struct rd_descriptor *d, struct cm_err *err)
{
	const struct cl_fetched *f = what->round;
	struct cl_offered_plan offered = {
		.bytes = f->plan.data, .len = f->plan.len, .signature = f->plan_signature
	};

	if (f->plan.len == 0)
		return CM_OK;
	memcpy(offered.hash, d->plan_hash, PR_HASH_LEN);
	return cl_plan_learn(
		db, &offered, what->setup->conf.population, what->setup->analyzer, d->opens_ms, err);
}

/* Find out what this client would do, judged by a copy of its ledger, as if the round had just opened.
 * None of the client's files is written. */
static enum cm_rc judge_quietly(const struct cl_dry_run *what, const struct rd_descriptor *d,
	struct cl_judgement *j, struct cm_err *no, struct cm_err *err)
{
	const struct cl_setup *setup = what->setup;
	struct cl_db *db = NULL;
	struct cl_judge_job job = { .policy = &setup->policy,
		.analyzer = setup->analyzer,
		.descriptor = what->round->descriptor.data,
		.descriptor_len = what->round->descriptor.len,
		.signature = what->round->signature,
		.signature_len = PR_SIGNATURE_LEN,
		.now_ms = d->opens_ms };
	enum cm_rc rc = cl_db_copy(setup->conf.state_dir, setup->conf.population, d->sequence, &db, err);
	enum cm_rc judged;

	no->code = CM_OK;
	if (rc == CM_OK && learn_plan(what, db, d, no) != CM_OK)
		job.absent = no->msg;
	if (rc != CM_OK)
		return rc;
	job.db = db;
	judged = cl_judge(&job, j, no);
	if (judged == CM_EMORE)
		judged = cm_fail(no, CM_ELATER, "%s",
			j->need.kind == CD_NEED_PLAN
				? "its plan is not known here: the shuffler is asked for it first"
				: "it is a further try: the shuffler is asked for the VOID manifest of the "
				  "one before first");
	no->code = judged;
	if (judged == CM_EIO || judged == CM_EDATA || judged == CM_EINTERNAL) {
		*err = *no;
		rc = judged;
	} else if (judged != CM_OK) {
		rc = cl_judge_alone(&setup->policy, setup->policy.shared.delta, j, err);
	}
	cl_db_close(db);
	return rc;
}

/* List what a record counts for: categories, or bins if the counts are not those of categories. */
static void counts_text(
	const struct rd_descriptor *d, const uint64_t *counts, uint32_t n, char *out, size_t size)
{
	const uint32_t bins = qy_query_bins(&d->query);
	bool named = (d->query.kind == QY_HISTOGRAM && n == bins) || d->query.kind == QY_SETS;
	uint32_t supported = 0;
	size_t used = 0;

	(void)snprintf(out, size, "nothing");
	for (uint32_t i = 0; i < n && used < size; i++) {
		if (counts[i] == 0)
			continue;
		supported++;
		if (named)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "",
				i < d->query.categories ? d->query.category[i]
				: i < bins              ? QY_NONE_LABEL
							: "padding");
		else
			used += (size_t)snprintf(out + used, size - used, "%sbin %" PRIu32 " of %" PRIu32,
				used > 0 ? ", " : "", i, n);
	}
	/* Show a list only if it fits as a whole. */
	if (used >= size && supported > 1)
		(void)snprintf(out, size, "several of %" PRIu32, n);
}

/* Describe one record as the analyzer will read it. */
static void record_text(const struct rd_descriptor *d, const uint8_t *record, char *out, size_t size)
{
	uint32_t n = pt_tallies(&d->randomizer);
	uint64_t *counts;
	struct cm_err unused;

	if (d->randomizer.row->describe) {
		d->randomizer.row->describe(&d->query, &d->randomizer, record, out, size);
		return;
	}
	counts = calloc(n, sizeof *counts);
	if (!counts ||
		pt_protocol_of(d->randomizer.row)->tally(&d->randomizer, record, counts, &unused) != CM_OK)
		(void)snprintf(out, size, "?");
	else
		counts_text(d, counts, n, out, size);
	free(counts);
}

/* The tag that the shuffler reads from message m, in a round with tags. */
static uint32_t tag_of(const struct rd_descriptor *d, const uint8_t *sealed, uint32_t m)
{
	return cm_get_le16(sealed + m * rd_message_len(d));
}

static json_t *device_json(
	const struct rd_descriptor *d, const char *value, const uint8_t *records, const uint8_t *sealed)
{
	json_t *list = json_array(), *o;
	char *hex = malloc(2 * (size_t)d->record_len + 1);

	for (uint32_t m = 0; hex && m < d->messages_per_client; m++) {
		char text[128];
		const uint8_t *record = records + (size_t)m * d->record_len;

		record_text(d, record, text, sizeof text);
		cm_hex(record, d->record_len, hex);
		o = json_pack("{s:s, s:s}", "reads", text, "hex", hex);
		if (d->randomizer.shuffler.tags > 0)
			(void)json_object_set_new(o, "tag", json_integer(tag_of(d, sealed, m)));
		(void)json_array_append_new(list, o);
	}
	free(hex);
	return json_pack("{s:s, s:o, s:I, s:I}", "value", value, "records", list, "messages",
		(json_int_t)d->messages_per_client, "sealed_bytes", (json_int_t)rd_message_len(d));
}

static void sent_text(
	const struct rd_descriptor *d, const uint8_t *records, const uint8_t *sealed, char sent[CL_DRY_SENT])
{
	size_t used = 0;

	*sent = '\0';
	for (uint32_t m = 0; m < d->messages_per_client && m < SHOWN_MESSAGES; m++) {
		char text[64], tag[32] = "";

		record_text(d, records + (size_t)m * d->record_len, text, sizeof text);
		if (d->randomizer.shuffler.tags > 0)
			(void)snprintf(tag, sizeof tag, " (tag %" PRIu32 ")", tag_of(d, sealed, m));
		used += (size_t)snprintf(
			sent + used, CL_DRY_SENT - used, "%s%s%s", m > 0 ? " | " : "", text, tag);
		if (used >= CL_DRY_SENT)
			break;
	}
	if (d->messages_per_client > SHOWN_MESSAGES && used + 4 < CL_DRY_SENT)
		(void)snprintf(sent + used, CL_DRY_SENT - used, " ...");
}

static void device_row(struct cm_table *table, const struct rd_descriptor *d, const char *value,
	const uint8_t *records, const uint8_t *sealed)
{
	char sent[CL_DRY_SENT], bytes[64];

	sent_text(d, records, sealed, sent);
	(void)snprintf(bytes, sizeof bytes, "%" PRIu32 " x %zu", d->messages_per_client, rd_message_len(d));
	cm_table_row(table, (const char *const[]){ value, sent, bytes });
}

/* Add each device to `list` or, if that is NULL, to `table`; `who` precedes each value. */
static enum cm_rc each_device(const struct rd_descriptor *d, const struct cl_payload_bytes *payload,
	const struct cl_entry *entry, size_t n, const char *who, const struct cr_rng *rng, json_t *list,
	struct cm_table *table, struct cm_err *err)
{
	size_t records_len = (size_t)d->messages_per_client * d->record_len;
	uint8_t *records = malloc(records_len), *sealed = malloc(cd_device_len(d));
	struct cl_values *values = NULL;
	enum cm_rc rc = records && sealed ? cl_values_new(d, payload, &values, err)
					  : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		struct qy_value held = cl_values_of(values, &entry[i].value, rng);
		char value[160], text[128];

		rc = cl_encode_shown(d, &held, rng, records, sealed, err);
		if (rc != CM_OK)
			break;
		qy_value_text(&d->query, &held, text, sizeof text);
		(void)snprintf(value, sizeof value, "%s%s", who, text);
		if (list)
			(void)json_array_append_new(list, device_json(d, value, records, sealed));
		else
			device_row(table, d, value, records, sealed);
	}
	cl_values_free(values);
	if (records)
		cr_wipe(records, records_len);
	free(records);
	free(sealed);
	return rc;
}

enum cm_rc cl_dry_run_device(const struct rd_descriptor *d, const struct cl_entry *entry,
	const struct cr_rng *rng, char value[CL_DRY_VALUE], char sent[CL_DRY_SENT], struct cm_err *err)
{
	const struct cl_payload_bytes nothing = { NULL, 0 };
	size_t records_len = (size_t)d->messages_per_client * d->record_len;
	uint8_t *records = malloc(records_len), *sealed = malloc(cd_device_len(d));
	struct cl_values *values = NULL;
	enum cm_rc rc = records && sealed ? cl_values_new(d, &nothing, &values, err)
					  : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK) {
		struct qy_value held = cl_values_of(values, &entry->value, rng);

		rc = cl_encode_shown(d, &held, rng, records, sealed, err);
		if (rc == CM_OK) {
			qy_value_text(&d->query, &held, value, CL_DRY_VALUE);
			sent_text(d, records, sealed, sent);
		}
	}
	cl_values_free(values);
	if (records)
		cr_wipe(records, records_len);
	free(records);
	free(sealed);
	return rc;
}

/* Show what a device without a valid reading would send; with none = "even" that differs each time. */
static enum cm_rc without_reading(const struct rd_descriptor *d, const struct cr_rng *rng, json_t *list,
	struct cm_table *table, struct cm_err *err)
{
	uint32_t *at = calloc((size_t)qy_value_width(&d->query) + 1, sizeof *at);
	const struct cl_payload_bytes nothing = { NULL, 0 };
	struct cl_entry entry = { 0 };
	enum cm_rc rc = at ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK) {
		if (!qy_computes(&d->computing))
			qy_value_none(&d->query, rng, at, &entry.value);
		rc = each_device(d, &nothing, &entry, 1, "without a reading: ", rng, list, table, err);
	}
	free(at);
	return rc;
}

/* Have programs compute the values of the round; without programs every device is shown as one without a
 * reading. */
static void compute(const struct cl_dry_run *what, const struct cl_judgement *j, struct cl_batch *batch,
	struct cl_rows *rows)
{
	const struct cl_answers a = {
		.programs = what->programs, .setup = what->setup, .from_ms = cm_clock_wall_ms(), .shown = true
	};
	struct cl_prepared p = { .j = *j, .batch = batch, .rows = *rows, .payload = what->input->payload };
	struct cm_err why;

	if (cl_answers_take(&a, &p, &why) != CM_OK)
		cm_log(CM_LOG_WARN, "programs compute nothing", CM_S("reason", why.msg));
	*rows = p.rows;
}

static void print_head(const struct rd_descriptor *d, const char *words, const char *would, FILE *out)
{
	char n[32], fields[160], none[160], parameters[200];

	pt_parameters_text(&d->randomizer, parameters, sizeof parameters);
	qy_query_fields_text(&d->query, fields, sizeof fields);
	qy_query_none_text(&d->query, none, sizeof none);
	(void)fprintf(out,
		"round %" PRIu64 ", query %s (%s of %s), protocol %s (%s), min_reports %s; %s\n%s\n",
		d->sequence, d->query.name, qy_kind_name(d->query.kind), fields, d->randomizer.row->name,
		parameters, cm_thousands((int64_t)d->min_reports, n), none, words);
	(void)fprintf(out, "this client %s\n", would);
	if (d->payload_size > 0)
		(void)fprintf(out,
			"its payload (%s bytes) is not fetched: devices are shown as without a reading; "
			"`send` fetches it\n",
			cm_thousands((int64_t)d->payload_size, n));
}

/* Print the document of --json.  Takes over the references to both lists. */
static void print_json(const struct cl_judgement *j, const char *would, const char *words, json_t *devices,
	json_t *none, FILE *out)
{
	char parameters[200];

	pt_parameters_text(&j->d.randomizer, parameters, sizeof parameters);
	json_t *all = json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:o}", "schema",
		"tombola.encode/1", "sequence", (json_int_t)j->d.sequence, "query", j->d.query.name,
		"protocol", j->d.randomizer.row->name, "parameters", parameters, "privacy", words,
		"epsilon_round", cl_json_number(j->charge.epsilon_round), "epsilon_total",
		cl_json_number(j->charge.epsilon_total), "decision", would, "devices", devices, "no_reading",
		none);
	if (j->d.payload_size > 0)
		(void)json_object_set_new(all, "payload_fetched", json_false());
	(void)json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(17));
	(void)fputc('\n', out);
	json_decref(all);
}

static enum cm_rc show(const struct cl_dry_run *what, struct cl_judgement *j, const char *would, FILE *out,
	struct cm_err *err)
{
	static const char *const head[] = { "value", "what the analyzer would read", "sealed bytes" };
	struct cl_input input = *what->input;
	struct cl_devices *devices = NULL;
	struct cl_batch *batch = NULL;
	struct cl_rows rows = { 0 };
	struct cm_table *table = what->json ? NULL : cm_table_new("<<>", head);
	json_t *list = what->json ? json_array() : NULL, *none = what->json ? json_array() : NULL;
	struct cr_key secret = { { 0 } };
	struct cr_rng rng;
	char words[512];
	size_t n = 0;
	enum cm_rc rc = cr_rng_system(&rng, err);

	input.limit = input.limit == 0 ? SHOWN_DEVICES : input.limit;
	cl_judge_words(j, &what->setup->policy, words, sizeof words);
	if (rc == CM_OK) {
		/* Pseudonyms are not shown, so any secret serves to tell devices apart. */
		rng.fill(rng.ctx, secret.bytes, sizeof secret.bytes);
		rc = cl_setup_devices(what->setup, &secret, &devices, err);
	}
	input.devices = devices;
	if (rc == CM_OK)
		rc = cl_prepare_batch(
			&input, &j->d, &what->setup->policy, &secret, &rng, NULL, &batch, &rows, err);
	if (rc == CM_OK) {
		const struct cl_entry *entry = cl_batch_entries(batch, &n);

		compute(what, j, batch, &rows);
		rc = each_device(&j->d, &input.payload, entry, n, "", &rng, list, table, err);
	}
	if (rc == CM_OK)
		rc = without_reading(&j->d, &rng, none, table, err);
	/* Rows beyond the limit are left out on purpose, so they are not reported. */
	rows.unlisted = 0;
	if (rc == CM_OK && what->json) {
		print_json(j, would, words, json_incref(list), json_incref(none), out);
	} else if (rc == CM_OK) {
		print_head(&j->d, words, would, out);
		cm_table_print(table, out);
		cl_show_rows(&rows, out);
		(void)fputs("nothing was sent and nothing was charged; the next time other noise is drawn\n",
			out);
	}
	json_decref(list);
	json_decref(none);
	cm_table_free(table);
	cl_batch_free(batch);
	cl_devices_free(devices);
	cr_key_fini(&secret);
	return rc;
}

static void would_text(const struct cl_judgement *j, const struct cm_err *no, char *out, size_t size)
{
	const struct cl_plan_view *p = &j->plan;
	size_t n;

	if (no->code != CM_OK) {
		(void)snprintf(out, size, "would %s: %s", no->code == CM_ELATER ? "not yet know" : "refuse",
			no->msg);
		return;
	}
	n = (size_t)snprintf(out, size,
		"would take part; plan %s (%" PRIu64 "), slice of epsilon %.4g at delta %.3g", p->name,
		p->number, cm_digits_up(p->epsilon, 4), cm_digits_up(p->delta, 3));
	if (n < size && !p->adaptive)
		(void)snprintf(out + n, size - n,
			": entry %" PRIu32 ", try %" PRIu32 "; %zu of %zu entries pinned", j->d.entry,
			j->d.attempt, p->taken, p->entries);
}

enum cm_rc cl_dry_run(const struct cl_dry_run *what, FILE *out, struct cm_err *err)
{
	struct cm_err no = { .code = CM_OK };
	char would[480];
	struct {
		struct cl_judgement j;
		struct rd_descriptor d;
	} *of = calloc(1, sizeof *of);
	enum cm_rc rc;

	if (!of)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = rd_descriptor_verify(what->round->descriptor.data, what->round->descriptor.len,
		what->round->signature, what->setup->analyzer, &of->d, err);
	if (rc == CM_OK) {
		rc = judge_quietly(what, &of->d, &of->j, &no, err);
		rd_descriptor_fini(&of->d);
	}
	if (rc == CM_OK) {
		would_text(&of->j, &no, would, sizeof would);
		rc = show(what, &of->j, would, out, err);
	}
	if (of->j.verified)
		rd_descriptor_fini(&of->j.d);
	free(of);
	return rc;
}
