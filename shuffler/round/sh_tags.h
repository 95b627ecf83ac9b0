/* sh_tags.h - records in memory which devices took part in a round (tag -> digest), and how many devices each
 * certificate has.  No I/O.
 *
 * Tags of devices and certificates are 16 bytes of an HMAC under a key of the round.  They are uniform, so
 * they serve as their own hash, and they are meaningless once the key is destroyed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

#define SH_TAG_LEN 16u

struct sh_tag {
	uint8_t tag[SH_TAG_LEN];
	uint8_t digest[SH_TAG_LEN]; /* sh_vault_digest of the device's submission */
};

/* Is it all zero?  Zeros mark an empty place of the table: in practice no HMAC is all zero, and sh_tags_add
 * refuses such a tag. */
bool sh_tag_is_none(const uint8_t tag[SH_TAG_LEN]);

enum sh_seen {
	SH_SEEN_NEVER,
	SH_SEEN_SAME,  /* this tag with this digest was added before */
	SH_SEEN_OTHER, /* this tag was added with another digest */
};

/* Hash table with linear probing, sized at the start for `most` tags at 3/4 load: 43 bytes per participant,
 * touched only as tags are added. */
struct sh_tags {
	struct sh_tag *slot;
	uint64_t slots, n, most;
};

CM_CHECK enum cm_rc sh_tags_init(struct sh_tags *t, uint64_t most, struct cm_err *err);
/* Wipe and free; accepts a zeroed struct. */
void sh_tags_fini(struct sh_tags *t);
/* Fetch the memory that a sh_tags_find of this tag will read soon; most of its time would be spent waiting
 * for that. */
void sh_tags_expect(const struct sh_tags *t, const uint8_t tag[SH_TAG_LEN]);
enum sh_seen sh_tags_find(const struct sh_tags *t, const struct sh_tag *tag);
/* Add a tag for which sh_tags_find returned SH_SEEN_NEVER; the caller keeps n <= most. */
void sh_tags_add(struct sh_tags *t, const struct sh_tag *tag);

struct sh_count {
	uint8_t tag[SH_TAG_LEN];
	uint32_t n;
};

/* Devices accepted per certificate; the table grows. */
struct sh_counts {
	struct sh_count *slot;
	uint64_t slots, used;
};

void sh_counts_fini(struct sh_counts *c);
/* The count of this certificate, added as 0 if new; valid until the next call.  NULL: out of memory. */
struct sh_count *sh_counts_at(struct sh_counts *c, const uint8_t tag[SH_TAG_LEN]);
/* The same, but NULL for a certificate that was never added. */
struct sh_count *sh_counts_find(const struct sh_counts *c, const uint8_t tag[SH_TAG_LEN]);
