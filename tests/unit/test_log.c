/* test_log.c - one line per event: format, escaping, levels, floods. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cm_clock.h"
#include "cm_log.h"

/* Of the log. */
static int64_t now_ms = 1000000;
int64_t __wrap_cm_clock_mono_ms(void);

int64_t __wrap_cm_clock_mono_ms(void)
{
	return now_ms;
}

static FILE *to;
static int kept;
static char text[65536];

static void begin(void)
{
	to = tmpfile();
	kept = dup(STDERR_FILENO);
	assert_true(to && kept >= 0 && dup2(fileno(to), STDERR_FILENO) >= 0);
}

static int lines_of_end(void)
{
	int lines = 0;
	size_t n;

	cm_log_flush();
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	(void)close(kept);
	rewind(to);
	n = fread(text, 1, sizeof text - 1, to);
	text[n] = '\0';
	(void)fclose(to);
	for (const char *c = text; *c != '\0'; c++)
		lines += *c == '\n';
	return lines;
}

static void a_json_line_has_time_level_role_message_and_fields(void **state)
{
	(void)state;
	begin();
	/* Standard error is no terminal, so `auto` means JSON. */
	cm_log_init("shuffler", CM_LOG_INFO, CM_LOG_AUTO);
	cm_log(CM_LOG_WARN, "batch sealed", CM_I("reports", -58000), CM_S("why", "target"),
		CM_D("part", 0.1));
	assert_int_equal(lines_of_end(), 1);
	assert_memory_equal(text, "{\"ts\":\"2", 8);
	assert_string_equal(strchr(text, 'Z'),
		"Z\",\"level\":\"warn\",\"role\":\"shuffler\",\"msg\":\"batch sealed\",\"reports\":-58000,"
		"\"why\":\"target\",\"part\":0.10000000000000001}\n");
}

static void a_text_line_has_time_role_level_message_and_fields(void **state)
{
	(void)state;
	begin();
	cm_log_init("client", CM_LOG_DEBUG, CM_LOG_TEXT);
	cm_log(CM_LOG_DEBUG, "sent", CM_I("n", 3), CM_S("to", "a b"));
	assert_int_equal(lines_of_end(), 1);
	assert_string_equal(strchr(text, 'Z'), "Z client debug: sent n=3 to=\"a b\"\n");
}

static void lines_above_the_level_are_not_written(void **state)
{
	(void)state;
	begin();
	cm_log_init("x", CM_LOG_WARN, CM_LOG_TEXT);
	cm_log_plain(CM_LOG_INFO, "no");
	cm_log_plain(CM_LOG_DEBUG, "no");
	cm_log_plain(CM_LOG_WARN, "yes");
	assert_int_equal(lines_of_end(), 1);
	assert_null(strstr(text, "no"));
}

static void hostile_strings_stay_one_line_and_valid(void **state)
{
	(void)state;
	begin();
	cm_log_init("x", CM_LOG_INFO, CM_LOG_JSON);
	cm_log(CM_LOG_INFO, "bad peer", CM_S("why", "a\"b\\c\nd\033[2J\x7f\xff"), CM_D("d", NAN),
		CM_S("none", NULL));
	assert_int_equal(lines_of_end(), 1);
	assert_non_null(strstr(
		text, "\"why\":\"a\\\"b\\\\c\\nd\\u001b[2J\\u007f\\u00ff\",\"d\":\"nan\",\"none\":\"\"}"));
}

