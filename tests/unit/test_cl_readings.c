/* test_cl_readings.c - rows of CSV, and of both formats, however the input is cut. */
#include "read_rows.h"

static void csv_rows_carry_device_value_and_line(void **state)
{
	(void)state;
	CSV("d", "d,v,w\na,1,x\nb,2,y\n", CM_OK, "a=1@2;b=2@3;", NULL);
	CSV("d", "w,v,d\nx,1,a\n", CM_OK, "a=1@2;", NULL);
}

static void csv_rows_without_a_device_column_are_numbered_bad_rows_included(void **state)
{
	(void)state;
	CSV(NULL, "v,w\n1,2\n3\n4,5\n", CM_OK, "1=1@2;!3 2 1 columns, the header has 2;3=4@4;", NULL);
}

static void csv_may_end_without_a_newline(void **state)
{
	(void)state;
	CSV("d", "d,v\na,1", CM_OK, "a=1@2;", NULL);
}

static void csv_may_begin_with_a_byte_order_mark_and_have_crlf(void **state)
{
	(void)state;
	CSV("d",
		"\xef\xbb\xbf"
		"d,v\r\na,1\r\nb,2\r\n",
		CM_OK, "a=1@2;b=2@3;", NULL);
}

static void csv_quotes_may_hold_commas_and_quotes(void **state)
{
	(void)state;
	CSV("d", "d,v\n\"a,\"\"x\",\"1,2\"\nb,3\n", CM_OK, "a,\"x=1,2@2;b=3@3;", NULL);
}

static void a_csv_record_is_a_line_whatever_its_quotes_say(void **state)
{
	(void)state;
	CSV("d", "d,v\na,\"1\n2\"\nb,3\n", CM_OK,
		"!2 a a quote that is not closed in its line;!3 ? a stray quote;b=3@4;", NULL);
	CSV("d", "d,v\na,1\nb,\"2\nc,3\n", CM_OK, "a=1@2;!3 b a quote that is not closed in its line;c=3@4;",
		NULL);
	CSV("d", "d,v\na,\"", CM_OK, "!2 a a quote that is not closed in its line;", NULL);
	/* The device stands behind the fault, so it is unknown. */
	CSV("d", "v,d\n\"1,a\n2,b\n", CM_OK, "!2 ? a quote that is not closed in its line;b=2@3;", NULL);
	/* A carriage return does not end a record. */
	CSV("d", "d,v\na,1\rb,2\nc,3\r\n", CM_OK, "!2 a 3 columns, the header has 2;c=3@3;", NULL);
	CSV("d", "d,v\n\"a,\nb,1\n", CM_OK, "!2 ? a quote that is not closed in its line;b=1@3;", NULL);
	CSV("d", "d,\"v\na,1\n", CM_EDATA, "", "f:1: a quote that is not closed in its line");
}

static void a_field_that_is_empty_is_a_row_of_one_column(void **state)
{
	(void)state;
	CSV(NULL, "v\n1\n\n3\n  \n5\n", CM_OK, "1=1@2;2=@3;3=3@4;4=@5;5=5@6;", NULL);
	/* The file's last line is no row: programs end their files with an empty line.  Two empty lines are a
	 * row and that line. */
	CSV(NULL, "v\n1\n\n", CM_OK, "1=1@2;", NULL);
	CSV(NULL, "v\r\n1\r\n\r\n", CM_OK, "1=1@2;", NULL);
	CSV(NULL, "v\n1\n\n\n", CM_OK, "1=1@2;2=@3;", NULL);
	CSV(NULL, "v\n1\n\"\"\n", CM_OK, "1=1@2;2=@3;", NULL);
	CSV(NULL, "v,w\n1,2\n\n3,4\n", CM_OK, "1=1@2;2=3@4;", NULL);
}

static void csv_empty_lines_are_no_rows(void **state)
{
	(void)state;
	CSV("d", "\nd,v\n\na,1\n\n\n", CM_OK, "a=1@4;", NULL);
}

static void csv_needs_a_header(void **state)
{
	(void)state;
	CSV("d", "", CM_EDATA, "", "f: empty: a header line is needed");
	CSV("d", "\n\r\n", CM_EDATA, "", "f: empty: a header line is needed");
}

