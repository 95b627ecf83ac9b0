/* cl_mqtt_held.c - a table of devices, each with a ring of its newest readings. */
#include "cl_mqtt_held.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "cm_secret.h"

#define FREE_SLOT   UINT32_MAX
#define QUERIES_MAX 64u
#define NAME_MAX_   65u /* of a query, with its end */

/* Never changed once it is made, so that a view may be read while more come. */
struct reading {
	uint32_t users; /* the ring, and views */
	uint32_t device_len, len;
	uint64_t number; /* from 1, in the order of coming */
	int64_t at_ms;
	uint8_t bytes[]; /* device, NUL, line */
};

struct device {
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	struct reading **ring; /* limits.readings places */
	uint32_t first, n;
};

/* Readings numbered from..upto-1 and later are those of the query's newest round. */
struct mark {
	char query[NAME_MAX_];
	uint64_t sequence, from, upto;
};

struct cl_held {
	struct cl_held_limits limits;
	struct device *device;
	uint32_t n, cap;
	uint32_t *slot; /* open addressing over pseudonyms, which are uniform already; a power of two */
	uint32_t slots;
	struct mark mark[QUERIES_MAX];
	size_t marks;
	uint64_t floor; /* what queries without a mark may start from */
	uint64_t last;  /* number of the newest reading */
	int64_t last_ms;
	struct cl_held_counts counts;
};

struct cl_held_view {
	size_t n;
	struct reading *reading[];
};

struct cl_held *cl_held_new(const struct cl_held_limits *limits)
{
	struct cl_held *h = calloc(1, sizeof *h);

	if (h != NULL) {
		h->limits = *limits;
		h->floor = 1;
	}
	return h;
}

static size_t reading_size(const struct reading *r)
{
	return sizeof *r + r->device_len + 1 + r->len;
}

static void drop(struct cl_held *h, struct reading *r)
{
	size_t size = reading_size(r);

	if (--r->users > 0)
		return;
	h->counts.readings--;
	h->counts.bytes -= size;
	cm_wipe(r, size);
	free(r);
}

static size_t device_size(const struct cl_held *h)
{
	return sizeof(struct device) + (size_t)h->limits.readings * sizeof(struct reading *);
}

static struct reading **place(const struct cl_held *h, const struct device *d, uint32_t i)
{
	return &d->ring[(d->first + i) % h->limits.readings];
}

static void drop_oldest(struct cl_held *h, struct device *d)
{
	drop(h, *place(h, d, 0));
	d->first = (uint32_t)((d->first + 1) % h->limits.readings);
	d->n--;
}

static void free_device(struct cl_held *h, struct device *d)
{
	free(d->ring);
	h->counts.bytes -= device_size(h);
}

void cl_held_free(struct cl_held *h)
{
	if (h == NULL)
		return;
	for (uint32_t i = 0; i < h->n; i++) {
		while (h->device[i].n > 0)
			drop_oldest(h, &h->device[i]);
		free_device(h, &h->device[i]);
	}
	free(h->device);
	free(h->slot);
	free(h);
}

/* ---- the table ---- */

static uint32_t *find(const struct cl_held *h, const uint8_t pseudonym[PR_PSEUDONYM_LEN])
{
	uint32_t at = cm_get_le32(pseudonym) & (h->slots - 1);

	while (h->slot[at] != FREE_SLOT &&
		memcmp(h->device[h->slot[at]].pseudonym, pseudonym, PR_PSEUDONYM_LEN) != 0)
		at = (at + 1) & (h->slots - 1);
	return &h->slot[at];
}

static void fill_slots(struct cl_held *h)
{
	memset(h->slot, 0xff, h->slots * sizeof *h->slot);
	for (uint32_t i = 0; i < h->n; i++)
		*find(h, h->device[i].pseudonym) = i;
}

static bool grow(struct cl_held *h)
{
	uint32_t cap = h->cap == 0 ? 64 : h->cap * 2;
	uint32_t *slot = malloc((size_t)cap * 2 * sizeof *slot);
	struct device *device = slot != NULL ? realloc(h->device, cap * sizeof *device) : NULL;

	if (device == NULL) {
		free(slot);
		return false;
	}
	free(h->slot);
	h->slot = slot;
	h->slots = cap * 2;
	h->device = device;
	h->cap = cap;
	fill_slots(h);
	return true;
}

static bool fits(const struct cl_held *h, size_t more)
{
	return more <= h->limits.bytes && h->counts.bytes <= h->limits.bytes - more;
}

/* A place for one more device, or NULL out of memory. */
static struct device *add_device(struct cl_held *h, const uint8_t pseudonym[PR_PSEUDONYM_LEN])
{
	struct device *d;

	if (h->n == h->cap && !grow(h))
		return NULL;
	assert(h->device != NULL);
	d = &h->device[h->n];
	d->ring = calloc((size_t)h->limits.readings, sizeof(struct reading *));
	if (d->ring == NULL)
		return NULL;
	memcpy(d->pseudonym, pseudonym, PR_PSEUDONYM_LEN);
	d->first = d->n = 0;
	*find(h, pseudonym) = h->n++;
	h->counts.bytes += device_size(h);
	return d;
}

static struct reading *make_reading(
	struct cl_held *h, const char *device, const uint8_t *line, size_t len, int64_t now_ms)
{
	size_t device_len = strlen(device);
	struct reading *r = malloc(sizeof *r + device_len + 1 + len);

	if (r == NULL)
		return NULL;
	*r = (struct reading){ .users = 1, .device_len = (uint32_t)device_len, .len = (uint32_t)len };
	memcpy(r->bytes, device, device_len + 1);
	if (len > 0)
		memcpy(r->bytes + device_len + 1, line, len);
	r->at_ms = now_ms;
	h->counts.readings++;
	h->counts.bytes += reading_size(r);
	return r;
}

