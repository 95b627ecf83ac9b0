/* test_cl_ndjson.c - rows of JSON, good and bad, however the input is cut. */
#include "read_rows.h"

static void ndjson_scalars_become_text(void **state)
{
	(void)state;
	NDJSON("d",
		"{\"d\":\"a\",\"v\":\"red\"}\n{\"d\":7,\"v\":9007199254740993}\n{\"v\":true,\"d\":\"b\"}\n",
		CM_OK, "a=red@1;7=9007199254740993@2;b=true@3;", NULL);
	NDJSON("d", "{\"d\":\"a\",\"v\":0.1}", CM_OK, "a=0.1@1;", NULL);
	/* A number keeps its text, even if no double holds the number. */
	NDJSON("d",
		"{\"d\":8121069193333309404,\"v\":2.0}\n{\"d\":18446744073709551615,\"v\":1e400}\n"
		"{\"d\":1e3,\"v\":1}\n{\"d\":1.0,\"v\":1}\n{\"d\":-7,\"v\":-0.50}\n",
		CM_OK,
		"8121069193333309404=2.0@1;18446744073709551615=1e400@2;!3 ? it cannot be told which device this "
		"is;!4 ? it cannot be told which device this is;-7=-0.50@5;",
		NULL);
}

static void ndjson_lines_that_are_no_good_objects_are_bad(void **state)
{
	static const char *const bad[] = { "NaN", "nan", "Infinity", "-", "07", ".5", "1.", "+1", "1e", "tru",
		"'x'", "1 2", "{}", "\"\\x\"", "\"\\ud800\"", "\"a\tb\"", "\"\xff\"", "0x15" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char line[64];
		int n = snprintf(line, sizeof line, "{\"d\":\"a\",\"v\":%s}\n", bad[i]);

		expect_from(CL_FORMAT_NDJSON, "d", line, (size_t)n, CM_OK,
			bad[i][0] == '"' ? "!1 a field 'v' is no valid string;"
					 : "!1 a field 'v' is no string, number or boolean;",
			NULL);
	}
	NDJSON("d", "{\"d\":\"a\",\"v\":1,}\n{'d':'a','v':1}\n{\"d\":\"a\",\"v\":1}//\n", CM_OK,
		"!1 a not valid JSON at column 16;!2 ? not valid JSON at column 2;"
		"!3 a not valid JSON at column 16;",
		NULL);
	NDJSON("d", "{\"d\":\"a\",\"v\":1}{\"d\":\"b\",\"v\":2}\n{\"d\":\"a\",,\"v\":1}\n", CM_OK,
		"!1 a not valid JSON at column 16;!2 a not valid JSON at column 10;", NULL);
	NDJSON("d", "{\"d\":\"a\",\"v\":1}\n[1]\n7\n", CM_OK,
		"a=1@1;!2 ? not a JSON object;!3 ? not a JSON object;", NULL);
	NDJSON("d", "{\"d\":\"a\",\"v\":1,\"v\":2}\n{\"d\":\"a\",\"v\":1,\"\\u0076\":2}\n", CM_OK,
		"!1 a a wanted key given twice;!2 a a wanted key given twice;", NULL);
	NDJSON("d", "{\"d\":\"a\"}\n", CM_OK, "!1 a no field 'v';", NULL);
	NDJSON("d", "{\"v\":1}\n", CM_OK, "!1 ? it cannot be told which device this is;", NULL);
	NDJSON("d", "{\"d\":1.5,\"v\":1}\n", CM_OK, "!1 ? it cannot be told which device this is;", NULL);
	NDJSON("d", "{\"d\":\"a\",\"v\":null}\n", CM_OK, "!1 a field 'v' is no string, number or boolean;",
		NULL);
	NDJSON("d", "{\"d\":\"a\",\"v\":[1]}\n", CM_OK, "!1 a field 'v' is no string, number or boolean;",
		NULL);
}

static void ndjson_bad_lines_do_not_stop_the_good_ones(void **state)
{
	(void)state;
	NDJSON("d", "{\"d\":\n\n{\"d\":\"b\",\"v\":2}\r\n", CM_OK, NULL, NULL);
	NDJSON(NULL, "{x\n{\"v\":\"1\"}\n", CM_OK, "!1 1 not valid JSON at column 2;2=1@2;", NULL);
	NDJSON(NULL, "{\n\n", CM_EDATA, "", "f:3: no array of JSON objects: its last object does not end");
}