static void csv_names_the_missing_column_and_those_there_are(void **state)
{
	(void)state;
	CSV("d", "d,w,x\na,1,2\n", CM_EDATA, "", "f:1: no column 'v' among the 3 of the header");
	CSV("d", "e,v\na,1\n", CM_EDATA, "", "f:1: no column 'd' among the 2 of the header");
	CSV("d", "d;v\na;1\n", CM_EDATA, "",
		"f:1: no column 'v' among the 1 of the header; commas separate columns, not semicolons (input.delimiter)");
	CSV("d", "d\tv\na\t1\n", CM_EDATA, "",
		"f:1: no column 'v' among the 1 of the header; commas separate columns, not tabs (input.delimiter)");
	CSV("d", "d;v,w\na;1,2\n", CM_EDATA, "", "f:1: no column 'v' among the 2 of the header");
	CSV("d", "d,v,v\na,1,2\n", CM_EDATA, "", "f:1: the header names a column twice");
}

static void csv_rows_of_another_width_are_bad(void **state)
{
	(void)state;
	CSV("d", "d,v\na\nb,1\nc,2,3\n", CM_OK,
		"!2 a 1 columns, the header has 2;b=1@3;!4 c 3 columns, the header has 2;", NULL);
}

static void csv_stray_quotes_cost_one_row(void **state)
{
	(void)state;
	CSV("d", "d,v\na\"b,1\nc,2\n", CM_OK, "!2 ? a stray quote;c=2@3;", NULL);
	CSV("d", "d,v\n\"a\"b,1\nc,2\n", CM_OK, "!2 ? a stray quote;c=2@3;", NULL);
	CSV("d", "d,v\na,1\"\nc,2\n", CM_OK, "!2 a a stray quote;c=2@3;", NULL);
	CSV("d", "d\"e,v\na,1\n", CM_EDATA, "", "f:1: a stray quote");
}

static void csv_nul_bytes_cost_one_row(void **state)
{
	(void)state;
	CSV("d", "d,v\na\0z,1\nb,2\0\nc,3\n", CM_OK, "!2 ? a NUL byte;!3 b a NUL byte;c=3@4;", NULL);
}

static void a_line_above_the_limit_costs_one_row(void **state)
{
	size_t n = CL_RECORD_MAX + 64;
	char *text = malloc(n);
	struct said s = { .text = "" };
	struct cm_err err;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', n);
	memcpy(text, "d,v\na,", 6);
	memcpy(text + n - 6, "\nb,22\n", 6);
	assert_int_equal(read_all(CL_FORMAT_CSV, "d", text, n, &s, &err), CM_OK);
	assert_string_equal(s.text, "!2 a a line longer than 4194304 bytes;b=22@3;");
	memset(text, ' ', n);
	memcpy(text, "{\"v\":[{\"d\":\"c\"}],\"d\":\"a\",", 25);
	memcpy(text + n - 24, "\n{\"d\":\"b\",\"v\":\"2\"}     \n", 24);
	s = (struct said){ .text = "" };
	assert_int_equal(read_all(CL_FORMAT_NDJSON, "d", text, n, &s, &err), CM_OK);
	assert_string_equal(s.text, "!1 a a line longer than 4194304 bytes;b=2@2;");
	free(text);
}

static void several_fields_are_found_wherever_they_stand(void **state)
{
	(void)state;
	fields = 3;
	CSV("d", "x,u,d,w,v\n0,1,a,2,3\n0,4,b,\"\",5\n", CM_OK, "a=3|2|1@2;b=5||4@3;", NULL);
	CSV("d", "d,v,w\na,1,2\n", CM_EDATA, "", "f:1: no column 'u' among the 3 of the header");
	CSV("d", "d,v,w,u,w\na,1,2,3,4\n", CM_EDATA, "", "f:1: the header names a column twice");
	CSV("v", "v,w,u\na,1,2\n", CM_OK, "a=a|1|2@2;", NULL);
	CSV("d", "d,v,w,u\na,1,2\na,1,2,3,4\na,1,2,3\n", CM_OK,
		"!2 a 3 columns, the header has 4;!3 a 5 columns, the header has 4;a=1|2|3@4;", NULL);
	NDJSON("d", "{\"d\":\"a\",\"u\":1,\"w\":\"x\",\"v\":2.5}\n{\"d\":\"b\",\"v\":1,\"w\":2}\n", CM_OK,
		"a=2.5|x|1@1;!2 b no field 'u';", NULL);
	NDJSON("d", "{\"d\":\"a\",\"u\":1,\"w\":[1],\"v\":2}\n", CM_OK,
		"!1 a field 'w' is no string, number or boolean;", NULL);
	fields = 1;
}

