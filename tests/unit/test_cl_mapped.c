/* test_cl_mapped.c - rows of files read by a map, and of CSV with other delimiters, decimal commas and
 * comments. */
#include "read_rows.h"

struct mapped {
	struct cl_map map;
};
static const struct cf_row map_rows[] = { CL_MAP_ROW(offsetof(struct mapped, map)), CF_END };
static struct mapped mapped;

static void use_map(const char *text)
{
	struct cm_err err;

	cf_free(map_rows, &mapped);
	assert_int_equal(cf_parse(text, "f", map_rows, &mapped, NULL, NULL, &err), CM_OK);
	map = &mapped.map;
}

static int plain(void **state)
{
	(void)state;
	cf_free(map_rows, &mapped);
	map = NULL;
	known = NULL;
	csv_form = (struct cl_csv_form){ 0 };
	text_fields = share = 0;
	fields = 1;
	arrays = CL_ARRAYS_NONE;
	return 0;
}

/* ---- JSON ---- */

static void json_is_read_at_its_paths(void **state)
{
	(void)state;
	use_map("map = { v = { path = \"AM2301.Temperature\"; scale = 1.8; offset = 32.0; invalid = [ -127.0 ]; };"
		" d = { path = \"dev.id\"; }; };");
	NDJSON("d",
		"{\"dev\":{\"id\":\"a\"},\"AM2301\":{\"Temperature\":21.5,\"Humidity\":1}}\n"
		"{\"AM2301\":{\"Temperature\":\"-40\"},\"dev\":{\"id\":7}}\n"
		"{\"dev\":{\"id\":\"b\"},\"AM2301\":{\"Temperature\":-127.0}}\n"
		"{\"dev\":{\"id\":\"c\"},\"AM2301\":{\"Temperature\":\"21.5 C\"}}\n"
		"{\"dev\":{\"id\":\"e\"},\"AM2301\":null}\n"
		"{\"dev\":{\"id\":\"f\"},\"v\":1}\n"
		"{\"id\":\"g\",\"AM2301\":{\"Temperature\":0}}\n"
		"{\"dev\":{\"id\":\"h\"},\"AM2301\":{\"Temperature\":1,\"Temperature\":2}}\n"
		"{\"dev\":{\"id\":\"i\"},\"AM2301\":{\"Temperature\":[1]}}\n"
		"{\"dev\":{\"id\":\"j\"},\"AM2301\":{\"Temperature\":1,}}\n",
		CM_OK,
		"a=70.7@1;7=-40@2;"
		"!3 b field 'v' has a value that its map calls invalid;"
		"!4 c field 'v' is no number that its map can scale;"
		"!5 e no field 'v';!6 f no field 'v';!7 ? it cannot be told which device this is;"
		"!8 h a wanted key given twice;"
		"!9 i field 'v' is no string, number or boolean;"
		"!10 j not valid JSON at column 45;",
		NULL);
}

static void a_device_behind_a_fault_within_a_value_is_known(void **state)
{
	(void)state;
	use_map("map = { v = { path = \"a.b\"; }; };");
	NDJSON("d", "{\"a\":{\"b\":1,,},\"d\":\"x\"}\n", CM_OK, "!1 x not valid JSON at column 13;", NULL);
}

static void several_fields_may_have_one_place(void **state)
{
	(void)state;
	fields = 3;
	use_map("map = { v = { path = \"t.c\"; }; w = { path = \"t.c\"; scale = 1.8; offset = 32; }; };");
	NDJSON("d", "{\"d\":\"a\",\"t\":{\"c\":21.5},\"u\":1}\n", CM_OK, "a=21.5|70.7|1@1;", NULL);
	use_map("map = { v = { path = \"c\"; }; w = { path = \"c\"; scale = 1.8; offset = 32; }; };");
	CSV("d", "d,c,u\na,21.5,1\n", CM_OK, "a=21.5|70.7|1@2;", NULL);
}

