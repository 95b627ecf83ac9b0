/* cl_dry_plan.c - judges readings against the rounds of a plan, and prints what is found. */
#include "cl_dry_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cl_dry_run.h"
#include "cl_findings.h"
#include "cm_table.h"
#include "cm_text.h"
#include "cr_hpke.h"
#include "cr_secret.h"
#include "pl_load.h"

#define SCHEMA "tombola.readings/1"

struct judging {
	const struct cl_dry_plan *what;
	struct pl_plan plan;
	struct cl_devices *devices;
	struct cr_key secret;
	struct cr_rng rng;
	const char *input; /* the input's name in sentences */
	struct cm_table *table;
	json_t *rounds;        /* with --json: what is printed at the end */
	json_t *shown;         /* what the first devices hold and would send in the current round */
	struct cm_buf written; /* without --json: the text that follows the table */
	size_t asked, wrong;   /* number of questions, and of those with a fault */
};

/* Write the round's number, "3", or "3-367" if the rounds after it repeat it. */
static void numbers_of(const struct pl_plan *p, size_t i, char *out, size_t size)
{
	size_t last = i;

	while (last + 1 < p->rounds && pl_repeats(p, last + 1))
		last++;
	if (last == i)
		(void)snprintf(out, size, "%" PRIu32, p->round[i].number);
	else
		(void)snprintf(out, size, "%" PRIu32 "-%" PRIu32, p->round[i].number, p->round[last].number);
}

static const char *state_of(const struct cl_found_device *device)
{
	return !device->taken ? "NONE" : device->clamped ? "clamped" : "taken";
}

/* Say which row the device has, and why it or one of its fields is NONE. */
static void device_words(const struct judging *g, const struct cl_found *f,
	const struct cl_found_device *device, char place[320], char name[128], char why[256])
{
	const struct cl_found_flaw *flaw = device->flaw > 0 ? &f->flaw[device->flaw - 1] : NULL;
	const struct rd_descriptor *d = f->d;

	if (device->line > 0)
		(void)snprintf(place, 320, "%.280s:%" PRIu64, g->input, device->line);
	else
		(void)snprintf(place, 320, "%.280s:%" PRIu32, g->what->setup->devices, device->list);
	cm_text_copy(name, 128, device->name ? device->name : "");
	why[0] = '\0';
	if (device->line == 0)
		(void)snprintf(why, 256, "no row in %.200s", g->input);
	else if (flaw && flaw->flaw == CL_FLAW_ROW)
		(void)snprintf(why, 256, "%s", flaw->why);
	else if (flaw)
		(void)snprintf(why, 256, "the field '%s' %s",
			qy_computes(&d->computing) ? d->computing.field[flaw->field]
						   : qy_query_field(&d->query, flaw->field),
			cl_flaw_words(flaw->flaw));
}

/* ---- text ---- */

static enum cm_rc CM_PRINTF(2, 3) write_line(struct judging *g, const char *fmt, ...)
{
	char line[1400];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	if (n >= (int)sizeof line)
		n = (int)sizeof line - 1;
	return cm_buf_put(&g->written, line, (size_t)n);
}

static enum cm_rc print_round(struct judging *g, const struct pl_round *r, const char *numbers,
	const struct cl_found *f, const struct cl_findings *found)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < found->n; i++) {
		const struct cl_finding *item = &found->item[i];

		rc = write_line(g, "round %s (%s), %s: %s\n", numbers, r->query.name,
			item->wrong ? "wrong" : "note", item->text);
		if (rc == CM_OK && item->advice[0] != '\0')
			rc = write_line(g, "  what to do: %s\n", item->advice);
	}
	for (size_t i = 0; g->what->each && rc == CM_OK && i < f->devices; i++) {
		char place[320], name[128], why[256];

		device_words(g, f, &f->device[i], place, name, why);
		rc = write_line(g, "%s: round %s (%s): %s%s%s%s%s\n", place, numbers, r->query.name, name,
			name[0] != '\0' ? ": " : "", state_of(&f->device[i]), why[0] != '\0' ? ": " : "",
			why);
	}
	return rc;
}

static void add_row(
	struct judging *g, const struct pl_round *r, const char *numbers, const struct cl_found *f)
{
	char cell[6][32], taken[32];
	uint64_t with, clamped;

	cl_findings_devices(f, &with, &clamped);
	(void)cm_thousands((int64_t)f->devices, cell[0]);
	(void)cm_thousands((int64_t)with, taken);
	(void)cm_thousands((int64_t)clamped, cell[1]);
	(void)cm_thousands((int64_t)(f->devices - with), cell[2]);
	(void)cm_thousands((int64_t)r->min_reports, cell[3]);
	(void)snprintf(cell[4], sizeof cell[4], "-");
	if (r->target < PR_ROUND_REPORTS_MAX)
		(void)cm_thousands((int64_t)r->target, cell[4]);
	cm_table_row(g->table, (const char *const[]){ numbers, r->query.name, cell[0], taken, cell[1],
				       cell[2], cell[3], cell[4] });
}