static void a_json_array_of_numbers_is_one_text_where_it_may_be(void **state)
{
	static const char *const bad[] = { "{}", "null", "[1,null]", "[\"1\"]", "[[1]]", "[true]" };
	char line[64];

	(void)state;
	NDJSON("d", "{\"d\":\"a\",\"v\":[1,2]}\n", CM_OK, "!1 a field 'v' is no string, number or boolean;",
		NULL);
	arrays = CL_ARRAYS_NUMBERS;
	NDJSON("d",
		"{\"d\":\"a\",\"v\":[1,-2.5,1e300]}\n{\"d\":\"b\",\"v\":[]}\n{\"d\":\"c\",\"v\":\"1 2\"}\n",
		CM_OK, "a=1 -2.5 1e300@1;b=@2;c=1 2@3;", NULL);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct said s = { .text = "" };
		struct cm_err err;
		int n = snprintf(line, sizeof line, "{\"d\":\"a\",\"v\":%s}\n", bad[i]);

		assert_int_equal(read_all(CL_FORMAT_NDJSON, "d", line, (size_t)n, &s, &err), CM_OK);
		assert_string_equal(
			s.text, "!1 a field 'v' is no string, number, boolean or array of numbers;");
	}
	arrays = CL_ARRAYS_NONE;
}

static void columns_that_count_up_are_one_array_where_it_may_be(void **state)
{
	(void)state;
	CSV("d", "d,v0,v1\na,1,2\n", CM_EDATA, "", "f:1: no column 'v' among the 3 of the header");
	arrays = CL_ARRAYS_NUMBERS;
	CSV("d", "v0,d,v1,v2\n1,a,2,3\n,b,,\n4,c,5\n6,e,7,8\n", CM_OK,
		"a=1 2 3@2;b=  @3;!4 c 3 columns, the header has 4;e=6 7 8@5;", NULL);
	/* The column of that name is the field; only columns numbered from 0 are parts of it. */
	CSV("d", "d,v0,v,v1\na,1,7 8,2\n", CM_OK, "a=7 8@2;", NULL);
	CSV("d", "d,v0,v2,v01,v1\na,1,2,3,4\n", CM_OK, "a=1 4@2;", NULL);
	CSV("d", "d,v1,v2\na,1,2\n", CM_EDATA, "", "f:1: no column 'v' among the 3 of the header");
	arrays = CL_ARRAYS_NONE;
}

/* The longest vector, as CSV and as JSON; one number more of JSON is too many. */
static void the_longest_vector_fits_a_line(void **state)
{
	static const char number[] = "-0.12345678901234567";
	const size_t each = sizeof number, n = CL_ARRAY_MAX;
	char *text = malloc(64 + (n + 1) * each);
	struct cm_err err;

	(void)state;
	assert_non_null(text);
	arrays = CL_ARRAYS_NUMBERS;
	for (size_t more = 0; more < 3; more++) {
		bool csv = more == 2;
		struct said s = { .text = "" };
		size_t used = (size_t)sprintf(text, "%s", csv ? "d,v\na,\"" : "{\"d\":\"a\",\"v\":[");

		for (size_t i = 0; i < n + more % 2; i++) {
			memcpy(text + used, number, each - 1);
			text[used + each - 1] = ',';
			used += each;
		}
		used -= 1;
		used += (size_t)sprintf(text + used, "%s", csv ? "\"\n" : "]}\n");
		assert_int_equal(
			read_cut(csv ? CL_FORMAT_CSV : CL_FORMAT_NDJSON, "d", text, used, 65536, &s, &err),
			CM_OK);
		assert_int_equal(s.rows, more == 1 ? 0 : 1);
	}
	arrays = CL_ARRAYS_NONE;
	free(text);
}

static void a_device_needs_a_name_of_200_bytes_at_most(void **state)
{
	char text[300];
	struct said s = { .text = "" };
	struct cm_err err;
	int n;

	(void)state;
	CSV("d", "d,v\n,1\n", CM_OK, "!2 ? the device field is empty;", NULL);
	n = snprintf(text, sizeof text, "d,v\n%0201d,1\n", 7);
	assert_int_equal(read_all(CL_FORMAT_CSV, "d", text, (size_t)n, &s, &err), CM_OK);
	assert_string_equal(s.text, "!2 ? the device field is longer than 200 bytes;");
}

