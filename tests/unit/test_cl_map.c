/* test_cl_map.c - paths, the table of a map, and what becomes of a value.  What is expected was computed by
 * hand, or is what a person would say of the decimals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cl_line.h"
#include "cl_map.h"

/* ---- paths ---- */

struct found {
	char text[512];
};

static enum cm_rc on_found(void *user, size_t i, const struct cl_json_part *part, struct cm_err *err)
{
	struct found *f = user;
	size_t used = strlen(f->text);

	(void)err;
	(void)snprintf(f->text + used, sizeof f->text - used, "%u=%.*s;", (unsigned)i,
		(int)(part->end - part->value), (const char *)part->value);
	return CM_OK;
}

#define PATHS(json, want, rc, ...)                                                             \
	do {                                                                                   \
		const char *const text_[] = { __VA_ARGS__ };                                   \
		look(text_, sizeof text_ / sizeof text_[0], json, sizeof(json) - 1, want, rc); \
	} while (0)

static void look(
	const char *const *path, size_t n, const char *json, size_t len, const char *want, enum cm_rc rc)
{
	struct cl_path paths[8] = { 0 };
	struct found f = { .text = "" };
	const uint8_t *bad;
	struct cl_paths *p;
	struct cm_err err;

	for (size_t i = 0; i < n; i++) {
		/* A name is any text, and the others are paths. */
		paths[i].name = *path[i] == '=';
		paths[i].text = path[i] + paths[i].name;
		if (!paths[i].name)
			assert_int_equal(cl_path_check(path[i], &err), CM_OK);
	}
	assert_int_equal(cl_paths_new(paths, n, &p, &err), CM_OK);
	assert_int_equal(cl_paths_find(p, (const uint8_t *)json, (const uint8_t *)json + len, on_found, &f,
				 &bad, &err),
		rc);
	assert_string_equal(f.text, want);
	cl_paths_free(p);
}

static void paths_lead_through_objects_and_arrays(void **state)
{
	(void)state;
	/* Tasmota, Shelly, TTN. */
	PATHS("{\"Time\":\"2024-01-01T00:00:00\",\"AM2301\":{\"Temperature\":21.5,\"Humidity\":40},\"TempUnit\":\"C\"}",
		"1=40;", CM_OK, "AM2301.Temp", "AM2301.Humidity");
	PATHS("{\"temperature:0\":{\"id\":0,\"tC\":23.5}}", "0=23.5;", CM_OK, "temperature:0.tC");
	PATHS("{\"uplink_message\":{\"rx_metadata\":[{\"rssi\":-99},{\"rssi\":-120}],\"decoded_payload\":{\"t\":[1,[2,3]]}}}",
		"0=-99;1=-120;2=3;", CM_OK, "uplink_message.rx_metadata.0.rssi",
		"uplink_message.rx_metadata[1].rssi", "uplink_message.decoded_payload.t[1][1]");
	PATHS("{\"a\":[10,11,12,13,14,15,16,17,18,19,20]}", "1=12;0=20;", CM_OK, "a.10", "a[2]", "a.11");
	/* An object, too, may have the key "0". */
	PATHS("{\"a\":{\"0\":7},\"b\":[8]}", "0=7;1=8;", CM_OK, "a.0", "b[0]");
	/* Two paths to one value, and one through another's. */
	PATHS("{\"a\":{\"b\":{\"c\":1}}}", "0={\"b\":{\"c\":1}};1={\"c\":1};2={\"c\":1};3=1;", CM_OK, "a",
		"a.b", "a.b", "a.b.c");
	/* White space, and nothing where a path goes on in a scalar or another kind of container. */
	PATHS(" { \"a\" : { \"b\" :\t1 } } ", "0=1;", CM_OK, "a.b");
	PATHS("{\"a\":1,\"b\":\"{\\\"c\\\":2}\",\"c\":[[5]]}", "", CM_OK, "a.b", "b.c", "c.d");
}

