/* cl_slots.h - schedules when a program computes the values of a round's devices.  No I/O, no clock.
 *
 * A program has the same time for every device.  Devices are computed in groups, and each group has a slot.
 * A slot lasts as long as the program's time for a device plus the time to send the payload to the group's
 * processes.  The latter follows from the payload's size, which is public.  Processes that are kept for
 * several devices are sent it before the first slot.
 *
 * There are more slots than groups: one spare slot for every 16 groups, and at least one.  If this machine
 * is late, perhaps because of a program, the remaining slots begin later and use the spare ones.  Devices
 * for which no slot is left have no answer.  The end is fixed before a program gets the first reading, and
 * nothing changes it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* time before the first slot, in which the program prepares for the round */
#define CL_SLOTS_BEGIN_NS 200000000

struct cl_slots {
	int64_t next_ns; /* time at which the next slot begins */
	int64_t length_ns;
	int64_t end_ns;     /* end of all slots, whether or not every device had one */
	size_t left, group; /* number of devices: without a slot so far; in a group */
};

/* What determines the slots. */
struct cl_slots_of {
	size_t devices, at_once; /* number of devices; size of a group, above 0 */
	double seconds;          /* time for one device, above 0 */
	uint64_t payload;        /* in bytes, at most 2^32 */
	bool kept;               /* processes are kept and get the payload once, before the first slot */
};
/* Bytes that are sent in a second, to all processes together.  This is far less than a pipe carries, since
 * the machine may be busy.  A process that gets them later than planned has less time for its first
 * answer. */
#define CL_SLOTS_FEED (64u << 20)

/* Plan the slots from start_ns on. */
void cl_slots_init(struct cl_slots *s, int64_t start_ns, const struct cl_slots_of *of);
/* The time that all slots take, in nanoseconds; INT64_MAX if it is more than a year. */
int64_t cl_slots_length(const struct cl_slots_of *of);
/* Begin the next slot at now_ns.  Returns its number of devices.  *end_ns: its end, which is when the next
 * one begins.  Returns 0 if no slot is left; *end_ns is then the end of all. A slot is late if it should
 * have begun more than an eighth of its length earlier. */
size_t cl_slots_take(struct cl_slots *s, int64_t now_ns, int64_t *end_ns);
/* The part of a slot that a program has.  The rest is for starting and ending processes. */
int64_t cl_slots_budget(int64_t length_ns);
/* The processor time that a device has in a slot, if `group` devices share this many processors.  It is so
 * short that each device gets it in time whatever the others do.  A device that needs more has no answer,
 * whatever they do. */
int64_t cl_slots_processor(int64_t length_ns, size_t group, unsigned processors);