enum cl_held_said cl_held_add(struct cl_held *h, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const char *device, const uint8_t *line, size_t len, int64_t now_ms)
{
	uint32_t *slot = h->slots > 0 ? find(h, pseudonym) : NULL;
	struct device *d = slot != NULL && *slot != FREE_SLOT ? &h->device[*slot] : NULL;
	size_t more = sizeof(struct reading) + strlen(device) + 1 + len + (d == NULL ? device_size(h) : 0);
	struct reading *r;

	if (d == NULL && h->n >= h->limits.devices)
		return CL_HELD_DEVICES;
	/* A device at its limit gives up a reading for this one, and its room. */
	if (d != NULL && d->n == h->limits.readings)
		more -= more < reading_size(*place(h, d, 0)) ? more : reading_size(*place(h, d, 0));
	if (!fits(h, more))
		return CL_HELD_MEMORY;
	r = make_reading(h, device, line, len, now_ms);
	if (r == NULL)
		return CL_HELD_MEMORY;
	if (d == NULL)
		d = add_device(h, pseudonym);
	if (d == NULL) {
		drop(h, r);
		return CL_HELD_MEMORY;
	}
	if (d->n == h->limits.readings) {
		drop_oldest(h, d);
		h->counts.replaced++;
	}
	r->number = ++h->last;
	h->last_ms = now_ms;
	*place(h, d, d->n) = r;
	d->n++;
	return CL_HELD_OK;
}

static bool too_old(const struct cl_held *h, int64_t at_ms, int64_t now_ms)
{
	return now_ms - at_ms > h->limits.max_age_ms;
}

void cl_held_expire(struct cl_held *h, int64_t now_ms)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < h->n; i++) {
		struct device *d = &h->device[i];

		while (d->n > 0 && too_old(h, (*place(h, d, 0))->at_ms, now_ms)) {
			drop_oldest(h, d);
			h->counts.expired++;
		}
		if (d->n == 0) {
			free_device(h, d);
		} else {
			if (kept < i)
				h->device[kept] = *d;
			kept++;
		}
	}
	if (kept < h->n) {
		h->n = kept;
		fill_slots(h);
	}
}

/* ---- what a round may take ---- */

/* Index of its mark; h->marks without one. */
static size_t find_mark(const struct cl_held *h, const char *query)
{
	size_t i = 0;

	while (i < h->marks && strcmp(h->mark[i].query, query) != 0)
		i++;
	return i;
}

/* Number of the first reading that may count in this round. */
static uint64_t from_of(const struct cl_held *h, const char *query, uint64_t sequence)
{
	size_t at = find_mark(h, query);

	if (!CM_CHECKED("client.mqtt.once"))
		return 1;
	if (at == h->marks)
		return h->floor;
	return h->mark[at].sequence == sequence ? h->mark[at].from : h->mark[at].upto;
}

bool cl_held_any(const struct cl_held *h, const char *query, uint64_t sequence, int64_t now_ms)
{
	/* The newest is the last to leave. */
	return h->last >= from_of(h, query, sequence) && h->n > 0 && !too_old(h, h->last_ms, now_ms);
}

/* A place for one more query.  The one whose rounds are longest ago is forgotten, in a way that makes its
 * readings, and others, count too seldom rather than twice. */
static struct mark *new_mark(struct cl_held *h)
{
	struct mark *oldest = &h->mark[0];

	if (h->marks < QUERIES_MAX)
		return &h->mark[h->marks++];
	for (size_t i = 1; i < h->marks; i++)
		if (h->mark[i].upto < oldest->upto)
			oldest = &h->mark[i];
	if (oldest->upto > h->floor)
		h->floor = oldest->upto;
	return oldest;
}

static void set_mark(struct cl_held *h, const char *query, uint64_t sequence, uint64_t from)
{
	size_t at = find_mark(h, query);
	struct mark *m = at < h->marks ? &h->mark[at] : new_mark(h);

	(void)snprintf(m->query, sizeof m->query, "%s", query);
	m->sequence = sequence;
	m->from = from;
	m->upto = h->last + 1;
}

struct cl_held_view *cl_held_take(struct cl_held *h, const char *query, uint64_t sequence, int64_t now_ms)
{
	uint64_t from = from_of(h, query, sequence);
	struct cl_held_view *v = malloc(sizeof *v + (size_t)h->counts.readings * sizeof(struct reading *));

	if (v == NULL)
		return NULL;
	v->n = 0;
	for (uint32_t i = 0; i < h->n; i++)
		for (uint32_t k = 0; k < h->device[i].n; k++) {
			struct reading *r = *place(h, &h->device[i], k);

			if (r->number < from || too_old(h, r->at_ms, now_ms))
				continue;
			r->users++;
			v->reading[v->n++] = r;
		}
	set_mark(h, query, sequence, from);
	return v;
}

size_t cl_held_view_n(const struct cl_held_view *v)
{
	return v->n;
}

struct cl_held_item cl_held_view_at(const struct cl_held_view *v, size_t i)
{
	const struct reading *r = v->reading[i];

	return (struct cl_held_item){ (const char *)r->bytes, r->bytes + r->device_len + 1, r->len };
}

void cl_held_release(struct cl_held *h, struct cl_held_view *v)
{
	if (v == NULL)
		return;
	for (size_t i = 0; i < v->n; i++)
		drop(h, v->reading[i]);
	free(v);
}

void cl_held_counts(const struct cl_held *h, struct cl_held_counts *out)
{
	*out = h->counts;
	out->devices = h->n;
}
