/* cl_programs.h - the programs of this host, for the client: started before it is confined, asked in rounds
 * whose map is "program".
 *
 * Nothing that a program does ends the client, or moves the time at which a round's values are all there:
 * that follows from the round, the number of devices and the configuration (cl_slots.h). */
#pragma once

#include <stdatomic.h>

#include "cl_lane.h"
#include "cl_program_conf.h"

struct cl_programs;

/* Read and hash the programs, and start the spawner.  *out is NULL if none are configured.  Call it while
 * this process has one thread, and before nt_confine().  CM_ECONFIG: a program is not the one that was agreed
 * to, or the kernel does not isolate as configured; CM_EUNAVAIL: there is no spawner to be had. */
CM_CHECK enum cm_rc cl_programs_start(
	const struct cl_program_conf *conf, struct cl_programs **out, struct cm_err *err);
/* Ends the spawner.  NULL is fine. */
void cl_programs_stop(struct cl_programs *p);
/* What the kernel does not give to programs (cl_cell.h); only what programs.accept_without names. */
uint32_t cl_programs_lacks(const struct cl_programs *p);

/* Has the spawner ended?  It is not replaced, since a confined client cannot start one.  Nor does the client
 * end: a program could choose the moment, and the shuffler would see it.  NULL: false.
 * Call it on the thread that stops the programs, during a round as well. */
bool cl_programs_lost(struct cl_programs *p);

/* A round's devices.  What is called, is called on the thread of cl_programs_run. */
struct cl_program_round {
	const uint8_t *hash; /* of the program, CL_PROGRAM_HASH bytes */
	struct cl_lane_job job;
	double seconds;        /* of one device */
	uint64_t payload_size; /* that the round has, be its payload in the job or missing */
	int64_t start_ns;      /* monotonic: when the time begins */
	size_t devices;
	/* The numbers of a device, m floats and its label; NULL: it has no reading, and is computed with
	 * zeroes. */
	const uint32_t *(*reading)(void *user, size_t i);
	/* A device's d numbers, finite or not; NULL: it has none.  Once for every device. */
	void (*answer)(void *user, size_t i, const float *numbers);
	void *user;
	const atomic_bool *stop; /* end at once, with the devices that are left unanswered; NULL: never */
};
/* Nanoseconds from start_ns to the end that cl_programs_run waits for. */
int64_t cl_programs_time(
	const struct cl_program_conf *conf, size_t devices, double seconds, uint64_t payload_size);
/* Ask for every device, and return when their time is over; *end_ns: when that was: start_ns and
 * cl_programs_time, whatever programs did and however late this machine was (earlier only by `stop`).  p
 * NULL: nobody has an answer.  CM_EUNAVAIL: the spawner ended, and who was not answered before is NONE;
 * CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_programs_run(struct cl_programs *p, const struct cl_program_conf *conf,
	const struct cl_program_round *round, int64_t *end_ns, struct cm_err *err);
