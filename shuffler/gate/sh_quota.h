/* sh_quota.h - limits what one certificate may use of the shuffler, over all its connections.  No I/O, no
 * clock.
 *
 * A token bucket of frames fills at a fixed rate, up to the amount of SH_QUOTA_BURST_S seconds.  A frame
 * costs one token, a request without any effect costs SH_QUOTA_BARREN.  While the bucket is below zero the
 * certificate's connections are paused; other certificates have their own buckets.  A second quota limits
 * bytes that were accepted and are not durable yet. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SH_QUOTA_BURST_S 2
#define SH_QUOTA_BARREN  25u
/* Refused requests in a row that end a connection; an honest client has at most 4 in progress. */
#define SH_QUOTA_JUNK 16u

struct sh_quota_conf {
	uint32_t frames_per_second; /* 1..1,000,000 */
	size_t waiting_bytes;
};

/* The account of a certificate (by its key's hash) that is connected, or was connected within the last
 * SH_QUOTA_BURST_S. */
struct sh_holder;
struct sh_quota;

/* NULL out of memory. */
struct sh_quota *sh_quota_new(const struct sh_quota_conf *conf);
void sh_quota_free(struct sh_quota *q); /* accepts NULL; every holder must have left */

/* Open and close a connection of this certificate.  The bucket stays after the last connection until it is
 * full, so that connecting again does not refill it.  now_ms is monotonic, here and below.  NULL: out of
 * memory. */
struct sh_holder *sh_quota_join(struct sh_quota *q, const uint8_t key_hash[32], int64_t now_ms);
void sh_quota_leave(struct sh_quota *q, struct sh_holder *h, int64_t now_ms);

/* Take this many frames from the bucket. */
void sh_quota_take(struct sh_quota *q, struct sh_holder *h, uint32_t frames, int64_t now_ms);
/* Must so many refused requests in a row end their connection? */
bool sh_quota_is_junk(unsigned refused_in_a_row);
/* Add and remove bytes that wait to become durable. */
void sh_quota_hold(struct sh_holder *h, size_t bytes);
void sh_quota_free_bytes(struct sh_holder *h, size_t bytes);
/* Milliseconds until the certificate may continue: 0: now; -1: when some of its bytes are durable. */
int64_t sh_quota_wait_ms(struct sh_quota *q, struct sh_holder *h, int64_t now_ms);