/* A member that nobody asked for costs no reading, whatever it holds. */
static void ndjson_members_that_are_not_wanted_may_be_anything(void **state)
{
	enum { DEPTH = 100000 };
	static const char *const other[] = { "18446744073709551616", "1e400", "\"a\\u0000b\"",
		"{\"a\":1,\"a\":2}", "nan", "NaN", "-Infinity", "\"\xff\"", "\"a\tb\"",
		"{\"Temperature\":nan}", "[\"}\\\"],\"]", "\"\\ud800\"", "{\"v\":9,\"d\":\"z\"}" };
	static char deep[2 * DEPTH + 64];
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		char line[160];
		int len = snprintf(line, sizeof line,
			"{\"x\":%s,\"d\":\"a\",\"v\":1}\n{\"d\":\"b\",\"v\":2,\"x\":%s,\"x\":%s}\n", other[i],
			other[i], other[i]);

		expect_from(CL_FORMAT_NDJSON, "d", line, (size_t)len, CM_OK, "a=1@1;b=2@2;", NULL);
	}
	n = (size_t)sprintf(deep, "{\"d\":\"a\",\"x\":");
	memset(deep + n, '[', DEPTH);
	memset(deep + n + DEPTH, ']', DEPTH);
	n += 2 * DEPTH;
	n += (size_t)sprintf(deep + n, ",\"v\":1}\n");
	expect_from(CL_FORMAT_NDJSON, "d", deep, n, CM_OK, "a=1@1;", NULL);
}

/* A category is matched by a number's own text, or by the shortest that reads back. */
static void a_json_number_that_is_no_known_text_has_the_shortest(void **state)
{
	static const char *const category[] = { "1.1", "2.0", "2", "0.3", "1000000", "-0.00015" };
	static const char *const pair[][2] = { { "1.1", "1.1" }, { "1.10", "1.1" },
		{ "1.1000000000000001", "1.1" }, { "2.0", "2.0" }, { "2.00", "2" }, { "2", "2" },
		{ "2e0", "2" }, { "0.3", "0.3" }, { "3e-1", "0.3" }, { "1e6", "1000000" },
		{ "1E+6", "1000000" }, { "1000000.0", "1000000" }, { "-1.5e-4", "-0.00015" },
		{ "1e20", "100000000000000000000" }, { "1e21", "1e21" }, { "1.5e-6", "0.0000015" },
		{ "1.5e-7", "1.5e-7" }, { "-0.0", "0" }, { "12.5", "12.5" }, { "1e400", "1e400" },
		{ "8121069193333309404", "8121069193333309404" },
		{ "0.30000000000000004", "0.30000000000000004" }, { "true", "true" },
		{ "\"2.00\"", "2.00" } };
	struct cl_texts *texts;
	struct cm_err err;

	(void)state;
	assert_int_equal(cl_texts_new(category, sizeof category / sizeof *category, &texts, &err), CM_OK);
	known = texts;
	for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
		char line[128], said[128];
		int n = snprintf(line, sizeof line, "{\"v\":%s}\n", pair[i][0]);

		(void)snprintf(said, sizeof said, "1=%s@1;", pair[i][1]);
		expect_from(CL_FORMAT_NDJSON, NULL, line, (size_t)n, CM_OK, said, NULL);
	}
	arrays = CL_ARRAYS_SETS;
	NDJSON(NULL, "{\"v\":[1.10,\"x\",2e0,true,7]}\n{\"v\":[\"a;b\"]}\n", CM_OK,
		"1=1.1;x;2;true;7@1;!2 2 field 'v' is no string, number, boolean or array of texts;", NULL);
	/* The buffer of an empty text has no memory yet. */
	NDJSON(NULL, "{\"v\":[]}\n", CM_OK, "1=@1;", NULL);
	NDJSON(NULL, "{\"v\":[\"\"]}\n", CM_OK, "1=@1;", NULL);
	NDJSON(NULL, "{\"v\":\"\"}\n", CM_OK, "1=@1;", NULL);
	arrays = CL_ARRAYS_NONE;
	known = NULL;
	cl_texts_free(texts);
}

