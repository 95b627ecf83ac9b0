/* cl_slots.h - when the devices of a round are computed.  No I/O, no clock.
 *
 * A program has the same time for every device.  Devices are taken some at a time; each such group has a slot
 * of that length.  There are more slots than groups: one of 16 is spare, and at least one.  When this machine
 * is late, be it by what a program does to it, the slots that are left begin later, into the spare ones; who
 * has no slot then has no answer.  The end is fixed before the first reading is given to a program, and
 * nothing moves it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CL_SLOTS_BEGIN_NS 200000000 /* before the first slot: the program gets ready for the round */

struct cl_slots {
	int64_t next_ns; /* when the next slot begins */
	int64_t length_ns;
	int64_t end_ns;     /* of all, whoever had a slot */
	size_t left, group; /* devices */
};

/* The slots of so many devices, from start_ns on.  seconds: of one device, above 0; at_once: of a group. */
void cl_slots_init(struct cl_slots *s, int64_t start_ns, size_t devices, size_t at_once, double seconds);
/* The time that all of it takes, in nanoseconds; INT64_MAX if it is more than a year. */
int64_t cl_slots_length(size_t devices, size_t at_once, double seconds);
/* The next slot at now_ns: how many devices it has and when it ends, which is when the next one begins.  0:
 * there is none left, and the end is that of all.  It is late when it should have begun more than an eighth
 * of its length earlier. */
size_t cl_slots_take(struct cl_slots *s, int64_t now_ns, int64_t *end_ns);
/* The part of a slot that a program has: the rest is for starting and ending processes. */
int64_t cl_slots_budget(int64_t length_ns);
