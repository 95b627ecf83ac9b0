/* test_an_sensors.c - topics, ids and names made of names: those of two queries differ, and none is cut
 * inside a character. */
#include "an_world.h"

#include <stdlib.h>
#include <string.h>

#include "an_sensors.h"

static struct an_round_state round_state;
static const struct an_topics topics = { "tombola", "homeassistant", 5 };

static struct an_event event_of(const char *population, const char *query, const char *label)
{
	struct an_event e = { .r = &round_state };

	(void)snprintf(round_state.descriptor.population, sizeof round_state.descriptor.population, "%s",
		population);
	(void)snprintf(
		round_state.descriptor.query.name, sizeof round_state.descriptor.query.name, "%s", query);
	e.result = json_pack("{s:[{s:s, s:f}, {s:s, s:f}]}", "items", "label", label, "value", 1.0, "label",
		"b", "value", 2.0);
	assert_non_null(e.result);
	return e;
}

/* "STATE ID TOPIC" of the first item. */
static void describe(const char *population, const char *query, char out[3 * AN_TOPIC_MAX])
{
	char state[AN_TOPIC_MAX], topic[AN_TOPIC_MAX];
	struct an_event e = event_of(population, query, "a");
	char *text = an_sensor(&topics, &e, 0, topic);
	json_t *doc = json_loads(text, 0, NULL);

	an_topic_state(&topics, &e, state);
	(void)snprintf(out, 3 * AN_TOPIC_MAX, "%s\n%s\n%s", state,
		json_string_value(json_object_get(doc, "unique_id")), topic);
	json_decref(doc);
	json_decref(e.result);
	free(text);
}

static void two_queries_share_no_topic_and_no_id(void **state)
{
	static const char *const row[][2] = { { "a", "b" }, { "a", "b.c" }, { "a", "b_c" }, { "a", "b-c" },
		{ "a_b", "c" }, { "a.b", "c" }, { "a", "b..c" }, { "a", "b.c_0" }, { "a_b.c", "d" },
		{ "a.b_c", "d" } };
	static char said[sizeof row / sizeof *row][3 * AN_TOPIC_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		char copy[2][3 * AN_TOPIC_MAX], *rest[2];

		describe(row[i][0], row[i][1], said[i]);
		for (size_t k = 0; k < i; k++) { /* line by line */
			memcpy(copy[0], said[i], sizeof copy[0]);
			memcpy(copy[1], said[k], sizeof copy[1]);
			const char *one = strtok_r(copy[0], "\n", &rest[0]),
				   *two = strtok_r(copy[1], "\n", &rest[1]);

			for (; one && two;
				one = strtok_r(NULL, "\n", &rest[0]), two = strtok_r(NULL, "\n", &rest[1]))
				if (strcmp(one, two) == 0)
					fail_msg("%s is of %s/%s and of %s/%s", one, row[i][0], row[i][1],
						row[k][0], row[k][1]);
		}
	}
	/* The names that most have stay what they are. */
	assert_string_equal(said[0], "tombola/a/b\ntombola_a_b_0\nhomeassistant/sensor/tombola_a_b/0/config");
}

static void a_long_label_is_cut_at_the_end_of_a_character(void **state)
{
	char label[400] = "";
	char topic[AN_TOPIC_MAX];

	(void)state;
	for (size_t n = 0; n < 150; n++) {
		struct an_event e = event_of("p", "q", label);
		char *text = an_sensor(&topics, &e, 0, topic);

		if (!text)
			fail_msg("%zu letters of two bytes", n);
		free(text);
		json_decref(e.result);
		memcpy(label + 2 * n, "\xc3\xa9", 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_queries_share_no_topic_and_no_id),
		cmocka_unit_test(a_long_label_is_cut_at_the_end_of_a_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