static void strict_reading_ends_at_the_first_bad_row_and_stays_ended(void **state)
{
	struct said s = { .strict = 1 };
	const struct cl_reader_conf conf = { .format = CL_FORMAT_CSV,
		.name = "f",
		.device_field = "d",
		.field = wanted,
		.fields = 1,
		.on_row = on_row,
		.user = &s };
	struct cl_reader *r;
	struct cm_err err;

	(void)state;
	assert_int_equal(cl_reader_new(&conf, &r, &err), CM_OK);
	assert_int_equal(cl_reader_feed(r, (const uint8_t *)"d,v\na\nb,1\n", 10, &err), CM_EDATA);
	assert_string_equal(err.msg, "f:2: 1 columns, the header has 2");
	err = (struct cm_err){ 0 };
	assert_int_equal(cl_reader_feed(r, (const uint8_t *)"c,1\n", 4, &err), CM_EDATA);
	assert_int_equal(cl_reader_end(r, &err), CM_EDATA);
	assert_string_equal(s.text, "!2 a 1 columns, the header has 2;");
	cl_reader_free(r);
}

static void a_file_that_is_not_there_is_no_input(void **state)
{
	struct said s = { .text = "" };
	const struct cl_reader_conf conf = { .format = CL_FORMAT_CSV,
		.name = "f",
		.device_field = "d",
		.field = wanted,
		.fields = 1,
		.on_row = on_row,
		.user = &s };
	struct cm_err err;

	(void)state;
	assert_int_equal(cl_readings_file("/nonexistent/f.csv", &conf, &err), CM_ENOINPUT);
	assert_int_equal(cl_readings_file("/tmp", &conf, &err), CM_EDATA);
}

static void the_extension_tells_the_format(void **state)
{
	(void)state;
	assert_int_equal(cl_format_of_path("a/b.CSV"), CL_FORMAT_CSV);
	assert_int_equal(cl_format_of_path("b.ndjson"), CL_FORMAT_NDJSON);
	assert_int_equal(cl_format_of_path("b.jsonl"), CL_FORMAT_NDJSON);
	assert_int_equal(cl_format_of_path("a.csv/b"), CL_FORMAT_GUESS);
	assert_int_equal(cl_format_of_path("-"), CL_FORMAT_GUESS);
	assert_int_equal(cl_format_parse("CSV"), CL_FORMAT_GUESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv_rows_carry_device_value_and_line),
		cmocka_unit_test(csv_rows_without_a_device_column_are_numbered_bad_rows_included),
		cmocka_unit_test(csv_may_end_without_a_newline),
		cmocka_unit_test(csv_may_begin_with_a_byte_order_mark_and_have_crlf),
		cmocka_unit_test(csv_quotes_may_hold_commas_and_quotes),
		cmocka_unit_test(a_csv_record_is_a_line_whatever_its_quotes_say),
		cmocka_unit_test(a_field_that_is_empty_is_a_row_of_one_column),
		cmocka_unit_test(csv_empty_lines_are_no_rows),
		cmocka_unit_test(csv_needs_a_header),
		cmocka_unit_test(csv_names_the_missing_column_and_those_there_are),
		cmocka_unit_test(csv_rows_of_another_width_are_bad),
		cmocka_unit_test(csv_stray_quotes_cost_one_row),
		cmocka_unit_test(csv_nul_bytes_cost_one_row),
		cmocka_unit_test(a_line_above_the_limit_costs_one_row),
		cmocka_unit_test(several_fields_are_found_wherever_they_stand),
		cmocka_unit_test(a_json_array_of_numbers_is_one_text_where_it_may_be),
		cmocka_unit_test(columns_that_count_up_are_one_array_where_it_may_be),
		cmocka_unit_test(the_longest_vector_fits_a_line),
		cmocka_unit_test(a_device_needs_a_name_of_200_bytes_at_most),
		cmocka_unit_test(strict_reading_ends_at_the_first_bad_row_and_stays_ended),
		cmocka_unit_test(a_file_that_is_not_there_is_no_input),
		cmocka_unit_test(the_extension_tells_the_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
