/* test_maps.c - every map computes what the second implementation does (tests/data/maps.txt, written by
 * make-maps.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "computed.h"

#define NUMBERS 4096u

/* A case of the file: "key text" lines, ended by an empty one. */
struct given {
	struct qy_computing computing;
	struct qy_query q;
	uint8_t payload[1 << 15];
	size_t payload_len;
	float x[64];
	uint32_t m, label, n;
	long value[NUMBERS];
};

static uint32_t take_numbers(const char *text, long *out)
{
	char *end;
	uint32_t n = 0;

	for (long v = strtol(text, &end, 10); end != text; v = strtol(text, &end, 10)) {
		assert_true(n < NUMBERS);
		out[n++] = v;
		text = end;
	}
	return n;
}

static size_t take_hex(const char *text, uint8_t *out, size_t room)
{
	size_t n = strcspn(text, "\n") / 2;

	char digits[2 * (1 << 15) + 1];

	assert_true(n <= room && n <= 1 << 15);
	memcpy(digits, text, 2 * n);
	digits[2 * n] = '\0';
	assert_int_equal(cm_unhex(digits, out, n), CM_OK);
	return n;
}

static void take_line(struct given *g, const char *line)
{
	const char *text = strchr(line, ' ') + 1;
	char *end;
	long number[64];
	uint32_t categories[64], n;

	if (strncmp(line, "map ", 4) == 0) {
		memset(g, 0, sizeof *g);
		memcpy(g->computing.map, text, strcspn(text, "\n"));
	} else if (strncmp(line, "parameters ", 11) == 0) {
		g->computing.parameters_len =
			(uint32_t)take_hex(text, g->computing.parameters, sizeof g->computing.parameters);
		(void)strcpy(g->computing.field[0], "x");
		(void)strcpy(g->computing.field[1], g->computing.parameters[2] ? "y" : "");
		g->computing.fields = 1u + g->computing.parameters[2];
	} else if (strncmp(line, "vector ", 7) == 0) {
		n = (uint32_t)strtoul(text, &end, 10);
		g->q = computed_vector(n, strtod(end, NULL));
	} else if (strncmp(line, "columns ", 8) == 0) {
		n = take_numbers(text, number);
		for (uint32_t i = 0; i < n; i++)
			categories[i] = (uint32_t)number[i];
		g->q = computed_columns(categories, n);
	} else if (strncmp(line, "payload ", 8) == 0) {
		g->payload_len = *text == '-' ? 0 : take_hex(text, g->payload, sizeof g->payload);
	} else if (strncmp(line, "label ", 6) == 0) {
		g->label = (uint32_t)strtoul(text, NULL, 10);
	} else if (strncmp(line, "x ", 2) == 0) {
		for (double v = strtod(text, &end); end != text; v = strtod(text, &end)) {
			assert_true(v == (double)(float)v);
			g->x[g->m++] = (float)v;
			text = end;
		}
	} else {
		assert_memory_equal(line, "value ", 6);
		g->n = take_numbers(text, g->value);
	}
}

/* exp differs by an ulp between libraries, so a coordinate may be cut to the integer beside. */
static void check(struct given *g)
{
	struct cm_err err = { 0 };
	struct co_maker *m = NULL;
	uint32_t at[NUMBERS];

	assert_int_equal(qy_value_width(&g->q), g->n);
	if (co_maker_new(&g->computing, &g->q, g->payload, g->payload_len, &m, &err) != CM_OK)
		fail_msg("%s: %s", g->computing.map, err.msg);
	assert_true(co_value(m, g->x, g->label, at));
	for (uint32_t i = 0; i < g->n; i++) {
		long off = (long)at[i] - g->value[i], most = g->q.kind == QY_VECTOR ? 1 : 0;

		if (off > most || off < -most)
			fail_msg("%s: number %u is %ld, not %ld", g->computing.map, (unsigned)i, (long)at[i],
				g->value[i]);
	}
	co_maker_free(m);
	qy_query_fini(&g->q);
}

static void every_map_agrees_with_the_second_implementation(void **state)
{
	static struct given g;
	static char line[1 << 17];
	FILE *f = fopen(TEST_DATA "/maps.txt", "r");
	unsigned cases = 0, seen[8] = { 0 };

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		if (*line != '\n') {
			take_line(&g, line);
			continue;
		}
		for (size_t i = 0; co_map_at(i); i++)
			seen[i] += strcmp(co_map_at(i)->name, g.computing.map) == 0;
		check(&g);
		cases++;
	}
	(void)fclose(f);
	assert_true(cases > 300);
	for (size_t i = 0; co_map_at(i); i++)
		if (strcmp(co_map_at(i)->name, "program") != 0)
			assert_true(seen[i] > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_map_agrees_with_the_second_implementation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
