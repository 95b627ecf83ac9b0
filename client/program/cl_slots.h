/* cl_slots.h - schedules when a program computes the values of a round's devices.  No I/O, no clock.
 *
 * A program has the same time for every device.  Devices are computed in groups, and each group has a slot.
 * A slot lasts as long as the program's time for a device, and the time to feed the group's processes the
 * payload; the latter is fixed by the payload's size, which is public.  Processes that are kept are fed
 * before the first slot.
 *
 * There are more slots than groups: one of 16 is spare, and at least one.  If this machine is late, perhaps
 * because of a program, the remaining slots begin later and use the spare ones.  Devices for which no slot
 * is left have no answer.  The end is fixed before a program gets the first reading, and nothing moves it. */
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

/* What fixes them. */
struct cl_slots_of {
	size_t devices, at_once; /* in all; of a group, above 0 */
	double seconds;          /* of one device, above 0 */
	uint64_t payload;        /* bytes, at most 2^32 */
	bool kept;               /* processes are fed once, before the first slot */
};
/* Bytes that are fed in a second, to all processes together: far below what a pipe carries, since a machine
 * may be busy.  Whoever is fed later than that has less time for its first answer. */
#define CL_SLOTS_FEED (64u << 20)

/* The slots from start_ns on. */
void cl_slots_init(struct cl_slots *s, int64_t start_ns, const struct cl_slots_of *of);
/* The time that all of it takes, in nanoseconds; INT64_MAX if it is more than a year. */
int64_t cl_slots_length(const struct cl_slots_of *of);
/* The next slot at now_ns: how many devices it has and when it ends, which is when the next one begins.  0:
 * there is none left, and the end is that of all.  It is late when it should have begun more than an eighth
 * of its length earlier. */
size_t cl_slots_take(struct cl_slots *s, int64_t now_ns, int64_t *end_ns);
/* The part of a slot that a program has: the rest is for starting and ending processes. */
int64_t cl_slots_budget(int64_t length_ns);
/* The processor time in it that a device has, of `group` devices at once on so many processors: so little
 * that each gets it in time whatever the others do, and who needs more has no answer whatever they do. */
int64_t cl_slots_processor(int64_t length_ns, size_t group, unsigned processors);
