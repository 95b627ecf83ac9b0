/* rd_left_out.h - the devices of a round that were not taken, counted by reason, as its manifest states them.
 *
 * Each reason follows from certificates, device lists, policies, ledgers and clocks, and from the order in
 * which clients came; none from a reading (doc/security.md, section 2). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reasons are numbered as in LeftOutWhy of tombola.proto.  A newer shuffler may state more than are known
 * here, up to this number. */
#define RD_LEFT_OUT 64u
/* Most devices of one reason; more are stated as so many. */
#define RD_LEFT_OUT_DEVICES_MAX UINT64_C(1000000000000)

struct rd_left_out {
	uint64_t devices[RD_LEFT_OUT]; /* devices[r]: number of devices left out for reason r, from 1 */
};

/* The reason of a client that declines, by the name of the setting that refused (cm_err.key).  NULL, and a
 * name that the table lacks: LEFT_OUT_DECLINED. */
unsigned rd_left_out_of(const char *key);
/* Whether the client declined; else the shuffler did not take the devices. */
bool rd_left_out_declined(unsigned why);
/* A word for JSON, logs and metrics: "max_share", "min_batch"; "other" for a reason that is not known. */
const char *rd_left_out_name(unsigned why);
/* What follows a number of devices: "were over max_share of the shuffler's policy". */
const char *rd_left_out_words(unsigned why);
/* All names, NULL after the last; and the place of a reason's name among them. */
extern const char *const rd_left_out_names[];
size_t rd_left_out_place(unsigned why);

/* "2,400 were over max_share of the shuffler's policy; 10 came after the deadline", the largest number first.
 * Empty if there are none.  Reasons for which there is no room are left away. */
void rd_left_out_text(const struct rd_left_out *l, char *out, size_t size);
