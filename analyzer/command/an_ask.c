/* an_ask.c - asks the running analyzer for its state. */
#include "an_ask.h"

#include <stdlib.h>

#include <jansson.h>

#include "cm_text.h"
#include "nt_http.h"

#define ASK_MS 2000

/* The text of a member for people; `none` if the member is absent or null. */
static void text_of(const json_t *o, const char *key, const char *none, char out[320])
{
	const char *text = json_string_value(json_object_get(o, key));

	cm_text_copy(out, 320, text ? text : none);
}

static void print_round(const json_t *r, FILE *out)
{
	char query[320], stage[320];

	if (!json_is_object(r))
		return;
	text_of(r, "query", "?", query);
	text_of(r, "stage", "?", stage);
	(void)fprintf(out, "round        %lld (%s), %s, needs %lld reports\n",
		(long long)json_integer_value(json_object_get(r, "round")), query, stage,
		(long long)json_integer_value(json_object_get(r, "min_reports")));
}

static void print_status(const json_t *s, FILE *out)
{
	const json_t *shuffler = json_object_get(s, "shuffler"), *ledger = json_object_get(s, "ledger");
	const json_t *certificate = json_object_get(s, "certificate"),
		     *days = json_object_get(certificate, "days");
	char text[320], fault[320];

	text_of(json_object_get(s, "state"), "text", "?", text);
	(void)fprintf(out, "state        %s\n", text);
	text_of(s, "plan", "?", text);
	(void)fprintf(out, "plan         %s\n", text);
	print_round(json_object_get(s, "round"), out);
	text_of(shuffler, "fault", "", fault);
	(void)fprintf(out, "shuffler     %s%s%s\n",
		json_is_true(json_object_get(shuffler, "connected")) ? "connected" : "not connected",
		*fault != '\0' ? ": " : "", fault);
	text_of(ledger, "fault", "", fault);
	(void)fprintf(out, "ledger       %lld records%s%s\n",
		(long long)json_integer_value(json_object_get(ledger, "seq")), *fault != '\0' ? ": " : "",
		fault);
	text_of(certificate, "fault", "not read yet", fault);
	if (json_is_integer(days))
		(void)fprintf(out, "certificate  %lld d left\n", (long long)json_integer_value(days));
	else
		(void)fprintf(out, "certificate  %s\n", fault);
}

enum cm_rc an_ask_status(const struct an_conf *conf, bool json, FILE *out, struct cm_err *err)
{
	char *body = NULL;
	json_t *status = NULL;
	int code = 0;
	enum cm_rc rc;

	if (*conf->http == '\0')
		return cm_fail(err, CM_EUNAVAIL, "http is \"\": a running analyzer answers nobody");
	rc = nt_http_get(conf->http, "/status", ASK_MS, &code, &body, err);
	if (rc != CM_OK)
		return rc;
	status = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
	if (code != 200 || !json_is_object(status))
		rc = cm_fail(err, CM_EPROTO, "the analyzer's /status answered %d", code);
	else if (json)
		(void)fprintf(out, "%s\n", body);
	else
		print_status(status, out);
	json_decref(status);
	free(body);
	return rc;
}