static void a_map_of_arrays_is_of_each_number(void **state)
{
	(void)state;
	arrays = CL_ARRAYS_NUMBERS;
	use_map("map = { v = { path = \"x[0].y\"; scale = 0.1; invalid = [ 65535 ]; }; };");
	NDJSON("d",
		"{\"d\":\"a\",\"x\":[{\"y\":[3,10.0,-5]},{\"y\":9}]}\n{\"d\":\"b\",\"x\":[{\"y\":[3,65535]}]}\n"
		"{\"d\":\"c\",\"x\":{\"0\":{\"y\":3}}}\n",
		CM_OK, "a=0.3 1 -0.5@1;!2 b field 'v' has a value that its map calls invalid;c=0.3@3;", NULL);
	use_map("map = { v = { path = \"x\"; scale = 0.1; }; };");
	CSV("d", "d,x0,x1\na,3,10\n", CM_OK, "a=0.3 1@2;", NULL);
	CSV("d", "d,x\na,3 10\n", CM_OK, "a=0.3 1@2;", NULL);
}

static void a_field_that_the_map_lacks_is_as_without_one(void **state)
{
	const char *const category[] = { "1.1", "2" };
	struct cl_texts *categories;
	struct cm_err err;

	(void)state;
	assert_int_equal(cl_texts_new(category, 2, &categories, &err), CM_OK);
	use_map("map = { z = { path = \"a\"; }; };");
	known = categories;
	NDJSON("d", "{\"d\":\"a\",\"v\":2.0}\n{\"d\":\"b\",\"v\":1.1000000000000001}\n", CM_OK,
		"a=2@1;b=1.1@2;", NULL);
	/* And a scaled one has its shortest text, which a category is. */
	use_map("map = { v = { scale = 0.1; }; };");
	NDJSON("d", "{\"d\":\"a\",\"v\":20.0}\n{\"d\":\"b\",\"v\":11}\n", CM_OK, "a=2@1;b=1.1@2;", NULL);
	cl_texts_free(categories);
}

/* ---- CSV ---- */

static void csv_is_read_from_the_columns_of_a_map(void **state)
{
	(void)state;
	use_map("map = { v = { path = \"Temp. (C)\"; invalid = [ -127.0 ]; }; d = { path = \"Sensor ID\"; }; };");
	CSV("d", "Sensor ID,\"Temp. (C)\",v\na,21.50,9\nb,-127,9\n,1,9\n", CM_OK,
		"a=21.50@2;!3 b field 'v' has a value that its map calls invalid;!4 ? the device field is empty;",
		NULL);
	CSV("d", "d,v\na,1\n", CM_EDATA, "", "f:1: no column 'Temp. (C)' among the 2 of the header");
	CSV("d", "Temp. (C)\n1\n", CM_EDATA, "", "f:1: no column 'Sensor ID' among the 1 of the header");
	CSV("d", "Sensor ID,Temp. (C),Temp. (C)\n1,2,3\n", CM_EDATA, "",
		"f:1: the header names a column twice");
}

static void csv_has_the_delimiter_that_is_said(void **state)
{
	static const char delimiter[] = { ';', '|', '\t' };

	(void)state;
	for (size_t i = 0; i < sizeof delimiter; i++) {
		char text[] = "d;v;w\na;1,5;x\n\"b;\"\"c\";\"2;3\";y\nc;;z\nd;1\n e ; 4 ;u\n";

		csv_form.delimiter = delimiter[i];
		for (char *at = text; *at != '\0'; at++)
			if (*at == ';')
				*at = delimiter[i];
		fields = 2;
		share = 1000;
		if (delimiter[i] == ';')
			CSV("d", "d;v;w\na;1,5;x\n\"b;\"\"c\";\"2;3\";y\nc;;z\nd;1\n e ; 4 ;u\n", CM_OK,
				"a=1,5|x@2;b;\"c=2;3|y@3;c=|z@4;!5 d 2 columns, the header has 3;e=4|u@6;",
				NULL);
		else
			expect_from(CL_FORMAT_CSV, "d", text, sizeof text - 1, CM_OK, NULL, NULL);
	}
	fields = 1;
	csv_form.delimiter = '\t';
	CSV("d", "d\tv\na\t1\nb\t\nc\t \td\n\"e\tf\"\t2\n", CM_OK,
		"a=1@2;b=@3;!4 c 3 columns, the header has 2;e\tf=2@5;", NULL);
	CSV("d", "d,v\na,1\n", CM_EDATA, "",
		"f:1: no column 'v' among the 1 of the header; tabs separate columns, not commas (input.delimiter)");
	csv_form.delimiter = '|';
	CSV("d", "d;v\na;1\n", CM_EDATA, "",
		"f:1: no column 'v' among the 1 of the header; bars separate columns, not semicolons (input.delimiter)");
}