static void a_key_may_hold_what_paths_are_made_of(void **state)
{
	(void)state;
	PATHS("{\"battery.level\":80,\"battery\":{\"level\":1},\"a[0]\":5,\"x\\\\y\":6,\"\\u00e9.t\":7}",
		"0=80;1=1;2=5;3=6;4=7;", CM_OK, "battery\\.level", "battery.level", "a\\[0\\]", "x\\\\y",
		"\xc3\xa9\\.t");
	/* A name is one key, whatever it holds. */
	PATHS("{\"battery.level\":80,\"battery\":{\"level\":1},\"[\":2}", "0=80;1=2;", CM_OK,
		"=battery.level", "=[");
}

static void a_key_that_stands_twice_is_told_twice(void **state)
{
	(void)state;
	PATHS("{\"a\":{\"b\":1,\"b\":2},\"a\":{\"b\":3}}", "0=1;0=2;0=3;", CM_OK, "a.b");
}

static void a_fault_ends_the_object_that_it_is_in(void **state)
{
	(void)state;
	PATHS("{\"a\":{\"b\":1,,},\"d\":2}", "0=1;1=2;", CM_EDATA, "a.b", "d");
	/* What no path leads through may hold anything. */
	PATHS("{\"x\":{\"b\":1,,},\"d\":2}", "0=2;", CM_OK, "d", "a.b");
	PATHS("{\"a\":{\"b\":1}", "", CM_EDATA, "a.b");
	PATHS("[1]", "", CM_EDATA, "a.b");
	PATHS("", "", CM_EDATA, "a.b");
}

