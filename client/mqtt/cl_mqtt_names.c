/* cl_mqtt_names.c - keeps names of devices in a tree that is in balance, whatever names a broker chooses. */
#define _GNU_SOURCE /* tdestroy, twalk_r */
#include "cl_mqtt_names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cl_devices.h"
#include "cl_mqtt_fields.h"
#include "cl_mqtt_reader.h"
#include "cm_text.h"

/* The tree's item. */
struct device {
	uint64_t fields; /* bit i: it has had field i */
	char name[];
};

struct cl_mqtt_names {
	struct cl_mqtt_reader *reader;
	void *tree;
	struct cl_mqtt_names_counts counts;
	struct cl_mqtt_names_field field[CL_MQTT_NAMES_FIELDS_MAX];
	size_t fields;
	struct cl_mqtt_names_fault fault[CL_MQTT_NAMES_FAULTS_MAX];
	size_t faults;
};

_Static_assert(CL_MQTT_NAMES_FIELDS_MAX <= 64, "a bit for each field");

struct cl_mqtt_names *cl_mqtt_names_new(const struct cl_mqtt_conf *conf)
{
	struct cl_mqtt_names *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->reader = cl_mqtt_reader_new(conf);
	if (!n->reader) {
		free(n);
		return NULL;
	}
	return n;
}

void cl_mqtt_names_free(struct cl_mqtt_names *n)
{
	if (!n)
		return;
	tdestroy(n->tree, free);
	for (size_t i = 0; i < n->fields; i++)
		free(n->field[i].name);
	for (size_t i = 0; i < n->faults; i++)
		free(n->fault[i].name);
	cl_mqtt_reader_free(n->reader);
	free(n);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct device *)a)->name, ((const struct device *)b)->name);
}

/* The device of this name, which is added if it is new.  NULL: there is no room for it. */
static struct device *find_or_add(struct cl_mqtt_names *n, const char *name)
{
	size_t size = strlen(name) + 1;
	struct device *d = malloc(sizeof *d + size), **at = NULL;

	if (!d)
		return NULL;
	d->fields = 0;
	memcpy(d->name, name, size);
	if (n->counts.names < CL_MQTT_NAMES_MAX)
		at = tsearch(d, &n->tree, by_name);
	else
		at = tfind(d, &n->tree, by_name);
	if (!at || *at != d) {
		free(d);
		return at ? *at : NULL;
	}
	n->counts.names++;
	return d;
}

/* ---- fields ---- */

struct noting {
	struct cl_mqtt_names *n;
	struct device *device;
};

/* The number of a field, which is added if it is new; CL_MQTT_NAMES_FIELDS_MAX: there is no room for it. */
static size_t field_of(struct cl_mqtt_names *n, const uint8_t *name, size_t len)
{
	size_t i = 0;

	while (i < n->fields && (strlen(n->field[i].name) != len || memcmp(n->field[i].name, name, len) != 0))
		i++;
	if (i < n->fields || i == CL_MQTT_NAMES_FIELDS_MAX || len > CL_MQTT_FIELD_MAX)
		return i < n->fields ? i : CL_MQTT_NAMES_FIELDS_MAX;
	n->field[i].name = strndup((const char *)name, len);
	if (!n->field[i].name)
		return CL_MQTT_NAMES_FIELDS_MAX;
	n->fields++;
	return i;
}

static void on_field(void *user, const uint8_t *field, size_t len, size_t key)
{
	const struct noting *t = user;
	size_t i = field_of(t->n, field, key);

	(void)len;
	if (i == CL_MQTT_NAMES_FIELDS_MAX || (t->device->fields >> i & 1) != 0)
		return;
	t->device->fields |= UINT64_C(1) << i;
	t->n->field[i].devices++;
}

/* ---- messages ---- */

static void add_fault(struct cl_mqtt_names *n, const char *name, const char *why)
{
	for (size_t i = 0; i < n->faults; i++)
		if (n->fault[i].why == why && strcmp(n->fault[i].name, name) == 0)
			return;
	if (n->faults == CL_MQTT_NAMES_FAULTS_MAX)
		return;
	n->fault[n->faults].why = why;
	n->fault[n->faults].name = strdup(name);
	n->faults += n->fault[n->faults].name != NULL;
}

/* Why a person's list shall not have this name; NULL if it may. */
static const char *fault_of(const char *name)
{
	const char *why = cl_devices_fault(name);

	return !why && !cm_text_is_printable(name) ? "it has characters that a terminal may obey or hide"
						   : why;
}

static void take(struct cl_mqtt_names *n, const struct cl_mqtt_reading *r)
{
	const char *why = fault_of(r->device);
	struct noting t = { .n = n };

	if (why) {
		n->counts.unlistable++;
		add_fault(n, r->device, why);
		return;
	}
	t.device = find_or_add(n, r->device);
	/* Without memory the fields of a device are not all counted; its name is there. */
	if (!t.device || cl_mqtt_fields_split(&r->line, on_field, &t) != CM_OK)
		n->counts.over += t.device == NULL;
}

void cl_mqtt_names_take(struct cl_mqtt_names *n, const struct cl_mqtt_message *m)
{
	struct cl_mqtt_reading r;
	enum cl_mqtt_fate fate;

	cl_mqtt_reading_init(&r);
	fate = cl_mqtt_reader_read(n->reader, m, &r);
	n->counts.messages++;
	n->counts.fate[fate]++;
	if (fate == CL_MQTT_KEPT)
		take(n, &r);
	else if (fate == CL_MQTT_NO_DEVICE)
		add_fault(n, m->topic,
			"a message of this topic names no device: its name is absent, empty, or longer than "
			"200 bytes");
	cl_mqtt_reading_fini(&r);
}

/* ---- results ---- */

struct cl_mqtt_names_counts cl_mqtt_names_counts(const struct cl_mqtt_names *n)
{
	return n->counts;
}

struct each {
	void (*fn)(void *user, const char *name);
	void *user;
};

static void on_node(const void *node, VISIT which, void *user)
{
	const struct each *e = user;

	/* A node with children is visited three times, and in the order of the tree the second time. */
	if (which == postorder || which == leaf)
		e->fn(e->user, (*(struct device *const *)node)->name);
}

void cl_mqtt_names_each(const struct cl_mqtt_names *n, void (*fn)(void *user, const char *name), void *user)
{
	struct each e = { fn, user };

	twalk_r(n->tree, on_node, &e);
}

const struct cl_mqtt_names_field *cl_mqtt_names_field(const struct cl_mqtt_names *n, size_t i)
{
	return i < n->fields ? &n->field[i] : NULL;
}

const struct cl_mqtt_names_fault *cl_mqtt_names_fault(const struct cl_mqtt_names *n, size_t i)
{
	return i < n->faults ? &n->fault[i] : NULL;
}
