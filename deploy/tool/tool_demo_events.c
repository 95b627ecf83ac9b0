/* tool_demo_events.c (tool_demo_private.h) - prints events as one line each, from the analyzer's log and
 * its ledger. */
#include <stdio.h>
#include <string.h>

#include "cm_clock.h"
#include "tool_demo_private.h"
#include "tool_plan.h"

#define SCHEMA     "tombola.demo/1"
#define ANSWER_MAX (64u << 20)

enum cm_rc tool_demo_emit(const char *event, json_t *fields, struct cm_err *err)
{
	char ts[32];
	json_t *o;
	bool good;

	cm_clock_text(cm_clock_wall_ms(), ts);
	o = json_pack("{s:s, s:s, s:s}", "schema", SCHEMA, "ts", ts, "event", event);
	good = o && fields && json_object_update(o, fields) == 0 &&
	       json_dumpf(o, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0 && putchar('\n') != EOF;
	json_decref(o);
	json_decref(fields);
	return good && fflush(stdout) == 0 ? CM_OK : cm_fail(err, CM_EIO, "cannot write an event");
}

/* Print what the client says of the readings, before any round is asked. */
static void print_findings(const struct demo *d)
{
	json_t *list = tool_demo_findings(d);

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *advice = json_string_value(json_object_get(one, "advice"));
		const json_int_t round = json_integer_value(json_object_get(one, "round"));

		(void)printf("%s: ", json_is_true(json_object_get(one, "wrong")) ? "wrong" : "note");
		if (round > 0)
			(void)printf("round %lld (%s): ", (long long)round,
				json_string_value(json_object_get(one, "query")));
		(void)printf("%s\n", json_string_value(json_object_get(one, "text")));
		if (advice && *advice != '\0')
			(void)printf("  what to do: %s\n", advice);
	}
	json_decref(list);
}

enum cm_rc tool_demo_started(const struct demo *d, struct cm_err *err)
{
	json_t *o;

	if (!d->json) {
		if (d->own_plan)
			(void)printf(
				"%llu made-up machines answer two questions, each answer behind noise, and are "
				"not asked the third, which would exceed the budget\n",
				(unsigned long long)d->devices);
		(void)printf("plan %s: budget epsilon %.4g at delta %.3g, %zu round%s; everything is in %s\n",
			d->plan.name, d->plan.epsilon, d->plan.delta, d->plan.rounds,
			d->plan.rounds == 1 ? "" : "s", d->dir);
		print_findings(d);
		(void)fflush(stdout);
		return CM_OK;
	}
	o = json_pack("{s:s, s:s, s:I, s:f, s:f, s:s, s:i, s:i, s:b}", "plan", d->plan.name, "population",
		d->plan.population, "rounds", (json_int_t)d->plan.rounds, "epsilon_limit", d->plan.epsilon,
		"delta", d->plan.delta, "dir", d->dir, "shuffler_port", (int)d->port, "dashboard_port",
		(int)d->http[DEMO_ANALYZER], "seeded", d->seed != NULL);
	if (o)
		(void)json_object_set_new(o, "findings", tool_demo_findings(d));
	return tool_demo_emit("started", o, err);
}

/* Asks the analyzer about a round; the caller owns the JSON reference. */
static enum cm_rc look_up(struct demo *d, json_int_t round, json_t **out, struct cm_err *err)
{
	char number[24];
	const char *const verb[] = { "round", "show", number, "--json", NULL };
	json_error_t why;
	struct cm_buf text;
	enum cm_rc rc;

	(void)snprintf(number, sizeof number, "%lld", (long long)round);
	cm_buf_init(&text, ANSWER_MAX);
	rc = tool_demo_ask(d, DEMO_ANALYZER, verb, &text, NULL, err);
	*out = rc == CM_OK ? json_loadb((const char *)text.data, text.len, 0, &why) : NULL;
	if (rc == CM_OK && !*out)
		rc = cm_fail(err, CM_EPROTO, "round show: %s", why.text);
	cm_buf_fini(&text);
	return rc;
}

/* Print the result for people, indented. */
static enum cm_rc print_result(struct demo *d, json_int_t round, struct cm_err *err)
{
	char number[24];
	const char *const verb[] = { "round", "show", number, NULL };
	struct cm_buf text;
	enum cm_rc rc;