static void what_is_no_path_is_said(void **state)
{
	static const char *const bad[] = { "", ".", "a.", ".a", "a..b", "a[", "a[]", "a[x]", "a[1", "a[1]b",
		"[0]", "a]", "a\\", "a\\b", "a[01]", "a[1234567]", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q" };
	char longest[CL_PATH_MAX + 2];
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(cl_path_check(bad[i], &err), CM_ECONFIG);
	assert_int_equal(cl_path_check("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p", &err), CM_OK);
	memset(longest, 'a', sizeof longest);
	longest[CL_PATH_MAX + 1] = '\0';
	assert_int_equal(cl_path_check(longest, &err), CM_ECONFIG);
	longest[CL_PATH_MAX] = '\0';
	assert_int_equal(cl_path_check(longest, &err), CM_OK);
}

/* ---- value * scale + offset ---- */

static void line(double value, double scale, double offset, const char *want)
{
	char text[CL_LINE_TEXT] = "";
	bool is = cl_line_text(value, scale, offset, text);

	assert_string_equal(is ? text : "beyond", want);
}

static void a_line_is_computed_with_decimals(void **state)
{
	(void)state;
	line(21.5, 1.8, 32, "70.7");
	line(-40, 1.8, 32, "-40");
	line(0, 1.8, 32, "32");
	/* With doubles 434.99999999999994, 0.30000000000000004, 3.3000000000000003, 0.30000000000000004. */
	line(4.35, 100, 0, "435");
	line(0.1, 3, 0, "0.3");
	line(1.1, 3, 0, "3.3");
	line(0.1, 1, 0.2, "0.3");
	line(1.1, 1.1, 0, "1.21");
	line(273.15, 1, -273.15, "0");
	line(-0.05, 10, 0, "-0.5");
	line(0.3, -1, 0.2, "-0.1");
	line(-1, -1, -1, "0");
	line(1e-5, 0.1, 1, "1.000001");
	line(-0.0, 1, 0, "0");
	line(999999, 1000000, 999999, "999999999999");
	line(123456789.012345, 1, 0.000655, "123456789.013");
}

static void a_line_is_rounded_once_to_the_even_one_of_two(void **state)
{
	(void)state;
	/* 2^53 + 1 is between 2^53 and 2^53 + 2, and 2^53 + 3 between that and 2^53 + 4. */
	line(9007199254740992, 1, 1, "9007199254740992");
	line(9007199254740992, 1, 3, "9007199254740996");
	/* The product is 6755399441055745.5; rounded to a double before the sum, it would give ...747. */
	line(4503599627370497, 1.5, 0.6, "6755399441055746");
	/* A little decides, however far away. */
	line(9007199254740992, 1, 1.0000000000000002, "9007199254740994");
	line(1e300, 1, 1e-300, "1.00000000000000e+300");
}

static void a_line_has_the_range_of_doubles(void **state)
{
	(void)state;
	line(1e308, 10, 0, "beyond");
	line(-1e308, 10, 0, "beyond");
	line(1e308, 10, -1e308, "beyond");
	line(1e308, 1, 1e307, "1.10000000000000e+308");
	line(5e-324, 0.1, 0, "0");
	line(5e-324, 5e-324, 5e-324, "4.94065645841247e-324");
	line(1.7976931348623157e308, 1.7976931348623157e308, 0, "beyond");
	line(1e-7, 1, 0, "1.00000000000000e-07");
}

/* ---- the table ---- */

struct conf {
	struct cl_map map;
};
static const struct cf_row rows[] = { CL_MAP_ROW(offsetof(struct conf, map)), CF_END };

static char faults[2048];

/* Read a map and check it; its faults as one text. */
static struct conf read_map(const char *text, enum cl_map_of of, const char *device)
{
	struct cm_err err = { .code = CM_OK }, first = { .code = CM_OK };
	struct conf c = { 0 };
	struct cf_file *file;
	FILE *out;

	memset(faults, 0, sizeof faults);
	out = fmemopen(faults, sizeof faults - 1, "w");
	assert_non_null(out);
	if (cf_parse(text, "f", rows, &c, &file, out, &err) == CM_OK)
		cl_map_check(&c.map, of, device, file, "map", out, &first);
	cf_file_free(file);
	assert_int_equal(fclose(out), 0);
	return c;
}

#define MAP(entry) "map = { t = { " entry " }; };"

static void accepted(const char *text, enum cl_map_of of, const char *device)
{
	struct conf c = read_map(text, of, device);

	assert_string_equal(faults, "");
	cf_free(rows, &c);
	assert_null(c.map.list.item);
}

static void refused(const char *text, enum cl_map_of of, const char *device, const char *said)
{
	struct conf c = read_map(text, of, device);

	if (!strstr(faults, said))
		print_error("%s\nlacks: %s\n", faults, said);
	assert_non_null(strstr(faults, said));
	assert_int_equal(strchr(faults, '\n') - faults, (long)strlen(faults) - 1);
	cf_free(rows, &c);
}

static void a_map_is_read(void **state)
{
	struct conf c =
		read_map("map = {\n temperature = { path = \"AM2301.Temperature\"; scale = 1.8; offset = 32; "
			 "invalid = [ -127.0, -9999.0 ]; };\n b = { field = \"battery.level\"; unit = \"%\"; "
			 "invalid = ( \"unavailable\", 255 ); }; };",
			CL_MAP_JSON, NULL);
	const struct cl_map_entry *t = cl_map_find(&c.map, "temperature"),
				  *b = cl_map_find(&c.map, "battery.level");

	(void)state;
	assert_string_equal(faults, "");
	assert_non_null(t);
	assert_non_null(b);
	assert_null(cl_map_find(&c.map, "b"));
	assert_null(cl_map_find(NULL, "b"));
	assert_true(t->scale > 1.79 && t->scale < 1.81 && t->offset > 31.9 && t->offset < 32.1);
	assert_int_equal(t->invalid.n, 2);
	assert_string_equal(b->invalid.item[0].text, "unavailable");
	assert_string_equal(cl_map_path(&c.map, "temperature").text, "AM2301.Temperature");
	assert_false(cl_map_path(&c.map, "temperature").name);
	/* Without a path, and without an entry, it is the field's own name, which is one key. */
	assert_string_equal(cl_map_path(&c.map, "battery.level").text, "battery.level");
	assert_true(cl_map_path(&c.map, "battery.level").name);
	assert_true(cl_map_path(&c.map, "a.b").name);
	assert_string_equal(cl_map_column(&c.map, "temperature"), "AM2301.Temperature");
	assert_string_equal(cl_map_column(NULL, "x"), "x");
	cf_free(rows, &c);
}

static void a_map_that_cannot_be_meant_is_refused_in_one_line(void **state)
{
	(void)state;
	accepted(MAP(""), CL_MAP_JSON, NULL);
	accepted(MAP("path = \"Temp. (C)\";"), CL_MAP_CSV, NULL);
	accepted(MAP("scale = -1; offset = -1e300;"), CL_MAP_VALUE, NULL);
	refused(MAP("scale = 0;"), CL_MAP_JSON, NULL,
		"f:1: scale of 't' in map: 0 would make every reading the offset");
	refused(MAP("scale = -0.0;"), CL_MAP_JSON, NULL, "f:1: scale of 't' in map: 0 would");
	refused(MAP("scale = 1e999;"), CL_MAP_JSON, NULL, "f:1: finite number expected for 'map.t.scale'");
	refused(MAP("scale = -1e999;"), CL_MAP_JSON, NULL, "finite number expected for 'map.t.scale'");
	refused(MAP("scale = nan;"), CL_MAP_JSON, NULL, "f:1: syntax error at or before 'map.t.scale'");
	refused(MAP("scale = inf;"), CL_MAP_JSON, NULL, "f:1: syntax error at or before 'map.t.scale'");
	refused(MAP("scale = \"nan\";"), CL_MAP_JSON, NULL, "finite number expected for 'map.t.scale'");
	refused(MAP("offset = 1e999;"), CL_MAP_JSON, NULL, "finite number expected for 'map.t.offset'");
	refused(MAP("invalid = [ 1e999 ];"), CL_MAP_JSON, NULL,
		"list of strings and finite numbers expected for 'map.t.invalid'");
	refused(MAP("invalid = -127;"), CL_MAP_JSON, NULL,
		"list of strings and finite numbers expected for 'map.t.invalid'");
	refused(MAP("invalid = [ ];"), CL_MAP_JSON, NULL, "number of items out of range for 'map.t.invalid'");
	refused(MAP("unit = \"\";"), CL_MAP_JSON, NULL, "unit of 't' in map: ");
	refused(MAP("unit = \" C\";"), CL_MAP_JSON, NULL, "unit of 't' in map: ");
	refused(MAP("unit = \"5C\";"), CL_MAP_JSON, NULL, "unit of 't' in map: ");
	refused(MAP("path = \"a..b\";"), CL_MAP_JSON, NULL, "f:1: path of 't' in map: 'a..b' is no path");
	refused(MAP("path = \"\";"), CL_MAP_CSV, NULL, "the name of a column is empty");
	refused(MAP("path = \"a\";"), CL_MAP_VALUE, NULL, "a payload that is the value alone has no paths");
	refused(MAP("field = \"\";"), CL_MAP_JSON, NULL, "field of 't' in map: the name is empty");
	refused("map = { t = { }; u = { field = \"t\"; }; };", CL_MAP_JSON, NULL,
		"field of 'u' in map: this field stands twice");
	refused(MAP("scael = 2;"), CL_MAP_JSON, NULL,
		"unknown key 'scael' in 'map.t' (did you mean 'scale'?)");
	refused("map = { t = 3; };", CL_MAP_JSON, NULL, "group expected for 'map.t'");
	refused("map = 3;", CL_MAP_JSON, NULL, "group of groups expected for 'map'");
	refused("map = { };", CL_MAP_JSON, NULL, "number of items out of range for 'map'");
}

static void who_a_device_is_no_other_field_may_say(void **state)
{
	(void)state;
	accepted("map = { id = { path = \"device.id\"; }; t = { path = \"device.t\"; }; };", CL_MAP_JSON,
		"id");
	refused("map = { id = { path = \"device.id\"; }; t = { path = \"device.id\"; }; };", CL_MAP_JSON,
		"id", "f:1: path of 't' in map: the device's name stands there, and no query may ask for it");
	refused("map = { t = { path = \"id\"; }; };", CL_MAP_CSV, "id", "the device's name stands there");
	/* However a path is written, it leads to the same place. */
	refused("map = { id = { path = \"ids.0\"; }; t = { path = \"ids[0]\"; }; };", CL_MAP_JSON, "id",
		"path of 't' in map: the device's name stands there");
	refused("map = { id = { path = \"x.ids[0]\"; }; t = { path = \"x.ids.0\"; }; };", CL_MAP_JSON, "id",
		"path of 't' in map: the device's name stands there");
	refused("map = { t = { path = \"a\\\\.b\"; }; };", CL_MAP_JSON, "a.b",
		"path of 't' in map: the device's name stands there");
	refused("map = { t = { field = \"ids[0]\"; path = \"ids.0\"; }; id = { path = \"ids[0]\"; }; };",
		CL_MAP_JSON, "id", "the device's name stands there");
	/* An array of numbers may hold the number that names the device. */
	refused("map = { id = { path = \"ids.0\"; }; t = { path = \"ids\"; }; };", CL_MAP_JSON, "id",
		"path of 't' in map: the device's name stands there");
	accepted("map = { id = { path = \"ids.0\"; }; t = { path = \"ids[1]\"; }; };", CL_MAP_JSON, "id");
	accepted("map = { id = { path = \"a.b\"; }; t = { path = \"a\\\\.b\"; }; };", CL_MAP_JSON, "id");
	accepted("map = { t = { path = \"id.x\"; }; };", CL_MAP_JSON, "id");
	accepted("map = { t = { path = \"ids.0\"; }; };", CL_MAP_CSV, "ids[0]");
	refused("map = { id = { path = \"x\"; scale = 2; }; };", CL_MAP_CSV, "id",
		"the field names the device");
	refused("map = { id = { invalid = [ 1 ]; }; };", CL_MAP_CSV, "id", "the field names the device");
}

static void other_name(const char *path, enum cl_map_of of, const char *want)
{
	char text[128], name[CL_PATH_MAX + 1] = "";
	struct conf c;

	(void)snprintf(text, sizeof text, "map = { id = { path = \"%s\"; }; };", path);
	c = read_map(text, of, "id");
	assert_string_equal(faults, "");
	assert_int_equal(cl_map_other_name(&c.map, of, "id", name), want != NULL);
	assert_string_equal(name, want ? want : "");
	assert_false(cl_map_other_name(&c.map, of, "dev", name));
	cf_free(rows, &c);
}

static void a_device_has_another_name_where_its_path_is_one_key(void **state)
{
	(void)state;
	other_name("dev", CL_MAP_JSON, "dev");
	other_name("dev\\\\.id", CL_MAP_JSON, "dev.id");
	other_name("dev.id", CL_MAP_CSV, "dev.id");
	/* No field that the map lacks leads into an object. */
	char name[CL_PATH_MAX + 1];
	struct conf c = read_map("map = { id = { path = \"dev.id\"; }; };", CL_MAP_JSON, "id");

	assert_false(cl_map_other_name(&c.map, CL_MAP_JSON, "id", name));
	cf_free(rows, &c);
}

/* ---- values ---- */

static void value(const char *entry, bool array, const char *from, enum cm_rc rc, const char *to)
{
	struct conf c = read_map(entry, CL_MAP_JSON, NULL);
	struct cm_buf text;

	assert_string_equal(faults, "");
	cm_buf_init(&text, 1000);
	assert_int_equal(cm_buf_put(&text, from, strlen(from) + 1), CM_OK);
	assert_int_equal(cl_map_text(cl_map_find(&c.map, "t"), array, &text), rc);
	assert_string_equal((const char *)text.data, to ? to : from);
	cm_buf_fini(&text);
	cf_free(rows, &c);
}

static void values_are_scaled_where_they_are_numbers(void **state)
{
	static const char fahrenheit[] = MAP("scale = 1.8; offset = 32;");

	(void)state;
	value(fahrenheit, false, "21.5", CM_OK, "70.7");
	value(fahrenheit, false, " -40.00 ", CM_OK, "-40");
	value(fahrenheit, false, "2.15e1", CM_OK, "70.7");
	value(fahrenheit, false, "21.5 C", CM_EDATA, NULL);
	value(fahrenheit, false, "21,5", CM_EDATA, NULL);
	value(fahrenheit, false, "0x15", CM_EDATA, NULL);
	value(fahrenheit, false, "nan", CM_EDATA, NULL);
	value(fahrenheit, false, "true", CM_EDATA, NULL);
	value(fahrenheit, false, "", CM_EDATA, NULL);
	value(fahrenheit, false, "1 2", CM_EDATA, NULL);
	value(fahrenheit, true, "0 10, 100;-40", CM_OK, "32 50 212 -40");
	value(fahrenheit, true, "0 10 x", CM_EDATA, NULL);
	value(MAP("scale = 10;"), false, "1e308", CM_EDATA, NULL);
	/* Nothing is said of numbers, so texts stay as they are. */
	value(MAP("path = \"a\";"), false, "21.50", CM_OK, "21.50");
	value(MAP("scale = 1; offset = 0;"), false, "21.50 C", CM_OK, "21.50 C");
}

static void what_is_invalid_is_missing(void **state)
{
	static const char probe[] =
		MAP("scale = 1.8; offset = 32; invalid = ( -127.0, -9999, 85, \"n/a\" );");

	(void)state;
	value(probe, false, "-127", CM_ENOINPUT, NULL);
	value(probe, false, "-127.00", CM_ENOINPUT, NULL);
	value(probe, false, "-1.27e2", CM_ENOINPUT, NULL);
	value(probe, false, "85", CM_ENOINPUT, NULL);
	value(probe, false, "n/a", CM_ENOINPUT, NULL);
	/* It is the value that is compared, and no reading: 53 is 85 * 1.8 - 100. */
	value(MAP("scale = 1.8; offset = -100; invalid = [ 53 ];"), false, "85", CM_OK, "53");
	value(probe, false, "-127.06", CM_OK, "-196.708");
	value(probe, false, "N/A", CM_EDATA, NULL);
	value(probe, true, "1 -127 2", CM_ENOINPUT, NULL);
	value(probe, true, "-127 x", CM_EDATA, NULL);
	/* A text field. */
	value(MAP("invalid = ( \"unknown\", 0 );"), false, "unknown", CM_ENOINPUT, NULL);
	value(MAP("invalid = ( \"unknown\", 0 );"), false, "0.0", CM_ENOINPUT, NULL);
	value(MAP("invalid = ( \"unknown\", 0 );"), false, "0 in stock", CM_OK, NULL);
	value(MAP("invalid = [ 0 ];"), false, "0007", CM_OK, NULL);
	/* A number that has no reading may be invalid all the same. */
	value(MAP("scale = 10; invalid = [ 1e308 ];"), false, "1e308", CM_ENOINPUT, NULL);
}

static void a_unit_is_removed_if_it_is_the_one_that_is_said(void **state)
{
	static const char celsius[] = MAP("unit = \"\xc2\xb0"
					  "C\"; invalid = [ -127 ];");

	(void)state;
	value(celsius, false,
		"21.5 \xc2\xb0"
		"C",
		CM_OK, "21.5");
	value(celsius, false,
		"21.5\xc2\xb0"
		"C ",
		CM_OK, "21.5");
	value(celsius, false, "21.50", CM_OK, "21.50");
	value(celsius, false,
		"-127 \xc2\xb0"
		"C",
		CM_ENOINPUT, NULL);
	value(celsius, false,
		"70.7 \xc2\xb0"
		"F",
		CM_EDATA, NULL);
	value(celsius, false,
		"21.5 \xc2\xb0"
		"CC",
		CM_EDATA, NULL);
	value(celsius, false,
		"\xc2\xb0"
		"C",
		CM_EDATA, NULL);
	value(celsius, true,
		"1\xc2\xb0"
		"C 2 \xc2\xb0"
		"C, 3",
		CM_OK, "1 2 3");
	value(MAP("unit = \"mV\"; scale = 0.001;"), false, "4350 mV", CM_OK, "4.35");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_lead_through_objects_and_arrays),
		cmocka_unit_test(a_key_may_hold_what_paths_are_made_of),
		cmocka_unit_test(a_key_that_stands_twice_is_told_twice),
		cmocka_unit_test(a_fault_ends_the_object_that_it_is_in),
		cmocka_unit_test(what_is_no_path_is_said),
		cmocka_unit_test(a_line_is_computed_with_decimals),
		cmocka_unit_test(a_line_is_rounded_once_to_the_even_one_of_two),
		cmocka_unit_test(a_line_has_the_range_of_doubles),
		cmocka_unit_test(a_map_is_read),
		cmocka_unit_test(a_map_that_cannot_be_meant_is_refused_in_one_line),
		cmocka_unit_test(who_a_device_is_no_other_field_may_say),
		cmocka_unit_test(a_device_has_another_name_where_its_path_is_one_key),
		cmocka_unit_test(values_are_scaled_where_they_are_numbers),
		cmocka_unit_test(what_is_invalid_is_missing),
		cmocka_unit_test(a_unit_is_removed_if_it_is_the_one_that_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