static void csv_may_have_decimal_commas(void **state)
{
	(void)state;
	csv_form = (struct cl_csv_form){ .delimiter = ';', .decimal_comma = true };
	CSV("d", "d;v\na;21,5\nb;-0,25\nc;7\nd;1.234,5\ne;21.5\nf;1,2,3\ng;\"1,5\"\nh;1,5e2\n", CM_OK,
		"a=21.5@2;b=-0.25@3;c=7@4;"
		"!5 d field 'v' has a point, and the file has decimal commas;"
		"!6 e field 'v' has a point, and the file has decimal commas;"
		"f=1.2.3@7;" /* which no query takes for a number, nor for three */
		"g=1.5@8;h=1.5e2@9;",
		NULL);
	arrays = CL_ARRAYS_NUMBERS;
	CSV("d", "d;v\na;1,5 2,5\nb;\"1,5;2,5\"\n", CM_OK, "a=1.5 2.5@2;b=1.5;2.5@3;", NULL);
	CSV("d", "d;v0;v1\na;1,5;2,5\n", CM_OK, "a=1.5 2.5@2;", NULL);
	arrays = CL_ARRAYS_NONE;
	use_map("map = { v = { scale = 100; invalid = [ -127.5 ]; unit = \"V\"; }; };");
	CSV("d", "d;v\na;4,35 V\nb;-127,50\nc;1.000,5\n", CM_OK,
		"a=435@2;!3 b field 'v' has a value that its map calls invalid;"
		"!4 c field 'v' has a point, and the file has decimal commas;",
		NULL);
}

static void texts_keep_their_commas_and_points(void **state)
{
	const char *const category[] = { "1,5", "2.5", "v1.2" };
	struct cl_texts *categories;
	struct cm_err err;

	(void)state;
	assert_int_equal(cl_texts_new(category, 3, &categories, &err), CM_OK);
	csv_form = (struct cl_csv_form){ .delimiter = ';', .decimal_comma = true };
	text_fields = 1;
	known = categories;
	CSV("d", "d;v\na;1,5\nb;2,5\nc;v1.2\nd;x, y\ne;1,2,3\nf;,\n", CM_OK,
		"a=1,5@2;b=2.5@3;c=v1.2@4;d=x, y@5;e=1,2,3@6;f=,@7;", NULL);
	/* The last field is a text, the first a number. */
	known = NULL;
	fields = 2;
	CSV("d", "d;v;w\na;1,5;v1.2\nb;1.5;x\n", CM_OK,
		"a=1.5|v1.2@2;!3 b field 'v' has a point, and the file has decimal commas;", NULL);
	cl_texts_free(categories);
}

