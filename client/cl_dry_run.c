/* cl_dry_run.c - shows what would leave the machine, and sends nothing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cl_device.h"
#include "cl_encode.h"
#include "cl_show.h"
#include "cm_table.h"

#define SHOWN_DEVICES  10u
#define SHOWN_MESSAGES 8u

/* What the round would cost, by a copy of the ledger if there is one; nothing is written. */
static enum cm_rc judge_quietly(const struct cl_setup *setup, struct cl_judgement *j, struct cm_err *err)
{
	struct rd_account *account = NULL;
	struct cl_db *db = NULL;
	enum cm_rc rc = cl_db_open_readonly(setup->conf.state_dir, &db, err);

	if (rc == CM_OK)
		rc = cl_ledger_account(db, setup->policy.max_epsilon, setup->policy.delta, &account, err);
	else if (rc == CM_ENOINPUT) {
		account = rd_account_new_mode(setup->policy.max_epsilon, setup->policy.delta, j->d.mode);
		rc = account != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (rc == CM_OK && strcmp(rd_account_mode(account), j->d.mode) != 0)
		rc = cm_fail(err, CM_EPERM, "the ledger's mode is %s, this round's is %s",
			rd_account_mode(account), j->d.mode);
	if (rc == CM_OK)
		rc = cl_policy_loss(&setup->policy, &j->d, &j->charge.loss, err);
	if (rc == CM_OK)
		rc = rd_account_judge(account, &j->charge.loss, &j->verdict, err);
	j->charge.epsilon_round = j->verdict.epsilon_round;
	j->charge.epsilon_total = j->verdict.total;
	rd_account_free(account);
	cl_db_close(db);
	return rc;
}

/* What counts[n] adds up to: the categories it supports, or bins where counts are not categories. */
static void counts_text(
	const struct rd_descriptor *d, const uint64_t *counts, uint32_t n, char *out, size_t size)
{
	bool named = d->query.kind == PT_HISTOGRAM && n == d->query.categories;
	uint32_t supported = 0;
	size_t used = 0;

	(void)snprintf(out, size, "nothing");
	for (uint32_t i = 0; i < n && used < size; i++) {
		if (counts[i] == 0)
			continue;
		supported++;
		if (named)
			used += (size_t)snprintf(
				out + used, size - used, "%s%s", used > 0 ? ", " : "", d->query.category[i]);
		else
			used += (size_t)snprintf(out + used, size - used, "%sbin %" PRIu32 " of %" PRIu32,
				used > 0 ? ", " : "", i, n);
	}
	/* A list that does not fit is not shown in part. */
	if (used >= size && supported > 1)
		(void)snprintf(out, size, "several of %" PRIu32, n);
}

/* One record as the analyzer will read it. */
static void record_text(const struct rd_descriptor *d, const uint8_t *record, char *out, size_t size)
{
	uint32_t n = d->protocol->tallies(&d->params);
	uint64_t *counts;
	struct cm_err unused;

	if (d->protocol->describe != NULL) {
		d->protocol->describe(&d->query, &d->params, record, out, size);
		return;
	}
	counts = calloc(n, sizeof *counts);
	if (counts == NULL || d->protocol->tally(&d->params, record, counts, &unused) != CM_OK)
		(void)snprintf(out, size, "?");
	else
		counts_text(d, counts, n, out, size);
	free(counts);
}

/* What the shuffler reads of message m, where the round has tags. */
static uint32_t tag_of(const struct rd_descriptor *d, const uint8_t *sealed, uint32_t m)
{
	return cm_get_le16(sealed + m * rd_message_len(d));
}

static json_t *device_json(
	const struct rd_descriptor *d, const char *value, const uint8_t *records, const uint8_t *sealed)
{
	json_t *list = json_array(), *o;
	char *hex = malloc(2 * (size_t)d->record_len + 1);

	for (uint32_t m = 0; hex != NULL && m < d->messages_per_client; m++) {
		char text[128];
		const uint8_t *record = records + (size_t)m * d->record_len;

		record_text(d, record, text, sizeof text);
		cm_hex(record, d->record_len, hex);
		o = json_pack("{s:s, s:s}", "reads", text, "hex", hex);
		if (d->params.tags > 0)
			(void)json_object_set_new(o, "tag", json_integer(tag_of(d, sealed, m)));
		(void)json_array_append_new(list, o);
	}
	free(hex);
	return json_pack("{s:s, s:o, s:I, s:I}", "value", value, "records", list, "messages",
		(json_int_t)d->messages_per_client, "sealed_bytes", (json_int_t)rd_message_len(d));
}

static void device_row(struct cm_table *table, const struct rd_descriptor *d, const char *value,
	const uint8_t *records, const uint8_t *sealed)
{
	char sent[512] = "", bytes[64];
	size_t used = 0;

	for (uint32_t m = 0; m < d->messages_per_client && m < SHOWN_MESSAGES; m++) {
		char text[64], tag[32] = "";

		record_text(d, records + (size_t)m * d->record_len, text, sizeof text);
		if (d->params.tags > 0)
			(void)snprintf(tag, sizeof tag, " (tag %" PRIu32 ")", tag_of(d, sealed, m));
		used += (size_t)snprintf(
			sent + used, sizeof sent - used, "%s%s%s", m > 0 ? " | " : "", text, tag);
		if (used >= sizeof sent)
			break;
	}
	if (d->messages_per_client > SHOWN_MESSAGES && used + 4 < sizeof sent)
		(void)snprintf(sent + used, sizeof sent - used, " ...");
	(void)snprintf(bytes, sizeof bytes, "%" PRIu32 " x %zu", d->messages_per_client, rd_message_len(d));
	cm_table_row(table, (const char *const[]){ value, sent, bytes });
}

static enum cm_rc each_device(const struct rd_descriptor *d, const struct cl_entry *entry, size_t n,
	const struct cm_rng *rng, json_t *list, struct cm_table *table, struct cm_err *err)
{
	size_t records_len = (size_t)d->messages_per_client * d->record_len;
	uint8_t *records = malloc(records_len), *sealed = malloc(cl_device_len(d));
	enum cm_rc rc =
		records != NULL && sealed != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		char value[128];

		rc = cl_encode_shown(d, &entry[i].value, rng, records, sealed, err);
		if (rc != CM_OK)
			break;
		pt_value_text(&d->query, &entry[i].value, value, sizeof value);
		if (list != NULL)
			(void)json_array_append_new(list, device_json(d, value, records, sealed));
		else
			device_row(table, d, value, records, sealed);
	}
	if (records != NULL)
		cm_wipe(records, records_len);
	free(records);
	free(sealed);
	return rc;
}

