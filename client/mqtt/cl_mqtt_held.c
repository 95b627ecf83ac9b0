/* cl_mqtt_held.c - keeps the held readings in a table of the listed devices, each with a ring of its newest
 * readings. */
#include "cl_mqtt_held.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_readings.h"
#include "cm_fault.h"
#include "cr_secret.h"

#define FREE_SLOT UINT32_MAX
/* What cl_held_store writes.  A device has its pseudonym, the length of its name and room for the longest
 * name, the number of its readings, and the time of writing.  A reading has its age at that time, its length
 * and the length of its field's name. */
#define NAME_AT     PR_PSEUDONYM_LEN
#define NUMBER_AT   (NAME_AT + 2 + CL_DEVICE_MAX)
#define WRITTEN_AT  (NUMBER_AT + 2)
#define STORED_AT   (WRITTEN_AT + 8)
#define STORED      16u
#define QUERIES_MAX 64u
#define NAME_MAX_   65u /* bytes of a query's name with its NUL */

/* Never changed after creation, so a view can be read while readings are added. */
struct reading {
	uint32_t users; /* references: from the ring and from views */
	uint32_t device_len, len, key;
	uint64_t number; /* from 1, in order of arrival */
	int64_t at_ms;
	uint8_t bytes[]; /* the device's name, NUL, and the line */
};

struct device {
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	/* room for limits.readings pointers; NULL before the device's first reading */
	struct reading **ring;
	uint32_t first, n;
	size_t bytes; /* bytes of the readings in the ring */
};

/* The newest round of a query took the readings numbered from..upto-1. The next round starts at `upto`. */
struct mark {
	char query[NAME_MAX_];
	struct cl_held_round round;
	uint64_t from, upto;
};

struct cl_held {
	struct cl_held_limits limits;
	struct device *device;
	uint32_t n;
	uint32_t *slot; /* hash table (open addressing) over pseudonyms, which are uniform; size a power of
			 * two */
	uint32_t slots;
	struct mark mark[QUERIES_MAX];
	size_t marks;
	uint64_t floor; /* first reading number that may be used for queries without a mark */
	uint64_t last;  /* number of the newest reading */
	struct cl_held_counts counts;
};

struct cl_held_view {
	size_t n;
	struct reading *reading[];
};

struct cl_held *cl_held_new(const struct cl_held_limits *limits)
{
	struct cl_held *h = calloc(1, sizeof *h);

	if (h) {
		h->limits = *limits;
		h->floor = 1;
	}
	return h;
}

static size_t reading_size(const struct reading *r)
{
	return sizeof *r + r->device_len + 1 + r->len;
}

/* How many of the bytes that one device may have this reading takes.  A field takes the bytes that it has
 * in the file, so the result is the same on every machine. */
static size_t cost(const struct cl_held *h, const struct reading *r)
{
	return h->limits.hold ? STORED + r->len : reading_size(r);
}

static void drop(struct cl_held *h, struct reading *r)
{
	size_t size = reading_size(r);

	if (--r->users > 0)
		return;
	h->counts.readings--;
	h->counts.bytes -= size;
	cr_wipe(r, size);
	free(r);
}

static struct reading **place(const struct cl_held *h, const struct device *d, uint32_t i)
{
	return &d->ring[(d->first + i) % h->limits.readings];
}

static void drop_oldest(struct cl_held *h, struct device *d)
{
	struct reading *r = *place(h, d, 0);

	d->bytes -= cost(h, r);
	drop(h, r);
	d->first = (uint32_t)((d->first + 1) % h->limits.readings);
	d->n--;
}

static void free_device(struct cl_held *h, struct device *d)
{
	while (d->n > 0)
		drop_oldest(h, d);
	free(d->ring);
	d->ring = NULL;
}

void cl_held_free(struct cl_held *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->n; i++)
		free_device(h, &h->device[i]);
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

enum cm_rc cl_held_list(struct cl_held *h, const struct cl_devices *devices, struct cm_err *err)
{
	uint32_t n = (uint32_t)cl_devices_n(devices), slots = 64;
	struct device *fresh, *old = h->device;
	uint32_t *slot;

	while (slots < 2 * n)
		slots *= 2;
	fresh = calloc(n > 0 ? n : 1, sizeof *fresh);
	slot = malloc(slots * sizeof *slot);
	if (!fresh || !slot) {
		free(fresh);
		free(slot);
		return cm_fail(err, CM_EINTERNAL, "out of memory for %u devices", n);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *known = h->n > 0 ? find(h, cl_devices_at(devices, i)) : NULL;

		memcpy(fresh[i].pseudonym, cl_devices_at(devices, i), PR_PSEUDONYM_LEN);
		if (known && *known != FREE_SLOT) {
			fresh[i] = old[*known];
			old[*known].ring = NULL; /* the new table now owns the ring */
			old[*known].n = 0;
		}
	}
	for (uint32_t i = 0; i < h->n; i++)
		free_device(h, &old[i]);
	free(old);
	free(h->slot);
	h->device = fresh;
	h->n = n;
	h->slot = slot;
	h->slots = slots;
	memset(slot, 0xff, slots * sizeof *slot);
	for (uint32_t i = 0; i < n; i++)
		*find(h, fresh[i].pseudonym) = i;
	return CM_OK;
}

