/* sh_segments.c - keeps buckets of a released round in memory, and reads some before they are asked for. */
#include "sh_segments.h"

#include <assert.h>

void sh_segments_init(struct sh_segments *a)
{
	for (size_t i = 0; i < SH_SEGMENTS; i++) {
		cm_buf_init(&a->segment[i].bytes, SIZE_MAX / 4);
		a->segment[i].bytes.secret = 1;
	}
}

void sh_segments_fini(struct sh_segments *a)
{
	for (size_t i = 0; i < SH_SEGMENTS; i++) {
		cm_buf_fini(&a->segment[i].bytes);
		a->segment[i].filled = false;
	}
}

struct sh_segment *sh_segments_find(struct sh_segments *a, uint32_t bucket)
{
	for (size_t i = 0; i < SH_SEGMENTS; i++)
		if (a->segment[i].filled && a->segment[i].bucket == bucket)
			return &a->segment[i];
	return NULL;
}

static bool is_near(const struct sh_segments *a, uint32_t bucket)
{
	return bucket >= a->pulled && bucket - a->pulled < SH_SEGMENTS;
}

/* Find a segment that holds none of the buckets near the one that is pulled.  There is always one, since
 * there are as many segments as such buckets. */
static struct sh_segment *segment_to_fill(struct sh_segments *a)
{
	struct sh_segment *s = a->segment;

	while (s->filled && is_near(a, s->bucket))
		s++;
	assert(s < a->segment + SH_SEGMENTS);
	return s;
}

/* Wipe and give back buckets that were pulled, or are no longer near, before another bucket is read. */
static void drop_far(struct sh_segments *a)
{
	for (size_t i = 0; i < SH_SEGMENTS; i++) {
		struct sh_segment *s = &a->segment[i];
		if (s->filled && !is_near(a, s->bucket)) {
			cm_buf_fini(&s->bytes);
			s->filled = false;
		}
	}
}

void sh_segments_pull(struct sh_segments *a, uint32_t bucket)
{
	a->is_pulled = true;
	a->pulled = bucket;
}

struct sh_segment *sh_segments_wanted(struct sh_segments *a, uint32_t buckets, size_t ahead_bytes)
{
	size_t ahead = 0;

	if (!a->is_pulled)
		return NULL;
	drop_far(a);
	for (uint32_t b = a->pulled; b < buckets && is_near(a, b); b++) {
		const struct sh_segment *there = sh_segments_find(a, b);
		if (there && b > a->pulled)
			ahead += there->bytes.len;
		if (there)
			continue;
		if (b > a->pulled + 1 && ahead >= ahead_bytes)
			return NULL;
		struct sh_segment *s = segment_to_fill(a);
		s->bucket = b;
		return s;
	}
	return NULL;
}
