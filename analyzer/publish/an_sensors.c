/* an_sensors.c - names topics, and describes items as sensors (Home Assistant, "MQTT discovery"). */
#include "an_sensors.h"

#include <stdio.h>

#include "an_result.h"
#include "cm_oom.h"
#include "cm_text.h"

#define SHOWN_NAME_MAX 200u
#define SLUG_MAX       (4 * PR_TEXT_MAX + 1u)

/* Write a name so that it is safe in a topic, in an id and in a template.  Names have small letters,
 * digits, ".", "_" and "-" (rd_is_name); "DOT" in capitals stands for ".", so that "a.b" and "a_b" differ.
 * joined: a "_" follows the name, so "LINE" stands for the name's own "_". */
static void slug(const char *name, bool joined, char out[SLUG_MAX])
{
	size_t n = 0;

	for (; *name != '\0' && n + 5 < SLUG_MAX; name++) {
		const char *word = *name == '.' ? "DOT" : joined && *name == '_' ? "LINE" : NULL;

		if (word)
			n += (size_t)snprintf(out + n, SLUG_MAX - n, "%s", word);
		else
			out[n++] = *name;
	}
	out[n] = '\0';
}

static const char *population(const struct an_event *e)
{
	return e->r->descriptor.population;
}

static const char *query(const struct an_event *e)
{
	return e->r->descriptor.query.name;
}

void an_topic_state(const struct an_topics *t, const struct an_event *e, char out[AN_TOPIC_MAX])
{
	char of[SLUG_MAX], asked[SLUG_MAX];

	slug(population(e), false, of);
	slug(query(e), false, asked);
	(void)snprintf(out, AN_TOPIC_MAX, "%.160s/%s/%s", t->prefix, of, asked);
}

static size_t items(const struct an_event *e)
{
	return json_array_size(json_object_get(e->result, "items"));
}

size_t an_sensors(const struct an_topics *t, const struct an_event *e)
{
	if (*t->discovery == '\0')
		return 0;
	return items(e) < t->sensors ? items(e) : t->sensors;
}

/* Write a sensor's name: the query alone if it has one number; the query and the candidate's place in the
 * list for prefixes, because the candidates change from round to round; otherwise the query and the item's
 * label. */
static void name_of(const struct an_event *e, size_t i, char out[SHOWN_NAME_MAX])
{
	const json_t *item = json_array_get(json_object_get(e->result, "items"), i);
	const char *label = json_string_value(json_object_get(item, "label"));

	char whole[1024];

	if (e->r->descriptor.query.kind == QY_PREFIXES)
		(void)snprintf(whole, sizeof whole, "%s candidate %zu", query(e), i + 1);
	else if (!label || items(e) == 1)
		(void)snprintf(whole, sizeof whole, "%s", query(e));
	else
		(void)snprintf(whole, sizeof whole, "%s: %s", query(e), label);
	cm_text_copy(out, SHOWN_NAME_MAX, whole); /* this cuts at the end of a character */
}

char *an_sensor(const struct an_topics *t, const struct an_event *e, size_t i, char topic[AN_TOPIC_MAX])
{
	char of[SLUG_MAX], asked[SLUG_MAX], state[AN_TOPIC_MAX], name[SHOWN_NAME_MAX], id[2 * SLUG_MAX + 40],
		device[SLUG_MAX + 16];
	char value[160], attributes[160];
	json_t *doc;
	char *text;

	slug(population(e), true, of);
	slug(query(e), false, asked);
	an_topic_state(t, e, state);
	name_of(e, i, name);
	(void)snprintf(id, sizeof id, "tombola_%s_%s_%zu", of, asked, i);
	(void)snprintf(device, sizeof device, "tombola_%s", of);
	(void)snprintf(
		topic, AN_TOPIC_MAX, "%.100s/sensor/tombola_%s_%s/%zu/config", t->discovery, of, asked, i);
	/* `items` is in brackets, because a dict has a method of that name.  A round without an estimate
	 * has no items. */
	(void)snprintf(value, sizeof value,
		"{{ value_json['items'][%zu].value if value_json['items'] | length > %zu else None }}", i, i);
	(void)snprintf(attributes, sizeof attributes,
		"{{ (value_json['items'][%zu] if value_json['items'] | length > %zu else {}) | tojson }}", i,
		i);
	(void)cm_oom_happened();
	doc = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:[s], s:s, s:s}, s:{s:s, s:s}}", "name",
		name, "unique_id", id, "state_topic", state, "value_template", value, "json_attributes_topic",
		state, "json_attributes_template", attributes, "state_class", "measurement", "device",
		"identifiers", device, "name", population(e), "manufacturer", "Tombola", "origin", "name",
		"tombola", "sw", TOMBOLA_VERSION);
	text = an_json_text(doc, JSON_COMPACT);
	json_decref(doc);
	return text;
}