bool cl_held_lists(const struct cl_held *h, const uint8_t pseudonym[PR_PSEUDONYM_LEN])
{
	return h->n > 0 && *find(h, pseudonym) != FREE_SLOT;
}

static struct reading *make_reading(struct cl_held *h, const struct cl_held_item *item, int64_t now_ms)
{
	size_t device_len = strlen(item->device);
	struct reading *r = malloc(sizeof *r + device_len + 1 + item->len);

	if (!r)
		return NULL;
	*r = (struct reading){ .users = 1,
		.device_len = (uint32_t)device_len,
		.len = (uint32_t)item->len,
		.key = (uint32_t)item->key };
	memcpy(r->bytes, item->device, device_len + 1);
	if (item->len > 0)
		memcpy(r->bytes + device_len + 1, item->line, item->len);
	r->at_ms = now_ms;
	h->counts.readings++;
	h->counts.bytes += reading_size(r);
	return r;
}

static const uint8_t *line_of(const struct reading *r)
{
	return r->bytes + r->device_len + 1;
}

/* Drop the earlier value of this field; the others keep their order. */
static void drop_field(struct cl_held *h, struct device *d, const struct cl_held_item *item)
{
	uint32_t i = 0;

	while (i < d->n) {
		const struct reading *r = *place(h, d, i);

		if (r->key == item->key && memcmp(line_of(r), item->line, r->key) == 0)
			break;
		i++;
	}
	if (i == d->n)
		return;
	for (struct reading *moved = *place(h, d, i); i > 0; i--) {
		*place(h, d, i) = *place(h, d, i - 1);
		*place(h, d, i - 1) = moved;
	}
	drop_oldest(h, d);
	h->counts.replaced++;
}

enum cl_held_said cl_held_add(struct cl_held *h, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const struct cl_held_item *item, int64_t now_ms)
{
	uint32_t at = h->n > 0 ? *find(h, pseudonym) : FREE_SLOT;
	size_t more = h->limits.hold ? STORED + item->len
				     : sizeof(struct reading) + strlen(item->device) + 1 + item->len;
	bool bounded = CM_CHECKED("client.mqtt.quota");
	struct device *d;
	struct reading *r;

	if (at == FREE_SLOT)
		return CL_HELD_UNLISTED;
	d = &h->device[at];
	if (bounded && more > h->limits.device_bytes)
		return CL_HELD_MEMORY;
	if (!d->ring)
		d->ring = calloc((size_t)h->limits.readings, sizeof(struct reading *));
	r = d->ring ? make_reading(h, item, now_ms) : NULL;
	if (!r)
		return CL_HELD_MEMORY;
	if (item->key > 0)
		drop_field(h, d, item);
	while (d->n == h->limits.readings || (bounded && d->bytes > h->limits.device_bytes - more)) {
		drop_oldest(h, d);
		h->counts.replaced++;
	}
	r->number = ++h->last;
	*place(h, d, d->n) = r;
	d->n++;
	d->bytes += more;
	return CL_HELD_OK;
}

static bool too_old(const struct cl_held *h, int64_t at_ms, int64_t now_ms)
{
	return now_ms - at_ms > h->limits.max_age_ms;
}

void cl_held_expire(struct cl_held *h, int64_t now_ms)
{
	for (uint32_t i = 0; i < h->n; i++) {
		struct device *d = &h->device[i];

		while (d->n > 0 && too_old(h, (*place(h, d, 0))->at_ms, now_ms)) {
			drop_oldest(h, d);
			h->counts.expired++;
		}
	}
}

/* ---- choosing the readings of a round ---- */

/* Index of the query's mark; h->marks if it has none. */
static size_t find_mark(const struct cl_held *h, const char *query)
{
	size_t i = 0;

	while (i < h->marks && strcmp(h->mark[i].query, query) != 0)
		i++;
	return i;
}

static bool is_same(const struct cl_held_round *a, const struct cl_held_round *b)
{
	return a->entry == b->entry && a->sequence == b->sequence &&
	       memcmp(a->plan, b->plan, PR_HASH_LEN) == 0;
}

/* Number of the first reading that may count in this round. */
static uint64_t from_of(const struct cl_held *h, const char *query, const struct cl_held_round *round)
{
	size_t at = find_mark(h, query);

	if (!CM_CHECKED("client.mqtt.once"))
		return 1;
	if (at == h->marks)
		return h->floor;
	return is_same(&h->mark[at].round, round) ? h->mark[at].from : h->mark[at].upto;
}

/* Make room for one more query.  Drops the mark of the query whose last round is oldest, and raises the
 * floor: then some readings count in no round, but none counts twice. */
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

static void set_mark(struct cl_held *h, const char *query, const struct cl_held_round *round, uint64_t from)
{
	size_t at = find_mark(h, query);
	struct mark *m = at < h->marks ? &h->mark[at] : new_mark(h);

	(void)snprintf(m->query, sizeof m->query, "%s", query);
	m->round = *round;
	m->from = from;
	m->upto = h->last + 1;
}