static void text_of_any_script_stays_and_only_the_rest_is_escaped(void **state)
{
	(void)state;
	begin();
	cm_log_init("x", CM_LOG_INFO, CM_LOG_JSON);
	cm_log(CM_LOG_INFO, "m", CM_S("shown", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\xb2"),
		CM_S("hidden", "\xe2\x80\xae\xc2\x9b\xe2\x82"));
	assert_int_equal(lines_of_end(), 1);
	assert_non_null(strstr(text, "\"shown\":\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\xb2\""));
	assert_non_null(strstr(text, "\"hidden\":\"\\u00e2\\u0080\\u00ae\\u00c2\\u009b\\u00e2\\u0082\""));
}

static void long_strings_are_cut_and_too_many_fields_left_out_whole(void **state)
{
	static char big[5000];
	struct cm_field many[64];

	(void)state;
	memset(big, 'y', sizeof big - 1);
	begin();
	cm_log_init("x", CM_LOG_INFO, CM_LOG_JSON);
	cm_log(CM_LOG_INFO, "cut", CM_S("v", big));
	for (size_t i = 0; i < 64; i++)
		many[i] = CM_S("v", big);
	cm_log_fields(CM_LOG_INFO, "many", many, 64);
	assert_int_equal(lines_of_end(), 2);
	assert_int_equal(strspn(strstr(text, "\"v\":\"") + 5, "y"), 200);
	assert_true(strlen(text) < 3000);
	assert_string_equal(text + strlen(text) - 4, "y\"}\n");
}

static void a_flood_of_one_line_is_said_once_and_counted(void **state)
{
	(void)state;
	begin();
	cm_log_init("x", CM_LOG_INFO, CM_LOG_JSON);
	for (int i = 0; i < 1000; i++) {
		cm_log(CM_LOG_WARN, "bad frame", CM_S("why", "too long"));
		if (i % 100 == 0)
			cm_log(CM_LOG_INFO, "other", CM_I("i", i));
	}
	assert_int_equal(lines_of_end(), 12);
	assert_non_null(strstr(text, "\"why\":\"too long\",\"repeated\":999}"));
}

static void more_kinds_of_lines_than_are_remembered_lose_no_count(void **state)
{
	uint64_t said = 0;

	(void)state;
	begin();
	cm_log_init("x", CM_LOG_INFO, CM_LOG_JSON);
	for (int i = 0; i < 200; i++)
		cm_log(CM_LOG_WARN, "kind", CM_I("i", i / 2 % 20));
	(void)lines_of_end();
	for (const char *at = text; (at = strstr(at, "\"kind\"")); at++) {
		const char *end = strchr(at, '\n'), *again = strstr(at, "\"repeated\":");

		if (again && again < end)
			said += strtoull(again + 11, NULL, 10);
		else
			said++;
	}
	assert_int_equal(said, 200);
}

/* Every line is counted once, by itself or in a summary. */
static uint64_t told(const char *what, size_t *lines)
{
	uint64_t n = 0;

	*lines = 0;
	for (const char *at = text; (at = strstr(at, what)); at++) {
		const char *end = strchr(at, '\n'), *again = strstr(at, "\"repeated\":");

		n += again != NULL && again < end ? strtoull(again + 11, NULL, 10) : 1;
		++*lines;
	}
	return n;
}

static void a_fault_that_goes_on_is_said_ever_more_seldom(void **state)
{
	enum { DAY_S = 86400, EVERY_S = 30 };
	size_t lines;

	(void)state;
	begin();
	cm_log_init("x", CM_LOG_INFO, CM_LOG_JSON);
	for (int t = 0; t < DAY_S; t += EVERY_S) {
		cm_log(CM_LOG_WARN, "no connection", CM_S("reason", "refused"));
		now_ms += EVERY_S * 1000;
	}
	(void)lines_of_end();
	assert_int_equal(told("no connection", &lines), DAY_S / EVERY_S);
	/* The lines are ten minutes apart, except the first ones. */
	assert_in_range(lines, DAY_S / 600, DAY_S / 600 + 12);
}

static void a_fault_that_was_over_is_new(void **state)
{
	size_t lines;

	(void)state;
	begin();
	cm_log_init("x", CM_LOG_INFO, CM_LOG_JSON);
	for (int i = 0; i < 8; i++, now_ms += 100)
		cm_log_plain(CM_LOG_WARN, "no connection");
	cm_log_flush(); /* connected */
	cm_log_plain(CM_LOG_WARN, "no connection");
	now_ms += 600 * 1000;
	cm_log_plain(CM_LOG_WARN, "no connection");
	assert_int_equal(lines_of_end(), 4);
	assert_int_equal(told("no connection", &lines), 10);
	assert_int_equal(told("\"repeated\"", &lines), 7);
	assert_int_equal(lines, 1);
}

/* Repeating something is not a fault. */
static void a_line_of_work_is_said_after_a_moment(void **state)
{
	(void)state;
	begin();
	cm_log_init("x", CM_LOG_INFO, CM_LOG_JSON);
	for (int i = 0; i < 20; i++, now_ms += 1000)
		cm_log_plain(CM_LOG_INFO, "certificates reloaded");
	assert_int_equal(lines_of_end(), 20);
	assert_null(strstr(text, "repeated"));
}

static void the_journal_is_told_the_level(void **state)
{
	char stream[64];
	struct stat st;

	(void)state;
	begin();
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	(void)snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	(void)setenv("JOURNAL_STREAM", stream, 1);
	cm_log_init("x", CM_LOG_INFO, CM_LOG_TEXT);
	cm_log_plain(CM_LOG_ERROR, "in the journal");
	(void)setenv("JOURNAL_STREAM", "1:1", 1);
	cm_log_init("x", CM_LOG_INFO, CM_LOG_TEXT);
	cm_log_plain(CM_LOG_ERROR, "elsewhere");
	(void)unsetenv("JOURNAL_STREAM");
	assert_int_equal(lines_of_end(), 2);
	assert_memory_equal(text, "<3>2", 4);
	assert_memory_equal(strchr(text, '\n'), "\n2", 2);
}

/* Its pipe is full: nobody waits for whoever stopped to read it, and what was lost is counted. */
static void a_reader_that_stopped_holds_up_nobody(void **state)
{
	char got[65536];
	int fd[2], keep = dup(STDERR_FILENO);
	ssize_t n;

	(void)state;
	(void)alarm(300);
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(fcntl(fd[1], F_SETFL, O_NONBLOCK), 0);
	while (write(fd[1], text, 64) > 0)
		;
	assert_int_equal(fcntl(fd[1], F_SETFL, 0), 0);
	assert_true(dup2(fd[1], STDERR_FILENO) >= 0);
	cm_log_init("x", CM_LOG_INFO, CM_LOG_JSON);
	cm_log_plain(CM_LOG_INFO, "first");
	cm_log_plain(CM_LOG_INFO, "second");
	cm_log_plain(CM_LOG_INFO, "third");
	n = read(fd[0], got, sizeof got);
	assert_true(n > 4096);
	cm_log_plain(CM_LOG_INFO, "fourth");
	cm_log_plain(CM_LOG_INFO, "fifth");
	assert_true(dup2(keep, STDERR_FILENO) >= 0);
	(void)close(fd[1]);
	while ((n = read(fd[0], got, sizeof got - 1)) > 0) {
		got[n] = '\0';
		if (strstr(got, "fourth"))
			break;
	}
	assert_true(n > 0);
	assert_null(strstr(got, "second"));
	assert_non_null(strstr(got, "\"msg\":\"fourth\",\"lines_lost\":3}\n"));
	assert_non_null(strstr(got, "\"msg\":\"fifth\"}\n"));
	(void)close(fd[0]);
	(void)close(keep);
	(void)alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_json_line_has_time_level_role_message_and_fields),
		cmocka_unit_test(a_text_line_has_time_role_level_message_and_fields),
		cmocka_unit_test(lines_above_the_level_are_not_written),
		cmocka_unit_test(hostile_strings_stay_one_line_and_valid),
		cmocka_unit_test(text_of_any_script_stays_and_only_the_rest_is_escaped),
		cmocka_unit_test(long_strings_are_cut_and_too_many_fields_left_out_whole),
		cmocka_unit_test(a_flood_of_one_line_is_said_once_and_counted),
		cmocka_unit_test(more_kinds_of_lines_than_are_remembered_lose_no_count),
		cmocka_unit_test(a_fault_that_goes_on_is_said_ever_more_seldom),
		cmocka_unit_test(a_fault_that_was_over_is_new),
		cmocka_unit_test(a_line_of_work_is_said_after_a_moment),
		cmocka_unit_test(the_journal_is_told_the_level),
		cmocka_unit_test(a_reader_that_stopped_holds_up_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