/* Faults of a file's form are reported: they depend on no reading. */
static void an_array_of_objects_is_read_however_it_is_printed(void **state)
{
	static const char said[] = "a=1@%u;b=2@%u;!%u c no field 'v';";
	static const struct {
		const char *text;
		unsigned line[3];
	} file[] = {
		{ "[{\"d\":\"a\",\"v\":1},{\"d\":\"b\",\"v\":2},{\"d\":\"c\"}]", { 1, 1, 1 } },
		{ "\xef\xbb\xbf [ {\"d\":\"a\",\"v\":1} ,\r\n{\"d\":\"b\",\"v\":2},\n{\"d\":\"c\"}\n]\n\n",
			{ 1, 2, 3 } },
		{ "\n[\n  {\n    \"d\": \"a\",\n    \"v\": 1\n  },\n  {\n    \"d\": \"b\",\n    \"v\": 2\n  },\n  "
		  "{\"d\": \"c\"}\n]\n",
			{ 3, 7, 11 } },
		{ "{\n  \"d\": \"a\",\n  \"v\": 1\n}\n{\n  \"v\": 2,\n  \"d\": \"b\", \"x\": [\"}\", {}]\n}\n{\"d\":\"c\"}\n",
			{ 1, 5, 9 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
		char all[128];

		(void)snprintf(all, sizeof all, said, file[i].line[0], file[i].line[1], file[i].line[2]);
		expect_from(CL_FORMAT_NDJSON, "d", file[i].text, strlen(file[i].text), CM_OK, all, NULL);
	}
	NDJSON(NULL, "[]\n", CM_OK, "", NULL);
	NDJSON(NULL, "[{\"v\":1},null,\"x}\",[{\"v\":2}],-5,{\"v\":3}]\n", CM_OK,
		"1=1@1;!1 2 not a JSON object;!1 3 not a JSON object;!1 4 not a JSON object;!1 5 not a JSON object;6=3@1;",
		NULL);
}

static void what_is_no_json_is_refused_by_name(void **state)
{
	static const char no_json[] =
		"f:1: no JSON: neither an object nor an array of objects begins here; what is the file's format?";

	(void)state;
	NDJSON("d", "d,v\na,1\n", CM_EDATA, "", no_json);
	NDJSON(NULL, "\"v\"\n1\n", CM_EDATA, "", no_json);
	NDJSON("d", "\xff\xfe{\0", CM_EDATA, "", no_json);
	NDJSON("d", "[1,2]", CM_EDATA, "", "f:1: no array of JSON objects: its first item is none");
	NDJSON("d", "\n[[{\"v\":1}]]", CM_EDATA, "", "f:2: no array of JSON objects: its first item is none");
	NDJSON("d", "[{\"d\":\"a\",\"v\":1}]x", CM_EDATA, "a=1@1;",
		"f:1: no array of JSON objects: more follows its end");
	NDJSON("d", "[{\"d\":\"a\",\"v\":1},\n{\"d\":\"b\"", CM_EDATA, "a=1@1;",
		"f:2: no array of JSON objects: its last object does not end");
	NDJSON("d", "[{\"d\":\"a\",\"v\":1},\n", CM_EDATA, "a=1@1;",
		"f:2: no array of JSON objects: its array does not end");
	CSV("d", "{\"d\":\"a\",\"v\":1}\n", CM_EDATA, "",
		"f:1: no header with a column 'v': this is JSON and no CSV (format = \"ndjson\", or "
		"a name that ends in .json)");
	CSV("d", "[\n", CM_EDATA, "",
		"f:1: no header with a column 'v': this is JSON and no CSV (format = \"ndjson\", or "
		"a name that ends in .json)");
}

/* One device's bytes and rows are bounded, and no row of another device is lost. */
static void of_one_device_so_much_is_parsed_and_no_more(void **state)
{
	enum { ROWS = 4096 };
	static char text[64 * ROWS];
	size_t n;

	(void)state;
	for (unsigned json = 0; json < 2; json++) {
		struct said s = { .text = "" };
		struct cm_err err;
		enum cl_format format = json ? CL_FORMAT_NDJSON : CL_FORMAT_CSV;

		share = 64;
		n = (size_t)sprintf(text, "%s",
			json ? "{\"d\":\"a\",\"v\":\"1234567890\"}\n{\"d\":\"a\",\"v\":\"1234567890\"}\n"
			       "{\"d\":\"a\",\"v\":\"1234567890\"}\n{\"d\":\"b\",\"v\":2}\n"
			     : "w,d,v\n\",\",a,12345678901234567890123\n\",\",a,12345678901234567890123\n,a,12345678901234567\n,b,2\n");
		(void)read_all(format, "d", text, n, &s, &err);
		assert_non_null(strstr(s.text, "a="));
		assert_non_null(strstr(s.text, "b=2@"));
		assert_non_null(strstr(s.text, json ? "!3 ? one of more" : "!4 ? one of more"));
		/* As many rows as a device may have, and one more. */
		share = CL_BYTES;
		n = (size_t)sprintf(text, "%s", json ? "" : "d,v\n");
		for (unsigned i = 0; i <= ROWS; i++)
			n += (size_t)sprintf(text + n, json ? "{\"d\":\"a\",\"v\":1}\n" : "a,1\n");
		n += (size_t)sprintf(text + n, json ? "{\"d\":\"b\",\"v\":1}\n" : "b,1\n");
		s = (struct said){ .text = "" };
		assert_int_equal(read_cut(format, "d", text, n, 65536, &s, &err), CM_OK);
		assert_int_equal(s.rows, ROWS + 1);
	}
	share = 0;
}

static void ndjson_nul_bytes_are_refused(void **state)
{
	(void)state;
	NDJSON("d", "{\"d\":\"a\",\"v\":\"\\u0000\"}\n{\"d\":\"b\",\"v\":\"1\"}\n", CM_OK,
		"!1 a field 'v' is no valid string;b=1@2;", NULL);
	NDJSON("d", "{\"d\":\"a\0\",\"v\":1}\n", CM_OK, NULL, NULL);
}

static void ndjson_without_a_line_has_no_row(void **state)
{
	(void)state;
	NDJSON("d", "", CM_OK, "", NULL);
	NDJSON("d", " \n\n", CM_OK, "", NULL);
}

/* The first member of that name counts, whatever follows it. */
static void ndjson_tells_the_device_of_a_line_that_is_none(void **state)
{
	(void)state;
	NDJSON("d", "{\"d\":\"a\",\"v\":{{\n{\"d\":\"b\",\"v\":1,\"d\":\"c\"}\n", CM_OK,
		"!1 a not valid JSON at column 14;!2 b a wanted key given twice;", NULL);
	NDJSON("d", "{\"x\":{\"d\":\"z\",\"y\":[\"}\\\"],\"]},\"\\u0064\":7,\n", CM_OK,
		"!1 7 not valid JSON at column 41;", NULL);
	NDJSON("d", "{\"v\":\"\xff\",\"d\":\"a\"}\n{\"v\":1 \"d\":\"a\"}\n{\"v\":\"x\n\"d\":\"a\"}\n", CM_OK,
		"!1 a field 'v' is no valid string;!2 ? field 'v' is no string, number or boolean;"
		"!3 ? not valid JSON at column 6;!4 ? not a JSON object;",
		NULL);
	NDJSON("d", "{\"d\":[\"a\"],\"v\":1}\n{\"d\":\"a\\u0000b\",\"v\":1}\n", CM_OK, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ndjson_scalars_become_text),
		cmocka_unit_test(ndjson_lines_that_are_no_good_objects_are_bad),
		cmocka_unit_test(ndjson_bad_lines_do_not_stop_the_good_ones),
		cmocka_unit_test(ndjson_members_that_are_not_wanted_may_be_anything),
		cmocka_unit_test(a_json_number_that_is_no_known_text_has_the_shortest),
		cmocka_unit_test(an_array_of_objects_is_read_however_it_is_printed),
		cmocka_unit_test(what_is_no_json_is_refused_by_name),
		cmocka_unit_test(of_one_device_so_much_is_parsed_and_no_more),
		cmocka_unit_test(ndjson_nul_bytes_are_refused),
		cmocka_unit_test(ndjson_without_a_line_has_no_row),
		cmocka_unit_test(ndjson_tells_the_device_of_a_line_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