	(void)snprintf(number, sizeof number, "%lld", (long long)round);
	cm_buf_init(&text, ANSWER_MAX);
	rc = tool_demo_ask(d, DEMO_ANALYZER, verb, &text, NULL, err);
	if (rc == CM_OK && fwrite(text.data, 1, text.len, stdout) != text.len)
		rc = cm_fail(err, CM_EIO, "cannot write a result");
	cm_buf_fini(&text);
	(void)fflush(stdout);
	return rc;
}

static double real(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

/* The members of an event about its round; r is what look_up returned. */
static json_t *fields_of(const char *event, const json_t *r)
{
	static const char *const keys[] = { "epsilon0", "epsilon_round", "epsilon_total", "min_reports",
		"reports", "reason", "result" };
	static const struct {
		const char *event;
		unsigned keys; /* bit k is set if the event has keys[k] */
	} says[] = { { "opened", 1 | 2 | 4 | 8 }, { "sealed", 16 }, { "charged", 2 | 4 | 16 },
		{ "settled", 16 }, { "result", 16 | 64 }, { "refused", 1 | 2 | 4 | 32 },
		{ "void", 8 | 16 | 32 }, { "left out", 32 } };
	json_t *o = json_pack("{s:O, s:O, s:O, s:O}", "round", json_object_get(r, "round"), "query",
		json_object_get(r, "query"), "type", json_object_get(r, "type"), "protocol",
		json_object_get(r, "protocol"));

	for (size_t e = 0; o && e < sizeof says / sizeof *says; e++)
		for (size_t k = 0; strcmp(says[e].event, event) == 0 && k < sizeof keys / sizeof *keys; k++) {
			json_t *v = json_object_get(r, keys[k]);

			if ((says[e].keys >> k & 1) != 0 && v)
				(void)json_object_set(o, keys[k], v);
		}
	return o;
}

static const char *label_of(const struct demo *d, json_int_t round)
{
	return round >= 1 && (size_t)round <= d->plan.rounds ? d->plan.round[round - 1].label : "";
}

static enum cm_rc say(struct demo *d, const char *event, const json_t *r, struct cm_err *err)
{
	const json_int_t round = json_integer_value(json_object_get(r, "round"));
	const char *reason = json_string_value(json_object_get(r, "reason"));

	if (d->json)
		return tool_demo_emit(event, fields_of(event, r), err);
	if (strcmp(event, "result") == 0)
		return print_result(d, round, err);
	(void)printf("round %lld (%s) %s", (long long)round, label_of(d, round), event);
	if (strcmp(event, "sealed") == 0)
		(void)printf(": %lld reports", (long long)json_integer_value(json_object_get(r, "reports")));
	else if (strcmp(event, "charged") == 0)
		(void)printf(": epsilon %.4f, %.4f in all", tool_spent(real(r, "epsilon_round")),
			tool_spent(real(r, "epsilon_total")));
	else if (strcmp(event, "refused") == 0)
		(void)printf(": it needs epsilon %.4f, and the total would be %.4f of %.4g",
			tool_spent(real(r, "epsilon_round")), tool_spent(real(r, "epsilon_total")),
			d->plan.epsilon);
	/* the reason is that of the try before */
	else if (strcmp(event, "opened") != 0 && reason && *reason != '\0')
		(void)printf(": %s", reason);
	return putchar('\n') != EOF && fflush(stdout) == 0 ? CM_OK
							   : cm_fail(err, CM_EIO, "cannot write an event");
}

/* Prints one or two events for one log line; second is NULL if there is only one.  count is increased by
 * one. */
static enum cm_rc tell(struct demo *d, json_int_t round, const char *first, const char *second,
	unsigned *count, struct cm_err *err)
{
	json_t *r = NULL;
	enum cm_rc rc = look_up(d, round, &r, err);

	*count += 1;
	if (rc == CM_OK)
		rc = say(d, first, r, err);
	if (rc == CM_OK && second)
		rc = say(d, second, r, err);
	json_decref(r);
	return rc;
}

/* Once the next try is under way, only the log says what became of this one.  Also reports why daemons took
 * no part. */
static enum cm_rc void_round(struct demo *d, json_int_t round, json_t *reason, struct cm_err *err)
{
	json_t *r = NULL;
	enum cm_rc rc = look_up(d, round, &r, err);

	d->voided++;
	if (rc == CM_OK && (json_object_set_new(r, "reports", json_integer(d->void_reports)) != 0 ||
				   (reason && json_object_set(r, "reason", reason) != 0)))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = say(d, "void", r, err);
	json_decref(r);
	return rc == CM_OK ? tool_demo_complaints(d, false, err) : rc;
}

/* The recurrences after a refused round are refused with it. */
static enum cm_rc refused_round(struct demo *d, json_int_t round, struct cm_err *err)
{
	enum cm_rc rc = tell(d, round, "refused", NULL, &d->refused, err);

	if (round >= 1 && (size_t)round <= d->plan.rounds)
		d->refused += d->plan.round[round - 1].recurrences - d->plan.round[round - 1].recurrence;
	return rc;
}

/* Whether the plan has recurrences that were not due. */
static bool some_open_later(const struct demo *d)
{
	bool recurs = false;

	for (size_t i = 0; i < d->plan.rounds; i++)
		recurs = recurs || d->plan.round[i].recurrences > 1;
	return recurs && d->settled + d->refused + d->voided < d->plan.rounds;
}

static bool some_take_a_payload(const struct demo *d)
{
	bool takes = false;

	for (size_t i = 0; i < d->plan.rounds; i++)
		takes = takes || d->plan.round[i].payload_max > 0;
	return takes;
}

enum cm_rc tool_demo_heard(struct demo *d, const char *line, struct cm_err *err)
{
	json_error_t why;
	json_t *o = json_loads(line, 0, &why);
	const char *msg = json_string_value(json_object_get(o, "msg"));
	const char *record = json_string_value(json_object_get(o, "record"));
	const char *stage = json_string_value(json_object_get(o, "stage"));
	const json_int_t round = json_integer_value(json_object_get(o, "round"));
	unsigned unused = 0;
	enum cm_rc rc = CM_OK;

	if (!msg || round == 0)
		;
	else if (strcmp(msg, "round") == 0 && stage && strcmp(stage, "reserved") == 0)
		rc = tell(d, round, "opened", NULL, &unused, err);
	else if (strcmp(msg, "ledger") == 0 && record && strcmp(record, "void") == 0)
		d->void_reports = json_integer_value(json_object_get(o, "participants"));
	else if (strcmp(msg, "ledger") == 0 && record && strcmp(record, "charge") == 0)
		rc = tell(d, round, "sealed", "charged", &unused, err);
	else if (strcmp(msg, "round done") == 0 && stage && strcmp(stage, "settled") == 0)
		rc = tell(d, round, "settled", "result", &d->settled, err);
	else if (strcmp(msg, "round is void") == 0)
		rc = void_round(d, round, json_object_get(o, "reason"), err);
	else if (strcmp(msg, "round refused by the budget") == 0)
		rc = refused_round(d, round, err);
	else if (strcmp(msg, "round left out") == 0)
		rc = tell(d, round, "left out", NULL, &d->voided, err);
	json_decref(o);
	return rc;
}

enum cm_rc tool_demo_finished(const struct demo *d, int exit_code, const char *why, struct cm_err *err)
{
	json_t *o;

	if (!d->json) {
		if (exit_code == 0 || !why)
			(void)printf("%u settled, %u refused, %u void%s%s\n", d->settled, d->refused,
				d->voided,
				some_open_later(d) ? "; recurrences that open later are not waited for" : "",
				some_take_a_payload(d) ? "; rounds that take a payload are not asked" : "");
		if (d->refused > 0 && !d->own_plan)
			(void)printf("`tombola plan cost` of this plan says what would fit\n");
		if (!why && d->wrong[0] != '\0')
			(void)printf("the answers are not to be trusted: %s\n", d->wrong);
		return CM_OK;
	}
	o = json_pack("{s:i, s:i, s:i, s:i}", "exit", exit_code, "settled", (int)d->settled, "refused",
		(int)d->refused, "void", (int)d->voided);
	if (!why && d->wrong[0] != '\0')
		why = d->wrong;
	if (o && why)
		(void)json_object_set_new(o, "error", json_string(why));
	return tool_demo_emit("ended", o, err);
}
