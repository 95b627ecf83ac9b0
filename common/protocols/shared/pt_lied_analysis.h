/* pt_lied_analysis.h - how many messages of a batch can be the liars', and what that leaves of its counts. */
#pragma once

#include "es_histogram.h"
#include "pt_liars.h"

/* A batch without what liars may have sent. */
struct pt_lied {
	uint64_t honest;   /* number of honest devices */
	uint64_t messages; /* most messages that can be the liars' */
	uint64_t rest;     /* messages that are left without them, 0 or more */
	double dummies;    /* number of dummies among the rest */
};

/* A batch of which every honest device and the shuffler sent a part: of `came` messages, those are the liars'
 * that are more than this part, but at most `each` of each liar.  For any row whose parameters begin as
 * pt_mixbins does. */
struct pt_lied pt_lied_mixbins(
	const struct pt_randomizer *p, uint64_t came, const struct pt_crowd *crowd, uint64_t each);
/* The same where a device sends one message, and there are no dummies. */
struct pt_lied pt_lied_single(uint64_t came, const struct pt_crowd *crowd);
/* The same for slot s of p, with the counts of its symbols. */
struct pt_lied pt_lied_slot(const struct pt_randomizer *p, const struct pt_slot *s, const uint64_t *counts,
	const struct pt_crowd *crowd);

/* The sum of n counts. */
uint64_t pt_lied_came(const uint64_t *counts, size_t n);
/* Set n items of a histogram among `joint`: each of the liars' messages may support any of them.  s: the law
 * of the honest devices' messages; its dummies are set here. */
CM_CHECK enum cm_rc pt_lied_supports(const struct pt_lied *lied, struct es_support s, const uint64_t *counts,
	size_t n, size_t joint, struct es_honest *out, struct cm_err *err);
/* The least number of devices that lied, if `came` messages of slot s came from so many: n - m of them fill
 * it, and m send it anything from nothing to all of their messages. */
uint64_t pt_lied_seen(
	const struct pt_randomizer *p, const struct pt_slot *s, uint64_t came, uint64_t devices);
/* How many of the `came` messages of a group can be the liars', where each of at least `sent` honest messages
 * is of the group with this chance, whatever its sender holds; wrong with the chance `tail`. */
uint64_t pt_lied_beyond(uint64_t came, uint64_t sent, double chance, double tail);
