/* test_computing.c - what a device computes before it answers, and the payload that this reads: in a plan
 * file, a plan and a descriptor. */
#include "golden_descriptor.h"

#include <stdio.h>

#include "golden.h"
#include "pl_load.h"
#include "pl_make.h"
#include "pl_plan.h"

static struct cm_buf with_payload, plain;

static int open_vectors(void **state)
{
	(void)state;
	golden_bytes("descriptor_payload", &with_payload);
	golden_bytes("descriptor_mean", &plain);
	return 0;
}

static int close_vectors(void **state)
{
	(void)state;
	cm_buf_fini(&with_payload);
	cm_buf_fini(&plain);
	return 0;
}

static struct rd_descriptor read_descriptor(void)
{
	struct rd_descriptor d;

	if (rd_descriptor_decode(with_payload.data, with_payload.len, &d, &refusal) != CM_OK)
		fail_msg("%s", refusal.msg);
	return d;
}

static void the_golden_descriptor_reads_as_its_json_says(void **state)
{
	struct rd_descriptor d = read_descriptor();
	struct cm_buf b;

	(void)state;
	assert_true(qy_computes(&d.computing));
	assert_string_equal(d.computing.map, "statistics");
	assert_int_equal(d.computing.parameters_len, 5);
	assert_memory_equal(d.computing.parameters, "\0\0\0\x40\xff", 5);
	assert_int_equal(d.computing.fields, 2);
	assert_string_equal(d.computing.field[1], "label");
	assert_int_equal(d.payload_max, 1048576);
	assert_int_equal(d.payload_size, 7120);
	assert_int_equal(d.payload_hash[31], 0xf0);
	cm_buf_init(&b, PR_DESCRIPTOR_MAX);
	assert_int_equal(rd_descriptor_encode(&d, &b, &refusal), CM_OK);
	assert_int_equal(b.len, with_payload.len);
	assert_memory_equal(b.data, with_payload.data, b.len);
	cm_buf_fini(&b);
	rd_descriptor_fini(&d);
}

#define REFUSED_HERE(field, statement) REFUSED_OF(with_payload, field, statement)

static void what_cannot_be_computed_is_refused(void **state)
{
	char *twice[] = { TEXT("x"), TEXT("x") };

	(void)state;
	REFUSED_HERE("computing.map", c.m->computing->map = TEXT(""));
	REFUSED_HERE("computing.map", c.m->computing->map = TEXT("two words"));
	REFUSED_HERE("map", c.m->computing->map = c.long_text);
	REFUSED_HERE("computing.program_hash", c.m->computing->program_hash = c.m->plan_hash);
	REFUSED_HERE("computing.program_hash", c.m->computing->map = TEXT("program"));
	REFUSED_HERE("program_hash", c.m->computing->program_hash.data = c.long_bytes;
		     c.m->computing->program_hash.len = 31);
	REFUSED_HERE("fields", c.m->computing->fields[0] = TEXT(""));
	REFUSED_HERE("computing.fields", c.m->computing->fields[1] = TEXT("a\x1b[2J"));
	REFUSED_HERE("computing.fields", c.m->computing->fields = twice);
	REFUSED_HERE("payload_max", c.m->computing = NULL);
	REFUSED_HERE("payload_max", c.m->payload_max = PR_PAYLOAD_MAX + 1);
	REFUSED_HERE("payload_hash", c.m->payload_hash.len = 0);
	REFUSED_HERE("payload_hash", c.m->payload_max = 0; c.m->payload_size = 0);
	REFUSED_HERE("payload_size", c.m->payload_size = 0);
	REFUSED_HERE("payload_size", c.m->payload_size = c.m->payload_max + 1);
	REFUSED_OF(plain, "payload_size", c.m->payload_size = 1);
}

static void parameters_and_fields_are_bounded(void **state)
{
	static uint8_t bytes[PR_COMPUTING_MAX + 1];
	static char name[PR_COMPUTING_FIELDS + 1][4];
	char *fields[PR_COMPUTING_FIELDS + 1];

	(void)state;
	for (unsigned i = 0; i <= PR_COMPUTING_FIELDS; i++) {
		(void)snprintf(name[i], sizeof name[i], "f%u", i);
		fields[i] = name[i];
	}
	for (int over = 0; over < 2; over++) {
		struct change c;

		begin(&c, &with_payload);
		c.m->computing->parameters =
			(ProtobufCBinaryData){ .data = bytes, .len = PR_COMPUTING_MAX + (unsigned)over };
		assert_int_equal(finish(&c), over ? CM_EPROTO : CM_OK);
		begin(&c, &with_payload);
		c.m->computing->fields = fields;
		c.m->computing->n_fields = PR_COMPUTING_FIELDS + (unsigned)over;
		assert_int_equal(finish(&c), over ? CM_EPROTO : CM_OK);
	}
}

