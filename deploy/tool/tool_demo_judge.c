/* tool_demo_judge.c (tool_demo_private.h) - finds out what can be known of the readings and of the plan
 * before a daemon starts: the client's judgement, windows that cannot end in time, and classes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cm_table.h"
#include "pl_cost.h"
#include "tool_demo_private.h"

#define ANSWER_MAX (1u << 30)

/* ---- readings ---- */

/* Report that the client could not read the file in its format; the client's last line says why. */
static json_t *unread(const struct demo *d)
{
	char words[400];
	const char *said;
	json_error_t why;
	json_t *line, *out;

	tool_demo_last_words(d, "demo", words, sizeof words);
	line = json_loads(words, 0, &why);
	said = json_string_value(json_object_get(line, "msg"));
	if (!said)
		said = strncmp(words, "tombola-client: ", 16) == 0 ? words + 16 : words;
	out = json_pack("{s:b, s:[{s:i, s:s, s:[{s:b, s:s, s:s}]}]}", "wrong", 1, "rounds", "round", 0,
		"query", "", "findings", "wrong", 1, "text", said, "advice", "");
	json_decref(line);
	return out;
}

json_t *tool_demo_findings(const struct demo *d)
{
	const json_t *rounds = json_object_get(d->judged, "rounds");
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(rounds); i++) {
		const json_t *round = json_array_get(rounds, i), *found = json_object_get(round, "findings");

		for (size_t j = 0; j < json_array_size(found); j++) {
			json_t *o = json_pack("{s:O, s:O}", "round", json_object_get(round, "round"), "query",
				json_object_get(round, "query"));

			if (o)
				(void)json_object_update(o, json_array_get(found, j));
			(void)json_array_append_new(list, o);
		}
	}
	return list;
}

/* Keep the first sentence about a fault. */
static void keep_wrong(struct demo *d)
{
	json_t *list = tool_demo_findings(d);

	for (size_t i = 0; d->wrong[0] == '\0' && i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);

		if (json_is_true(json_object_get(one, "wrong")))
			(void)snprintf(d->wrong, sizeof d->wrong, "%s",
				json_string_value(json_object_get(one, "text")));
	}
	json_decref(list);
}

enum cm_rc tool_demo_judge(struct demo *d, struct cm_err *err)
{
	const char *const verb[] = { "encode", "--dry-run", "--json", "--each", "--plan", d->plan_path,
		NULL };
	json_error_t why;
	struct cm_buf text;
	int code = 0;
	enum cm_rc rc;

	cm_buf_init(&text, ANSWER_MAX);
	rc = tool_demo_ask(d, DEMO_CLIENT, verb, &text, &code, err);
	if (rc == CM_OK && code == 127)
		rc = cm_fail(err, CM_ENOINPUT, "there is no tombola-client %s%s",
			*d->bin != '\0' ? "in " : "on PATH", d->bin);
	if (rc == CM_OK) {
		d->judged = text.len > 0 ? json_loadb((const char *)text.data, text.len, 0, &why) : unread(d);
		rc = d->judged ? CM_OK : cm_fail(err, CM_EPROTO, "encode --dry-run: %s", why.text);
	}
	cm_buf_fini(&text);
	if (rc == CM_OK)
		keep_wrong(d);
	return rc;
}

/* The first judged round for which the client counted devices. */
static const json_t *judged_round(const struct demo *d)
{
	const json_t *rounds = json_object_get(d->judged, "rounds");

	for (size_t i = 0; i < json_array_size(rounds); i++)
		if (json_object_get(json_array_get(rounds, i), "devices"))
			return json_array_get(rounds, i);
	return NULL;
}

/* ---- windows ---- */

enum cm_rc tool_demo_windows(const struct demo *d, struct cm_err *err)
{
	const json_t *judged = judged_round(d);
	const uint64_t devices = (uint64_t)json_integer_value(json_object_get(judged, "devices"));
	const int64_t now_ms = cm_clock_wall_ms();
	struct pl_cost *cost = calloc(d->plan.rounds, sizeof *cost);
	int64_t waits_ms = 0;
	char n[2][32], text[2][32];
	enum cm_rc rc = cost ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK && judged)
		rc = pl_plan_cost(&d->plan, cost, err);
	for (size_t i = 0; rc == CM_OK && judged && i < d->plan.rounds; i++) {
		const struct pl_round *r = &d->plan.round[i];
		const bool due = r->every_ms == 0 || (r->recurrence == 1 && r->start_ms <= now_ms);

		/* The demo does not wait for a round that the budget refuses, or that is not due. */
		if (!cost[i].run || !due || r->payload_max > 0 || devices >= r->target)
			continue;
		waits_ms += r->window_ms * (devices < r->min_reports ? (int64_t)d->plan.tries : 1);
		if (waits_ms <= d->timeout_ms)
			continue;
		cm_clock_duration_text(r->window_ms, text[0]);
		cm_clock_duration_text(d->timeout_ms, text[1]);
		rc = cm_fail(err, CM_ELATER,
			"round %u (%s) cannot end before --timeout, %s: %s devices do not reach %s%s, so that it "
			"waits for the end of its window, %s: give it a target%s of %s at most, or the demo a longer --timeout",
			r->number, r->label, text[1], cm_thousands((int64_t)devices, n[0]),
			r->target < PR_ROUND_REPORTS_MAX ? "its target of "
							 : "a target, which it does not have",
			r->target < PR_ROUND_REPORTS_MAX ? cm_thousands((int64_t)r->target, n[1]) : "",
			text[0], devices < r->min_reports ? " and min_reports" : "", n[0]);
	}
	free(cost);
	return rc;
}