static void print_head(const struct rd_descriptor *d, const char *words, const char *would, FILE *out)
{
	char n[32], fields[160];

	pt_query_fields_text(&d->query, fields, sizeof fields);
	(void)fprintf(out, "round %" PRIu64 ", query %s (%s of %s), protocol %s, minimum batch %s\n%s\n",
		d->sequence, d->query.name, pt_kind_name(d->query.kind), fields, d->params.protocol,
		cm_thousands((int64_t)d->min_batch, n), words);
	(void)fprintf(out, "this client %s\n", would);
}

static enum cm_rc show(const struct cl_dry_run *what, struct cl_judgement *j, const char *would, FILE *out,
	struct cm_err *err)
{
	static const char *const head[] = { "value", "what the analyzer would read", "sealed bytes" };
	struct cl_input input = *what->input;
	struct cl_batch *batch = NULL;
	struct cl_rows rows = { 0 };
	struct cm_table *table = what->json ? NULL : cm_table_new("<<>", head);
	json_t *list = what->json ? json_array() : NULL, *all = NULL;
	struct cm_key secret = { { 0 } };
	struct cm_rng rng;
	char words[512];
	size_t n = 0;
	enum cm_rc rc = cm_rng_system(&rng, err);

	input.limit = input.limit == 0 ? SHOWN_DEVICES : input.limit;
	cl_judge_words(j, &what->setup->policy, words, sizeof words);
	if (rc == CM_OK) {
		/* Pseudonyms are not shown, so any secret keeps the devices apart. */
		rng.fill(rng.ctx, secret.bytes, sizeof secret.bytes);
		rc = cl_prepare_batch(
			&input, &j->d, &what->setup->policy, &secret, &rng, NULL, &batch, &rows, err);
	}
	if (rc == CM_OK) {
		const struct cl_entry *entry = cl_batch_entries(batch, &n);

		rc = each_device(&j->d, entry, n, &rng, list, table, err);
	}
	/* The rest of the file is left out on purpose. */
	rows.over_limit = 0;
	if (rc == CM_OK && what->json) {
		all = json_pack("{s:s, s:I, s:s, s:s, s:s, s:o, s:o, s:s, s:O}", "schema", "tombola.encode/1",
			"sequence", (json_int_t)j->d.sequence, "query", j->d.query.name, "protocol",
			j->d.params.protocol, "privacy", words, "epsilon_round",
			cl_json_number(j->charge.epsilon_round), "epsilon_total",
			cl_json_number(j->charge.epsilon_total), "decision", would, "devices", list);
		(void)json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(17));
		(void)fputc('\n', out);
	} else if (rc == CM_OK) {
		print_head(&j->d, words, would, out);
		cm_table_print(table, out);
		cl_show_rows(&rows, out);
		(void)fputs("nothing was sent and nothing was charged; the next time other noise is drawn\n",
			out);
	}
	json_decref(all);
	json_decref(list);
	cm_table_free(table);
	cl_batch_free(batch);
	cm_key_fini(&secret);
	return rc;
}

enum cm_rc cl_dry_run(const struct cl_dry_run *what, FILE *out, struct cm_err *err)
{
	struct cl_judgement j = { 0 };
	struct cm_err no = { .code = CM_OK };
	char would[400];
	enum cm_rc rc = rd_descriptor_verify(
		what->descriptor, what->descriptor_len, what->signature, what->setup->analyzer, &j.d, err);

	if (rc != CM_OK)
		return rc;
	j.verified = true;
	rc = judge_quietly(what->setup, &j, err);
	if (rc == CM_OK) {
		if (cl_policy_check(&what->setup->policy, &j.d, 0, &no) != CM_OK)
			(void)snprintf(would, sizeof would, "would refuse: %s", no.msg);
		else if (!j.verdict.fits)
			(void)snprintf(would, sizeof would,
				"would refuse: budget: total would be %.4f, above %.4f",
				cl_shown_bound(j.verdict.total), j.verdict.limit);
		else
			(void)snprintf(would, sizeof would, "would take part");
		rc = show(what, &j, would, out, err);
	}
	rd_descriptor_fini(&j.d);
	return rc;
}