#define DIFFERS(change)                                               \
	do {                                                          \
		struct qy_computing two = d.computing;                \
		change;                                               \
		assert_false(qy_computing_equal(&d.computing, &two)); \
	} while (0)

static void two_are_equal_only_if_everything_is(void **state)
{
	struct rd_descriptor d = read_descriptor();

	(void)state;
	assert_true(qy_computing_equal(&d.computing, &d.computing));
	DIFFERS(two.map[0] = 'x');
	DIFFERS(two.map[0] = '\0');
	DIFFERS(two.parameters[4]++);
	DIFFERS(two.parameters_len--);
	DIFFERS(two.parameters_len++);
	DIFFERS(two.field[1][0] = 'x');
	DIFFERS(two.fields--);
	DIFFERS(two.program[31] = 1);
	rd_descriptor_fini(&d);
}

/* ---- a plan file ---- */

#define HEAD   "epsilon0 = 2.0; min_reports = 50000; range = [-1.0, 1.0]; "
#define ROUND  "query = \"w\"; type = \"mean\"; " HEAD
#define VECTOR "query = \"w\"; type = \"vector\"; dimension = 8; protocol = \"rotated\"; " HEAD
#define GRADIENT                                                                                      \
	"compute = { map = \"linear-gradient\"; features = \"x\"; feature_count = 3; label = \"y\"; " \
	"classes = [\"a\", \"b\"]; }; "
#define PROGRAM                                                             \
	"compute = { map = \"program\"; columns = [\"x\"]; seconds = 2.0; " \
	"program = \"sha256:61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a\"; }; "

#define COLUMNS(list, more) "compute = { map = \"moments\"; columns = [" list "]; " more " };"

static enum cm_rc parse(const char *keys, struct pl_plan *p, struct cm_err *err)
{
	static char text[4096];

	(void)snprintf(text, sizeof text,
		"name = \"p\"; population = \"devices\"; budget = { epsilon = 8.0; delta = 1e-6; };\n"
		"rounds = ({ %s\n%s });\n",
		strstr(keys, "compute") ? VECTOR : ROUND, keys);
	return pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", NULL, p, err);
}

