/* cl_mqtt_held.h - holds the recent readings of listed devices in memory, within a limit per device, and
 * selects those that a round uses.  No I/O, no clock.
 *
 * With `hold` it holds the last value of each field of a device, and a round uses all that arrived at most
 * max_age before it.  The rest of this comment is about readings without it.
 *
 * A round of query Q uses those readings of each device that
 * - are among its newest `readings`, as many as fit its memory,
 * - arrived at most max_age before the round took its readings, and
 * - arrived after the previous round of Q took its readings (queries do not affect each other).
 * All tries of one entry count as one round here: every try but the last is void.  Each recurrence of a query
 * is a round of its own.  So a reading counts in at most one answer to a query, and a reading that arrives
 * after a round took its readings counts in the next one.  Messages of other devices, and their number,
 * change nothing.
 *
 * Readings are private: each is overwritten when it is replaced, when it is too old, and when all are
 * freed. */
#pragma once

#include "cl_devices.h"
#include "cm_buf.h"

struct cl_held_limits {
	uint64_t readings; /* most readings of one device */
	/* Most bytes of one device's readings, in memory or, with `hold`, as cl_held_store writes them.
	 * All devices together use at most their number times this, and twice as much while a view
	 * exists. */
	uint64_t device_bytes;
	int64_t max_age_ms; /* milliseconds for which a reading is held */
	bool hold;          /* a reading is the value of one field, and replaces that field's earlier one */
};

struct cl_held;
/* Create it without devices.  NULL: out of memory. */
struct cl_held *cl_held_new(const struct cl_held_limits *limits);
/* Free it after every view was released. */
void cl_held_free(struct cl_held *h);
/* Replace the list of devices (copied): readings of devices that are no longer listed are wiped, the others
 * stay.  CM_EINTERNAL: out of memory, and nothing has changed. */
CM_CHECK enum cm_rc cl_held_list(struct cl_held *h, const struct cl_devices *devices, struct cm_err *err);

enum cl_held_said { CL_HELD_OK, CL_HELD_UNLISTED, CL_HELD_MEMORY };
struct cl_held_item {
	const char *device;
	const uint8_t *line;
	size_t len;
	/* with `hold`: how many bytes at the beginning of the line name the field; 0 without it */
	size_t key;
};
/* Add one reading (copied) of the device with this pseudonym, received at now_ms of a clock that nobody
 * sets and that goes on while the host sleeps.  The device's oldest readings are dropped when it exceeds
 * either limit.  UNLISTED: the device is not listed; MEMORY: the reading alone exceeds the device's limit,
 * or out of memory.  Nothing changes in these two cases. */
CM_CHECK enum cl_held_said cl_held_add(struct cl_held *h, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const struct cl_held_item *item, int64_t now_ms);
bool cl_held_lists(const struct cl_held *h, const uint8_t pseudonym[PR_PSEUDONYM_LEN]);
/* Drop readings that are too old.  The time is linear in the number of devices. */
void cl_held_expire(struct cl_held *h, int64_t now_ms);

/* The readings that a round uses.  They stay in memory until cl_held_release, called on the thread that adds
 * readings.  Any thread may read a view. */
struct cl_held_view;
/* Identifies a round of a query: by plan and entry, so that every try of an entry is the same round, or in
 * modes without entries by entry 0 and the sequence number. */
struct cl_held_round {
	uint8_t plan[PR_HASH_LEN];
	uint32_t entry;
	uint64_t sequence;
};
/* Take the readings for this round of this query; later ones count in the next round.  A second call for the
 * same round or its next try returns the same readings and newer ones.  NULL: out of memory. */
struct cl_held_view *cl_held_take(
	struct cl_held *h, const char *query, const struct cl_held_round *round, int64_t now_ms);
size_t cl_held_view_n(const struct cl_held_view *v);
/* The i-th reading, i < n.  Readings of one device are adjacent; otherwise the order carries no
 * information. */
struct cl_held_item cl_held_view_at(const struct cl_held_view *v, size_t i);
/* Accepts NULL. */
void cl_held_release(struct cl_held *h, struct cl_held_view *v);

/* ---- with `hold`: over restarts ---- */

/* Number of listed devices. */
size_t cl_held_devices(const struct cl_held *h);
/* How many bytes cl_held_store writes: as many for every device, whatever it reported. */
size_t cl_held_slot(const struct cl_held *h);
/* Write the readings of device i, with their ages, and the time of the wall clock. */
void cl_held_store(const struct cl_held *h, size_t i, int64_t now_ms, int64_t wall_ms, uint8_t *slot);
/* Add readings that cl_held_store wrote, unless their device is not listed or they are too old.  A reading is
 * as old as it was when it was written, and older by what the wall clock went forward since; a clock that
 * was set back makes none younger.  CM_EDATA: cl_held_store cannot have written these bytes. */
CM_CHECK enum cm_rc cl_held_restore(struct cl_held *h, const uint8_t *slot, size_t len, int64_t now_ms,
	int64_t wall_ms, struct cm_err *err);

struct cl_held_counts {
	/* now: devices with a reading, their readings, and the bytes of these readings */
	uint64_t devices, readings, bytes;
	/* since the start: readings that newer ones of their device replaced, and readings that were
	 * dropped for their age */
	uint64_t replaced, expired;
};
void cl_held_counts(const struct cl_held *h, struct cl_held_counts *out);
