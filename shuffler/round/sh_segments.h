/* sh_segments.h - buckets of a released round in memory, in their order of release and without tags: the
 * one that is pulled, and the following ones, which are read meanwhile.  No I/O.
 *
 * Which bucket is read, and when, depends only on what was asked for and on the buckets' lengths, which the
 * manifest states. */
#pragma once

#include <stdbool.h>

#include "cm_buf.h"

#define SH_SEGMENTS 32u
struct sh_segment {
	struct cm_buf bytes;
	uint32_t bucket;
	bool filled; /* set by the caller, on the thread that pulls */
};
struct sh_segments {
	struct sh_segment segment[SH_SEGMENTS];
	uint32_t pulled; /* the bucket asked for last, if `is_pulled` */
	bool is_pulled;
};

void sh_segments_init(struct sh_segments *a);
/* Wipe what was read. */
void sh_segments_fini(struct sh_segments *a);
/* Note that the analyzer asks for this bucket. */
void sh_segments_pull(struct sh_segments *a, uint32_t bucket);
/* The segment that has this bucket, or NULL. */
struct sh_segment *sh_segments_find(struct sh_segments *a, uint32_t bucket);
/* The segment to fill now, in a round with this many buckets: first that of the bucket that was asked for,
 * then that of the next bucket, then further ones until the segments ahead have ahead_bytes.  NULL:
 * none. */
struct sh_segment *sh_segments_wanted(struct sh_segments *a, uint32_t buckets, size_t ahead_bytes);