/* ---- classes ---- */

/* Insert a class's local guarantee in rising order, unless it is there already.  false: there is no
 * room. */
static bool insert(struct demo *d, unsigned *n, double epsilon0)
{
	unsigned at = 0;

	while (at < *n && d->class_epsilon0[at] < epsilon0)
		at++;
	if (at < *n && d->class_epsilon0[at] <= epsilon0)
		return true;
	if (*n == DEMO_CLIENTS)
		return false;
	memmove(&d->class_epsilon0[at + 1], &d->class_epsilon0[at], (*n - at) * sizeof *d->class_epsilon0);
	d->class_epsilon0[at] = epsilon0;
	++*n;
	return true;
}

enum cm_rc tool_demo_classes(struct demo *d, struct cm_err *err)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->plan.rounds; i++) {
		const struct pt_randomizer *p = &d->plan.round[i].randomizer;

		for (uint32_t c = 0; pt_has_classes(p) && c < p->shuffler.tags; c++)
			if (!insert(d, &n, p->row->class_epsilon0(p, c)))
				return cm_fail(err, CM_EUSAGE,
					"the plan has more than %d classes, and a demo no more clients",
					DEMO_CLIENTS);
	}
	if (n > 1 && !d->device_field)
		return cm_fail(err, CM_EUSAGE,
			"the plan has %u classes, among which devices are divided by name: give --device-field",
			n);
	d->clients = n > 1 ? n : 1;
	return CM_OK;
}

/* Compute how many devices each client gets: at least as many as the first round with classes wants of its
 * class, and an equal part of the others. */
static void shares(const struct demo *d, size_t devices, double share[DEMO_CLIENTS])
{
	double least = 0;

	for (unsigned k = 0; k < d->clients; k++)
		share[k] = 0;
	for (size_t i = 0; i < d->plan.rounds && least <= 0; i++) {
		const struct pt_randomizer *p = &d->plan.round[i].randomizer;

		/* The first client belongs to the last class. */
		for (uint32_t c = 0; pt_has_classes(p) && c < p->shuffler.tags && c < d->clients; c++) {
			share[d->clients - 1 - c] = (double)p->shuffler.tag_least[c];
			least += (double)p->shuffler.tag_least[c];
		}
	}
	for (unsigned k = 0; k < d->clients; k++)
		share[k] += ((double)devices - least) / d->clients;
}

/* The client that is furthest below its share after `done` of all devices. */
static unsigned next_client(const double *share, const size_t *has, unsigned clients, double done)
{
	unsigned best = 0;

	for (unsigned k = 1; k < clients; k++)
		if (share[k] * done - (double)has[k] > share[best] * done - (double)has[best])
			best = k;
	return best;
}

enum cm_rc tool_demo_divide(const struct demo *d, struct cm_err *err)
{
	const json_t *list = json_object_get(judged_round(d), "device");
	const size_t n = json_array_size(list);
	double share[DEMO_CLIENTS];
	size_t has[DEMO_CLIENTS] = { 0 };
	FILE *file[DEMO_CLIENTS] = { NULL };
	enum cm_rc rc = CM_OK;

	shares(d, n, share);
	for (unsigned k = 0; rc == CM_OK && k < d->clients; k++) {
		char name[64], path[DEMO_PATH];

		(void)snprintf(name, sizeof name, "%s-devices.txt", tool_demo_party_name[DEMO_CLIENT + k]);
		rc = tool_demo_path(d, name, path, err);
		if (rc == CM_OK && !(file[k] = fopen(path, "wx")))
			rc = cm_fail(err, CM_ECREATE, "%s cannot be made", path);
	}
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		unsigned k = next_client(share, has, d->clients, (double)(i + 1) / (double)n);

		has[k]++;
		(void)fprintf(file[k], "%s\n",
			json_string_value(json_object_get(json_array_get(list, i), "device")));
	}
	for (unsigned k = 0; k < d->clients; k++)
		if (file[k] && fclose(file[k]) != 0 && rc == CM_OK)
			rc = cm_fail(err, CM_EIO, "%s: its list of devices cannot be written",
				tool_demo_party_name[DEMO_CLIENT + k]);
	return rc;
}