/* ---- JSON ---- */

static json_t *findings_json(const struct cl_findings *found)
{
	json_t *list = json_array();

	for (size_t i = 0; i < found->n; i++)
		(void)json_array_append_new(
			list, json_pack("{s:b, s:s, s:s}", "wrong", found->item[i].wrong, "text",
				      found->item[i].text, "advice", found->item[i].advice));
	return list;
}

static json_t *devices_json(const struct judging *g, const struct cl_found *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->devices; i++) {
		char place[320], name[128], why[256];

		device_words(g, f, &f->device[i], place, name, why);
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:s}", "device", name, "state",
				      state_of(&f->device[i]), "place", place, "reason", why));
	}
	return list;
}

static void add_json(struct judging *g, const struct pl_round *r, const struct cl_found *f,
	const struct cl_findings *found)
{
	uint64_t taken, clamped;
	json_t *o;

	cl_findings_devices(f, &taken, &clamped);
	o = json_pack("{s:i, s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "round", (int)r->number,
		"recurrences", (int)(r->recurrences > 0 ? r->recurrences : 1), "query", r->query.name, "type",
		qy_kind_name(r->query.kind), "rows", (json_int_t)f->rows, "devices", (json_int_t)f->devices,
		"taken", (json_int_t)taken, "clamped", (json_int_t)clamped, "none",
		(json_int_t)(f->devices - taken), "min_reports", (json_int_t)r->min_reports, "findings",
		findings_json(found));
	if (r->target < PR_ROUND_REPORTS_MAX)
		(void)json_object_set_new(o, "target", json_integer((json_int_t)r->target));
	if (g->what->each)
		(void)json_object_set_new(o, "device", devices_json(g, f));
	if (g->what->show > 0)
		(void)json_object_set_new(o, "shown", json_deep_copy(g->shown));
	(void)json_array_append_new(g->rounds, o);
}

/* ---- what would be sent ---- */

/* The entry of a device in the batch, which is in random order; NULL if it has none. */
static const struct cl_entry *entry_of(const struct cl_batch *batch, const struct cl_found_device *device)
{
	size_t n;
	const struct cl_entry *entry = cl_batch_entries(batch, &n);

	for (size_t i = 0; i < n; i++)
		if (memcmp(entry[i].pseudonym, device->pseudonym, PR_PSEUDONYM_LEN) == 0)
			return &entry[i];
	return NULL;
}

/* Put what the first devices hold and what they would send into g->shown. */
static enum cm_rc show(
	struct judging *g, const struct cl_found *f, const struct cl_batch *batch, struct cm_err *err)
{
	struct rd_descriptor d = *f->d;
	struct cr_key secret;
	enum cm_rc rc = CM_OK;

	d.suite = CR_HPKE_AES128GCM;
	if (g->what->show > 0)
		rc = cr_hpke_keygen(&g->rng, &secret, d.hpke_key, err);
	for (size_t i = 0; rc == CM_OK && i < f->devices && i < g->what->show; i++) {
		const struct cl_entry *entry = entry_of(batch, &f->device[i]);
		char place[320], name[128], why[256], value[CL_DRY_VALUE], sent[CL_DRY_SENT];

		if (!entry)
			continue;
		device_words(g, f, &f->device[i], place, name, why);
		rc = cl_dry_run_device(&d, entry, &g->rng, value, sent, err);
		if (rc == CM_OK)
			(void)json_array_append_new(
				g->shown, json_pack("{s:s, s:s, s:s, s:s}", "device", name, "place", place,
						  "holds", value, "sends", sent));
	}
	cr_key_fini(&secret);
	return rc;
}

static enum cm_rc print_shown(struct judging *g, const struct pl_round *r, const char *numbers)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < json_array_size(g->shown); i++) {
		const json_t *one = json_array_get(g->shown, i);

		rc = write_line(g, "%s: round %s (%s): %s: holds %s, would send %s\n",
			json_string_value(json_object_get(one, "place")), numbers, r->query.name,
			json_string_value(json_object_get(one, "device")),
			json_string_value(json_object_get(one, "holds")),
			json_string_value(json_object_get(one, "sends")));
	}
	return rc;
}

/* ---- judging ---- */

static enum cm_rc read_round(struct judging *g, struct cl_found *f, struct cm_err *err)
{
	struct cl_input input = *g->what->input;
	struct cl_batch *batch = NULL;
	struct cl_rows rows;
	enum cm_rc rc;

	input.devices = g->devices;
	input.seen = cl_found_row;
	input.seer = f;
	rc = cl_prepare_batch(
		&input, f->d, &g->what->setup->policy, &g->secret, &g->rng, NULL, &batch, &rows, err);
	if (rc == CM_OK)
		rc = show(g, f, batch, err);
	cl_batch_free(batch);
	return rc == CM_OK && f->failed ? cm_fail(err, CM_EINTERNAL, "out of memory") : rc;
}

/* Say that a round which computes with a payload of the analyzer cannot be judged before the payload
 * exists. */