static void a_round_of_a_plan_repeats_and_waits_for_its_payload(void **state)
{
	static const uint8_t previous[PR_HASH_LEN];
	struct pl_plan p;
	struct rd_plan made;
	struct cm_buf b;
	struct cm_err err = { 0 };

	(void)state;
	if (parse("repeat = 3; payload = \"later\"; payload_max = 70000; " GRADIENT, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(p.rounds, 3);
	assert_string_equal(p.round[2].label, "w#3");
	assert_true(pl_opens_ms(&p.round[2], 77) == INT64_MIN);
	assert_string_equal(p.round[0].query.field, "w");
	cm_buf_init(&b, PR_PLAN_MAX);
	assert_int_equal(pl_plan_make(&p, 1, previous, NULL, &b, &err), CM_OK);
	assert_int_equal(rd_plan_decode(b.data, b.len, &made, &err), CM_OK);
	assert_int_equal(made.entries, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(made.entry[i].payload_max, 70000);
		assert_string_equal(made.entry[i].computing.map, "linear-gradient");
		assert_int_equal(made.entry[i].computing.fields, 2);
		assert_true(qy_computing_equal(&made.entry[i].computing, &p.round[i].computing));
	}
	rd_plan_fini(&made);
	cm_buf_fini(&b);
	pl_plan_fini(&p);
}

static void keys_of_a_payload_have_their_defaults(void **state)
{
	struct pl_plan p;
	struct cm_err err = { 0 };

	(void)state;
	if (parse("field = \"f\"; payload = \"later\"; " PROGRAM, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(p.rounds, 1);
	assert_int_equal(p.round[0].recurrence, 0);
	assert_int_equal(p.round[0].payload_max, 1048576);
	assert_int_equal(p.round[0].computing.program[31], 0x3a);
	assert_string_equal(p.round[0].query.field, "f");
	pl_plan_fini(&p);
	assert_int_equal(parse(PROGRAM, &p, &err), CM_OK);
	assert_int_equal(p.round[0].payload_max, 0);
	pl_plan_fini(&p);
}

static void faults_have_their_line_and_their_words(void **state)
{
	static const struct {
		const char *keys, *what;
	} bad[] = {
		{ "", "missing 'field'" },
		{ "field = \"f\"; payload = \"later\";", "'payload' needs 'compute'" },
		{ "field = \"f\"; payload_max = 5;", "'payload_max' is of a round with 'payload'" },
		{ GRADIENT "payload = \"now\";", "'payload' must be \"later\"" },
		{ GRADIENT "payload = \"later\"; payload_max = 16777217;", "(1 to 16777216)" },
		{ GRADIENT "payload = \"later\"; every = \"1h\"; count = 2;", "exclude each other" },
		{ "field = \"f\"; repeat = 2; every = \"1h\"; count = 2;", "exclude each other" },
		{ "field = \"f\"; repeat = 0;", "(1 to 1000)" },
		{ "field = \"f\"; repeat = 2; start = \"2026-12-01\";",
			"'start' is of a round with 'every'" },
		{ "compute = \"statistics\";", "group expected for 'compute' in 'rounds.[1]'" },
		{ "compute = { map = \"statistics\"; };", "'compute.features' or the other" },
		{ "compute = { };", "missing required key 'map'" },
		{ "compute = { map = \"a b\"; columns = [\"x\"]; };", "is no map" },
		{ COLUMNS("\"x\", \"x\"", ""), "field 'x' twice" },
		{ COLUMNS("\"\", \"x\"", ""), "'compute.columns' must be printable" },
		{ COLUMNS("\"x\"", "program = \"sha256:00\";"), "is of map \"program\"" },
		{ COLUMNS("\"x\"", "seconds = 1.0;"), "is of map \"program\"" },
		{ COLUMNS("\"x\"", "seconds = 0.049;"), "0.05" },
		{ COLUMNS("\"x\"", "features = \"x\"; feature_count = 1;"), "one of both" },
		{ COLUMNS("\"x\"", "part = \"some\";"), "\"all\" or \"mean\"" },
		{ COLUMNS("\"x\"", "clip = 2.0;"), "beyond the range" },
		{ COLUMNS("\"x\"", ""), "dimension is 8, and the map makes 3" },
		{ "compute = { map = \"moments\"; features = \"x\"; };",
			"'compute.feature_count' is said if" },
		{ "compute = { map = \"program\"; columns = [\"x\"]; };", "needs 'program'" },
		{ "compute = { map = \"program\"; columns = [\"x\"]; seconds = 1.0; program = \"sha256:00\"; "
		  "};",
			"64 hexadecimal digits" },
		{ COLUMNS("\"x\"", "feelds = 1;"), "unknown key 'feelds' in 'compute'" },
		{ GRADIENT, "needs payload = \"later\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct pl_plan p;
		struct cm_err err = { 0 };

		if (parse(bad[i].keys, &p, &err) != CM_ECONFIG)
			fail_msg("'%s' is accepted", bad[i].keys);
		pl_plan_fini(&p);
		if (!strstr(err.msg, bad[i].what) || strncmp(err.msg, "plan.conf:", 10) != 0)
			fail_msg("'%s': '%s'", bad[i].keys, err.msg);
	}
}

static void a_computing_takes_its_room_of_a_descriptor(void **state)
{
	static char text[301][201], *list[301];
	struct qy_query q = { .kind = QY_HISTOGRAM, .name = "q", .field = "f", .category = list };
	struct qy_computing c = { .map = "m", .parameters_len = PR_COMPUTING_MAX };
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 301; i++) {
		(void)snprintf(text[i], sizeof text[i], "%0200zu", i);
		list[i] = text[i];
	}
	/* 203 bytes each, of 65536 - 4096. */
	q.categories = 301;
	assert_int_equal(rd_descriptor_fits(&q, NULL, &err), CM_OK);
	assert_int_equal(rd_descriptor_fits(&q, &c, &err), CM_ECONFIG);
	q.categories = 290;
	assert_int_equal(rd_descriptor_fits(&q, &c, &err), CM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_golden_descriptor_reads_as_its_json_says),
		cmocka_unit_test(what_cannot_be_computed_is_refused),
		cmocka_unit_test(parameters_and_fields_are_bounded),
		cmocka_unit_test(two_are_equal_only_if_everything_is),
		cmocka_unit_test(a_round_of_a_plan_repeats_and_waits_for_its_payload),
		cmocka_unit_test(keys_of_a_payload_have_their_defaults),
		cmocka_unit_test(a_computing_takes_its_room_of_a_descriptor),
		cmocka_unit_test(faults_have_their_line_and_their_words),
	};

	return cmocka_run_group_tests(tests, open_vectors, close_vectors);
}
