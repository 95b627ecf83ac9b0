/* sh_tags.h - who has taken part in a round: tag -> digest, and devices per certificate.  In memory, no I/O.
 *
 * Tags and certificate tags are 16 bytes of an HMAC under a key of the round: uniform, so they are their own
 * hash, and meaningless once the key is gone. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

#define SH_TAG_LEN 16u

struct sh_tag {
	uint8_t tag[SH_TAG_LEN];
	uint8_t digest[SH_TAG_LEN]; /* first half of the submission's digest */
};

enum sh_seen {
	SH_SEEN_NEVER,
	SH_SEEN_SAME,  /* this tag with this digest */
	SH_SEEN_OTHER, /* this tag with another digest */
};

/* Open addressing, linear probing, room for `most` tags at 3/4 load from the start: 43 bytes a participant,
 * touched only as they come. */
struct sh_tags {
	struct sh_tag *slot;
	uint64_t slots, n, most;
};

CM_CHECK enum cm_rc sh_tags_init(struct sh_tags *t, uint64_t most, struct cm_err *err);
/* Wipes.  A zeroed struct is fine. */
void sh_tags_fini(struct sh_tags *t);
enum sh_seen sh_tags_find(const struct sh_tags *t, const struct sh_tag *tag);
/* Add a tag that was SH_SEEN_NEVER; the caller keeps n <= most. */
void sh_tags_add(struct sh_tags *t, const struct sh_tag *tag);

struct sh_count {
	uint8_t tag[SH_TAG_LEN];
	uint32_t n;
};

/* Devices accepted per certificate; grows. */
struct sh_counts {
	struct sh_count *slot;
	uint64_t slots, used;
};

void sh_counts_fini(struct sh_counts *c);
/* Where this certificate is counted, added with 0 when new; valid until the next call.  NULL: no memory. */
struct sh_count *sh_counts_at(struct sh_counts *c, const uint8_t tag[SH_TAG_LEN]);
