/* test_health.c - `check`: its options, its findings at their limits, and its four formats. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nt_health.h"

enum { WARN_SPENT, CRIT_SPENT, WARN_CERT, WARN_ROUND, CRIT_ROUND, FORMAT };

static struct nt_health begin(const struct cm_cli *cli)
{
	struct nt_health h;
	struct cm_err err;

	if (nt_health_begin(cli, CR_ROLE_CLIENT, &h, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return h;
}

/* The answer as text; the exit code in *code. */
static char *answer(struct nt_health *h, int *code)
{
	const struct cm_err none = { .code = CM_OK };
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	*code = nt_health_end(h, CM_OK, &none, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void assert_answer(struct nt_health *h, int code, const char *want)
{
	int got;
	char *text = answer(h, &got);

	assert_int_equal(got, code);
	assert_string_equal(text, want);
	free(text);
}

static void assert_state(struct nt_health *h, enum nt_health_state want)
{
	assert_int_equal(h->state, want);
	h->state = NT_HEALTH_OK;
}

static void limits_have_units_and_defaults(void **state)
{
	const struct cm_cli none = { 0 };
	const struct cm_cli all = { .option = { [WARN_SPENT] = "50%",
					    [CRIT_SPENT] = "60",
					    [WARN_CERT] = "2d",
					    [WARN_ROUND] = "90m",
					    [CRIT_ROUND] = "1.5d",
					    [FORMAT] = "nagios" } };
	struct nt_health h = begin(&none);

	(void)state;
	assert_true(h.limits.warn_spent == 0.8 && h.limits.crit_spent == 1);
	assert_true(h.limits.warn_cert_s == 7 * 86400.0);
	assert_true(isinf(h.limits.warn_round_s) && isinf(h.limits.crit_round_s));
	assert_int_equal(h.format, NT_HEALTH_TEXT);
	h = begin(&all);
	assert_true(fabs(h.limits.warn_spent - 0.5) < 1e-12 && fabs(h.limits.crit_spent - 0.6) < 1e-12);
	assert_true(h.limits.warn_cert_s == 2 * 86400.0);
	assert_true(h.limits.warn_round_s == 5400 && h.limits.crit_round_s == 1.5 * 86400);
	assert_int_equal(h.format, NT_HEALTH_NAGIOS);
	assert_int_equal(begin(&(struct cm_cli){ .json = true }).format, NT_HEALTH_JSON);
	assert_int_equal(begin(&(struct cm_cli){ .json = true, .option = { [FORMAT] = "json" } }).format,
		NT_HEALTH_JSON);
}

static void a_limit_that_is_none_is_refused_by_its_name(void **state)
{
	static const struct {
		int option;
		const char *text, *name;
	} bad[] = { { WARN_SPENT, "x", "--warn-spent" }, { CRIT_SPENT, "5%%", "--crit-spent" },
		{ WARN_CERT, "-1", "--warn-cert" }, { WARN_CERT, "", "--warn-cert" },
		{ WARN_SPENT, "nan", "--warn-spent" }, { WARN_ROUND, "26", "--warn-round" },
		{ WARN_ROUND, "h", "--warn-round" }, { CRIT_ROUND, "2w", "--crit-round" },
		{ CRIT_ROUND, "", "--crit-round" }, { FORMAT, "xml", "--format" },
		{ FORMAT, "", "--format" } };
	struct nt_health h;
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct cm_cli cli = { 0 };

		cli.option[bad[i].option] = bad[i].text;
		assert_int_equal(nt_health_begin(&cli, CR_ROLE_CLIENT, &h, &err), CM_EUSAGE);
		assert_non_null(strstr(err.msg, bad[i].name));
	}
	assert_int_equal(nt_health_begin(&(struct cm_cli){ .json = true, .option = { [FORMAT] = "nagios" } },
				 CR_ROLE_CLIENT, &h, &err),
		CM_EUSAGE);
}

static void a_budget_warns_and_alarms_at_its_limits(void **state)
{
	struct nt_health h = begin(&(struct cm_cli){ 0 });

	(void)state;
	nt_health_slices(&h, 0.799, 1);
	assert_state(&h, NT_HEALTH_OK);
	nt_health_slices(&h, 0.8, 1);
	assert_state(&h, NT_HEALTH_WARNING);
	nt_health_slices(&h, 0.9999, 1);
	assert_state(&h, NT_HEALTH_WARNING);
	nt_health_slices(&h, 1, 1);
	assert_state(&h, NT_HEALTH_CRITICAL);
	nt_health_slices(&h, (double)NAN, 1); /* an unknown state is not OK */
	assert_state(&h, NT_HEALTH_CRITICAL);
}

static void what_is_spent_is_never_rounded_down(void **state)
{
	struct nt_health h = begin(&(struct cm_cli){ 0 });

	(void)state;
	nt_health_slices(&h, 0.70001, 1);
	assert_answer(&h, 0, "OK budget 70.1% used, 100.0% pinned by plans\n");
}

static void an_old_round_is_said_only_when_somebody_asked(void **state)
{
	static const struct {
		int64_t age_ms;
		const char *text;
	} ages[] = { { 90000, "last round 90 s ago" }, { 600000, "last round 10 min ago" },
		{ INT64_C(3) * 3600000, "last round 3 h ago" },
		{ INT64_C(49) * 3600000, "last round 2 d ago" } };
	struct nt_health h = begin(&(struct cm_cli){ 0 });
	const struct cm_cli asked = { .option = { [WARN_ROUND] = "1h", [CRIT_ROUND] = "2h" } };

	(void)state;
	nt_health_round(&h, 0, 86400000);
	assert_state(&h, NT_HEALTH_OK);
	assert_string_equal(h.text, "");
	assert_true(h.round_age_s == 86400);
	for (size_t i = 0; i < sizeof ages / sizeof ages[0]; i++) {
		h = begin(&asked);
		nt_health_round(&h, 1000, 1000 + ages[i].age_ms);
		assert_string_equal(h.text, ages[i].text);
	}
	h = begin(&asked);
	nt_health_round(&h, 0, 3600000);
	assert_state(&h, NT_HEALTH_OK);
	nt_health_round(&h, 0, 3600001);
	assert_state(&h, NT_HEALTH_WARNING);
	nt_health_round(&h, 0, 7200001);
	assert_state(&h, NT_HEALTH_CRITICAL);
}

static void fill(struct nt_health *h)
{
	nt_health_slices(h, 0.85, 1);
	nt_health_ledger(h, 12);
	nt_health_round(h, 0, 7200000);
	nt_health_say(h, NT_HEALTH_OK, "a | b \"c\" \\ \x1b[31m");
	h->cert_left_s = 1000;
}

static void each_format_says_the_same(void **state)
{
	struct cm_cli cli = { .option = { [WARN_ROUND] = "3h" } };
	struct nt_health h = begin(&cli);
	char *text;
	int code;

	(void)state;
	fill(&h);
	assert_answer(&h, 1,
		"WARNING budget 85.0% used, 100.0% pinned by plans; ledger intact (12 records); last round 2 h ago; a | b \"c\" \\ "
		"?[31m\n");
	cli.option[FORMAT] = "json";
	h = begin(&cli);
	fill(&h);
	assert_answer(&h, 1,
		"{\"schema\":\"tombola.check/"
		"1\",\"role\":\"client\",\"status\":\"WARNING\",\"text\":\"budget "
		"85.0% used, 100.0% pinned by plans; ledger intact (12 records); last round 2 h ago; a | b \\\"c\\\" \\\\ ?[31m\","
		"\"budget_used\":0.84999999999999998,\"certificate_left_s\":1000,\"round_age_s\":7200,"
		"\"ledger_records\":12}\n");
	cli.option[FORMAT] = "nagios";
	h = begin(&cli);
	fill(&h);
	assert_answer(&h, 1,
		"TOMBOLA CLIENT WARNING - budget 85.0% used, 100.0% pinned by plans; ledger intact (12 records); last round 2 h ago; "
		"a / b \"c\" \\ ?[31m | 'budget_used'=85%;80;100;0 'certificate_left'=1000s;604800:;0: "
		"'round_age'=7200s;10800;;0 'ledger_records'=12;;;0\n");
	cli.option[FORMAT] = "prometheus";
	h = begin(&cli);
	fill(&h);
	text = answer(&h, &code);
	assert_int_equal(code, 1);
	assert_non_null(strstr(text, "\ntombola_check_status{role=\"client\"} 1\n"));
	assert_non_null(strstr(text, "\ntombola_check_budget_used_ratio{role=\"client\"} 0.85\n"));
	assert_non_null(strstr(text, "\ntombola_check_certificate_left_seconds{role=\"client\"} 1000\n"));
	assert_non_null(strstr(text, "\ntombola_check_round_age_seconds{role=\"client\"} 7200\n"));
	assert_non_null(strstr(text, "\ntombola_check_ledger_records{role=\"client\"} 12\n"));
	assert_null(strstr(text, "analyzer"));
	free(text);
}

static void what_was_not_found_is_left_out(void **state)
{
	struct nt_health h = begin(&(struct cm_cli){ .option = { [FORMAT] = "nagios" } });

	(void)state;
	nt_health_say(&h, NT_HEALTH_CRITICAL, "daemon does not answer");
	assert_answer(&h, 2, "TOMBOLA CLIENT CRITICAL - daemon does not answer\n");
	h = begin(&(struct cm_cli){ .json = true });
	assert_answer(&h, 0,
		"{\"schema\":\"tombola.check/1\",\"role\":\"client\",\"status\":\"OK\",\"text\":\"\","
		"\"budget_used\":null,\"certificate_left_s\":null,\"round_age_s\":null,\"ledger_records\":"
		"null}"
		"\n");
}

static void what_kept_the_verb_from_looking_is_unknown(void **state)
{
	struct nt_health h = begin(&(struct cm_cli){ .option = { [FORMAT] = "nagios" } });
	struct cm_err why;
	char text[200] = "";
	FILE *out = fmemopen(text, sizeof text, "w");

	(void)state;
	(void)cm_fail(&why, CM_ENOINPUT, "no such file");
	assert_int_equal(nt_health_end(&h, why.code, &why, out), 3);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "TOMBOLA CLIENT UNKNOWN - no such file\n");
}

static void more_findings_than_fit_are_cut(void **state)
{
	struct nt_health h = begin(&(struct cm_cli){ 0 });
	int code;
	char *text;

	(void)state;
	for (int i = 0; i < 200; i++)
		nt_health_say(&h, NT_HEALTH_OK, "finding number %d of many", i);
	nt_health_say(&h, NT_HEALTH_CRITICAL, "the last");
	text = answer(&h, &code);
	assert_int_equal(code, 2);
	assert_true(strlen(text) < sizeof h.text + 20);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_have_units_and_defaults),
		cmocka_unit_test(a_limit_that_is_none_is_refused_by_its_name),
		cmocka_unit_test(a_budget_warns_and_alarms_at_its_limits),
		cmocka_unit_test(what_is_spent_is_never_rounded_down),
		cmocka_unit_test(an_old_round_is_said_only_when_somebody_asked),
		cmocka_unit_test(each_format_says_the_same),
		cmocka_unit_test(what_was_not_found_is_left_out),
		cmocka_unit_test(what_kept_the_verb_from_looking_is_unknown),
		cmocka_unit_test(more_findings_than_fit_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