struct cl_held_view *cl_held_take(
	struct cl_held *h, const char *query, const struct cl_held_round *round, int64_t now_ms)
{
	uint64_t from = from_of(h, query, round);
	struct cl_held_view *v = malloc(sizeof *v + (size_t)h->counts.readings * sizeof(struct reading *));

	if (!v)
		return NULL;
	v->n = 0;
	for (uint32_t i = 0; i < h->n; i++)
		for (uint32_t k = 0; k < h->device[i].n; k++) {
			struct reading *r = *place(h, &h->device[i], k);

			if ((r->number < from && !h->limits.hold) || too_old(h, r->at_ms, now_ms))
				continue;
			r->users++;
			v->reading[v->n++] = r;
		}
	set_mark(h, query, round, from);
	return v;
}

size_t cl_held_view_n(const struct cl_held_view *v)
{
	return v->n;
}

struct cl_held_item cl_held_view_at(const struct cl_held_view *v, size_t i)
{
	const struct reading *r = v->reading[i];

	return (struct cl_held_item){ (const char *)r->bytes, line_of(r), r->len, r->key };
}

void cl_held_release(struct cl_held *h, struct cl_held_view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->n; i++)
		drop(h, v->reading[i]);
	free(v);
}

void cl_held_counts(const struct cl_held *h, struct cl_held_counts *out)
{
	*out = h->counts;
	out->devices = 0;
	for (uint32_t i = 0; i < h->n; i++)
		out->devices += h->device[i].n > 0;
}

/* ---- over restarts ---- */

size_t cl_held_devices(const struct cl_held *h)
{
	return h->n;
}

size_t cl_held_slot(const struct cl_held *h)
{
	return STORED_AT + (size_t)h->limits.device_bytes;
}

void cl_held_store(const struct cl_held *h, size_t i, int64_t now_ms, int64_t wall_ms, uint8_t *slot)
{
	const struct device *d = &h->device[i];
	uint8_t *at = slot + STORED_AT;

	memset(slot, 0, cl_held_slot(h));
	memcpy(slot, d->pseudonym, PR_PSEUDONYM_LEN);
	cm_put_le16(slot + NUMBER_AT, (uint16_t)d->n);
	cm_put_le64(slot + WRITTEN_AT, (uint64_t)wall_ms);
	for (uint32_t k = 0; k < d->n; k++) {
		const struct reading *r = *place(h, d, k);

		cm_put_le16(slot + NAME_AT, (uint16_t)r->device_len);
		memcpy(slot + NAME_AT + 2, r->bytes, r->device_len);
		cm_put_le64(at, (uint64_t)(now_ms - r->at_ms));
		cm_put_le32(at + 8, r->len);
		cm_put_le32(at + 12, r->key);
		memcpy(at + STORED, line_of(r), r->len);
		at += STORED + r->len;
	}
}

/* Read one stored reading and move *at behind it.  false: there is no further one. */
static bool stored_at(const uint8_t **at, const uint8_t *end, uint64_t *age_ms, struct cl_held_item *out)
{
	size_t left = (size_t)(end - *at);

	if (left < STORED)
		return false;
	*age_ms = cm_get_le64(*at);
	out->len = cm_get_le32(*at + 8);
	out->key = cm_get_le32(*at + 12);
	out->line = *at + STORED;
	if (out->len > left - STORED || out->key == 0 || out->key > out->len)
		return false;
	*at = out->line + out->len;
	return true;
}

enum cm_rc cl_held_restore(struct cl_held *h, const uint8_t *slot, size_t len, int64_t now_ms,
	int64_t wall_ms, struct cm_err *err)
{
	char device[CL_DEVICE_MAX + 1] = "";
	struct cl_held_item item = { .device = device };
	const uint8_t *at = slot + STORED_AT, *end = slot + len;
	enum cl_held_said said = CL_HELD_OK;
	uint16_t name = 0, n = 0;
	uint64_t age = 0, most = (uint64_t)h->limits.max_age_ms, since = 0;
	int64_t written;

	if (len >= STORED_AT) {
		name = cm_get_le16(slot + NAME_AT);
		n = cm_get_le16(slot + NUMBER_AT);
	}
	if (len < STORED_AT || name > CL_DEVICE_MAX)
		return cm_fail(err, CM_EDATA, "no readings of a device");
	memcpy(device, slot + NAME_AT + 2, name);
	written = (int64_t)cm_get_le64(slot + WRITTEN_AT);
	/* The clock may have been set back since: the readings are as old as they were then, at least. */
	if (wall_ms > written)
		since = (uint64_t)wall_ms - (uint64_t)written;
	for (uint16_t i = 0; i < n && said != CL_HELD_UNLISTED; i++) {
		if (!stored_at(&at, end, &age, &item))
			return cm_fail(err, CM_EDATA, "a reading without an end");
		if (age <= most && since <= most - age)
			said = cl_held_add(h, slot, &item, now_ms - (int64_t)(age + since));
	}
	cr_wipe(device, sizeof device);
	return CM_OK;
}