static void comment_lines_are_skipped(void **state)
{
	static char hash[] = "#", slashes[] = "//";

	(void)state;
	csv_form.comment = hash;
	CSV("d", "# made by a logger\n#d,v\nd,v\n#a,1\nb,2\n \"#c\",3\n # e,4\n\"#\",5\n#", CM_OK,
		"b=2@5;#c=3@6;# e=4@7;#=5@8;", NULL);
	CSV("d", "#only\n", CM_EDATA, "", "f: empty: a header line is needed");
	/* They are no rows, neither numbered nor counted, whatever they hold. */
	CSV(NULL, "v\n1\n#\"\n2\n\n#\n3\n\n", CM_OK, "1=1@2;2=2@4;3=@5;4=3@7;", NULL);
	share = 20;
	CSV("d", "d,v\na,1\n#a,11111111111111111111111111111111\na,2\n", CM_OK, "a=1@2;a=2@4;", NULL);
	share = 0;
	csv_form.comment = slashes;
	CSV("d", "//\nd,v\n/a,1\n//b,2\n", CM_OK, "/a=1@3;", NULL);
	csv_form.comment = NULL;
	CSV("d", "d,v\n#a,1\n", CM_OK, "#a=1@2;", NULL);
}

static enum cm_rc check(
	char delimiter, bool comma, const char *comment, const char **which, struct cm_err *err)
{
	char copy[32];
	const struct cl_csv_form form = { delimiter, comma, comment ? copy : NULL };

	if (comment)
		(void)snprintf(copy, sizeof copy, "%s", comment);
	return cl_csv_form_check(&form, which, err);
}

static void forms_that_are_ambiguous_are_refused(void **state)
{
	static const struct {
		char delimiter;
		bool comma;
		const char *comment, *which, *said;
	} bad[] = {
		{ '\0', false, NULL, "delimiter", "delimiter is none of" },
		{ ' ', false, NULL, "delimiter", "delimiter is none of" },
		{ '.', false, NULL, "delimiter", "delimiter is none of" },
		{ '"', false, NULL, "delimiter", "delimiter is none of" },
		{ ',', true, NULL, "decimal_comma", "decimal_comma needs another delimiter than the comma" },
		{ ',', false, "", "comment", "begins no reading" },
		{ ',', false, "-", "comment", "begins no reading" },
		{ ',', false, "0", "comment", "begins no reading" },
		{ ',', false, "x", "comment", "begins no reading" },
		{ ',', false, " #", "comment", "begins no reading" },
		{ ',', false, "\"", "comment", "begins no reading" },
		{ ';', true, ",", "comment", "begins no reading" },
		{ ',', false, "#################", "comment", "begins no reading" },
		{ ';', false, ";", "comment", "contains the delimiter" },
		{ ';', false, "#;", "comment", "contains the delimiter" },
	};
	const char *which;
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(
			check(bad[i].delimiter, bad[i].comma, bad[i].comment, &which, &err), CM_ECONFIG);
		assert_string_equal(which, bad[i].which);
		assert_non_null(strstr(err.msg, bad[i].said));
	}
	assert_int_equal(check(',', false, NULL, &which, &err), CM_OK);
	assert_int_equal(check(';', true, "#", &which, &err), CM_OK);
	assert_int_equal(check('\t', true, "//", &which, &err), CM_OK);
	assert_int_equal(check('|', true, NULL, &which, &err), CM_OK);
	assert_int_equal(check(',', false, ";", &which, &err), CM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(json_is_read_at_its_paths, plain),
		cmocka_unit_test_setup(a_device_behind_a_fault_within_a_value_is_known, plain),
		cmocka_unit_test_setup(several_fields_may_have_one_place, plain),
		cmocka_unit_test_setup(a_map_of_arrays_is_of_each_number, plain),
		cmocka_unit_test_setup(a_field_that_the_map_lacks_is_as_without_one, plain),
		cmocka_unit_test_setup(csv_is_read_from_the_columns_of_a_map, plain),
		cmocka_unit_test_setup(csv_has_the_delimiter_that_is_said, plain),
		cmocka_unit_test_setup(csv_may_have_decimal_commas, plain),
		cmocka_unit_test_setup(texts_keep_their_commas_and_points, plain),
		cmocka_unit_test_setup(comment_lines_are_skipped, plain),
		cmocka_unit_test_setup_teardown(forms_that_are_ambiguous_are_refused, plain, plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
