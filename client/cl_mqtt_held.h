/* cl_mqtt_held.h - readings that came and that a round may ask for: bounded memory, wiped when they leave it.
 * No I/O, no clock.
 *
 * When a reading counts.  For a round of query Q a device's readings are those that
 *   - are among the device's newest `readings`,
 *   - came at most max_age before the round took its readings, and
 *   - came after the round of Q before this one took its own (two queries do not take from each other).
 * So a reading counts in at most one round of a query, and one that comes after a round has taken counts in
 * the next.  Nothing of it survives the process.
 *
 * Readings are private values: every one is overwritten when it is replaced, too old, or all is freed. */
#pragma once

#include "cm_buf.h"
#include "pr_limits.h"

struct cl_held_limits {
	uint64_t devices;
	uint64_t readings; /* of one device */
	uint64_t bytes;    /* of all, with what it takes to find them */
	int64_t max_age_ms;
};

struct cl_held;
/* NULL out of memory. */
struct cl_held *cl_held_new(const struct cl_held_limits *limits);
/* After every view was released. */
void cl_held_free(struct cl_held *h);

enum cl_held_said { CL_HELD_OK, CL_HELD_DEVICES, CL_HELD_MEMORY };
/* One more reading of the device with this pseudonym, at now_ms of a clock that never goes back.  The oldest
 * of the device's goes when it has too many.  DEVICES, MEMORY: at that limit; nothing has changed. */
CM_CHECK enum cl_held_said cl_held_add(struct cl_held *h, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const char *device, const uint8_t *line, size_t len, int64_t now_ms);
/* Forget what is too old.  Linear in what is held. */
void cl_held_expire(struct cl_held *h, int64_t now_ms);

/* Is there a reading that counts in the round `sequence` of this query? */
bool cl_held_any(const struct cl_held *h, const char *query, uint64_t sequence, int64_t now_ms);

/* All that count, as they are now.  They stay in memory until it is released, on the thread that also adds;
 * another thread may read them. */
struct cl_held_view;
/* For the round `sequence` of this query: what comes later counts in the next one.  Asked again for the same
 * round it gives the same readings and the newer ones.  NULL out of memory. */
struct cl_held_view *cl_held_take(struct cl_held *h, const char *query, uint64_t sequence, int64_t now_ms);
size_t cl_held_view_n(const struct cl_held_view *v);
struct cl_held_item {
	const char *device;
	const uint8_t *line;
	size_t len;
};
/* Readings of one device are neighbours; beyond that the order says nothing.  i < n. */
struct cl_held_item cl_held_view_at(const struct cl_held_view *v, size_t i);
/* NULL is fine. */
void cl_held_release(struct cl_held *h, struct cl_held_view *v);

struct cl_held_counts {
	uint64_t devices, readings, bytes; /* now */
	uint64_t replaced, expired;        /* so far: by newer ones of their device, by age */
};
void cl_held_counts(const struct cl_held *h, struct cl_held_counts *out);