static enum cm_rc say_payload(
	struct judging *g, const struct pl_round *r, const char *numbers, struct cm_err *err)
{
	const char *const words = "its readings are not judged: what it computes needs a payload, which the "
				  "analyzer hands over with the round";

	if (g->rounds)
		(void)json_array_append_new(g->rounds,
			json_pack("{s:i, s:s, s:[{s:b, s:s, s:s}]}", "round", (int)r->number, "query",
				r->query.name, "findings", "wrong", 0, "text", words, "advice", ""));
	else if (write_line(g, "round %s (%s), note: %s\n", numbers, r->query.name, words) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return CM_OK;
}

static enum cm_rc judge(struct judging *g, size_t i, struct cl_findings *found, struct cm_err *err)
{
	const struct pl_round *r = &g->plan.round[i];
	struct cl_findings_of of = { .input = g->input,
		.list = g->what->setup->devices,
		.plan = g->what->plan,
		.plan_line = r->line,
		.others = g->what->others,
		.window_ms = r->window_ms };
	struct rd_descriptor d;
	struct cl_found f = { .devices = 0 };
	struct cm_err no;
	char numbers[32];
	enum cm_rc rc;

	numbers_of(&g->plan, i, numbers, sizeof numbers);
	if (r->payload_max > 0)
		return say_payload(g, r, numbers, err);
	pl_round_describe(&g->plan, r, &d);
	if (cl_policy_entry(&g->what->setup->policy, &d, NULL, &no) != CM_OK)
		of.refused = no.msg;
	(void)json_array_clear(g->shown);
	rc = cl_found_init(&f, &d, g->devices, err);
	if (rc == CM_OK)
		rc = read_round(g, &f, err);
	if (rc == CM_OK) {
		cl_findings_judge(&f, &of, found);
		g->asked++;
		g->wrong += found->wrong > 0;
		if (g->rounds)
			add_json(g, r, &f, found);
		else
			add_row(g, r, numbers, &f);
		if (!g->rounds && (print_round(g, r, numbers, &f, found) != CM_OK ||
					  print_shown(g, r, numbers) != CM_OK))
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	cl_found_fini(&f);
	return rc;
}

static void print(struct judging *g, FILE *out)
{
	if (!g->rounds) {
		(void)fprintf(out, "plan %s (%s) and %s; no shuffler is asked, and nothing is sent\n\n",
			g->plan.name, g->what->plan, g->input);
		cm_table_print(g->table, out);
		(void)fprintf(out, "\n%.*s%s\n", (int)g->written.len, (const char *)g->written.data,
			g->wrong > 0 ? "something is wrong: an answer would be too" : "nothing is wrong");
		return;
	}
	json_t *all = json_pack("{s:s, s:s, s:s, s:b, s:O}", "schema", SCHEMA, "plan", g->plan.name, "input",
		g->input, "wrong", g->wrong > 0, "rounds", g->rounds);
	(void)json_dumpf(all, out, JSON_COMPACT);
	(void)fputc('\n', out);
	json_decref(all);
}

static enum cm_rc begin(struct judging *g, struct cm_err *err)
{
	static const char *const head[] = { "round", "query", "devices", "taken", "clamped", "NONE",
		"min_reports", "target" };
	enum cm_rc rc = pl_plan_load(g->what->plan, stderr, &g->plan, err);

	cm_buf_init(&g->written, 256u << 20);
	g->written.secret = 1;
	g->rounds = g->what->json ? json_array() : NULL;
	g->shown = json_array();
	g->table = g->what->json ? NULL : cm_table_new("><>>>>>>", head);
	if (rc == CM_OK)
		rc = cr_rng_system(&g->rng, err);
	if (rc == CM_OK) {
		/* Pseudonyms are not shown, so any secret serves to tell devices apart. */
		g->rng.fill(g->rng.ctx, g->secret.bytes, sizeof g->secret.bytes);
		rc = cl_setup_devices(g->what->setup, &g->secret, &g->devices, err);
	}
	return rc;
}

enum cm_rc cl_dry_plan(const struct cl_dry_plan *what, FILE *out, struct cm_err *err)
{
	struct judging g = { .what = what,
		.input = strcmp(what->input->path, "-") == 0 ? "stdin" : what->input->path };
	struct cl_findings *found = malloc(sizeof *found);
	enum cm_rc rc = begin(&g, err);

	if (rc == CM_OK && !found)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; rc == CM_OK && i < g.plan.rounds; i++)
		if (i == 0 || !pl_repeats(&g.plan, i))
			rc = judge(&g, i, found, err);
	if (rc == CM_OK) {
		print(&g, out);
		if (g.wrong > 0)
			rc = cm_fail(err, CM_EDATA,
				"%s: something is wrong for %zu of %zu questions of plan %s", g.input,
				g.wrong, g.asked, g.plan.name);
	}
	free(found);
	cm_buf_fini(&g.written);
	json_decref(g.rounds);
	json_decref(g.shown);
	cm_table_free(g.table);
	cl_devices_free(g.devices);
	cr_key_fini(&g.secret);
	pl_plan_fini(&g.plan);
	return rc;
}
