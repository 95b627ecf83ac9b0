/* cl_programs.h - runs the host's programs for the client.  They are started before the client is confined,
 * and asked in rounds whose map is "program".
 *
 * Nothing that a program does ends the client, or changes the time at which all values of a round are
 * ready.  That time follows from the round, the number of devices and the configuration (cl_slots.h). */
#pragma once

#include <stdatomic.h>

#include "cl_lane.h"
#include "cl_program_conf.h"

struct cl_programs;

/* Read and hash the programs, and start the spawner.  *out is NULL if none are configured.  Call it while
 * this process has one thread, and before nt_confine().  CM_ECONFIG: a program is not the one that was
 * agreed to, or the kernel does not isolate as configured.  CM_EUNAVAIL: the spawner cannot be started. */
CM_CHECK enum cm_rc cl_programs_start(
	const struct cl_program_conf *conf, struct cl_programs **out, struct cm_err *err);
/* End the spawner.  Accepts NULL. */
void cl_programs_stop(struct cl_programs *p);
/* The bits (cl_cell.h) that the kernel does not provide to programs; programs.accept_without accepts all of
 * them. */
uint32_t cl_programs_lacks(const struct cl_programs *p);

/* Whether the spawner has ended.  It is not restarted, since a confined client cannot start one.  The
 * client does not end either: a program could choose the moment, and the shuffler would see it.  NULL:
 * false.  Call it on the thread that stops the programs, also during a round. */
bool cl_programs_lost(struct cl_programs *p);

/* The devices of a round.  The functions are called on the thread of cl_programs_run. */
struct cl_program_round {
	const uint8_t *hash; /* the program's hash, CL_PROGRAM_HASH bytes */
	struct cl_lane_job job;
	double seconds; /* time for one device */
	/* payload size that the descriptor states, whether or not the payload arrived */
	uint64_t payload_size;
	int64_t start_ns; /* monotonic time at which the first slot begins */
	size_t devices;
	/* Returns the numbers of device i: m floats and its label.  NULL: it has no reading, and the
	 * program is given zeros. */
	const uint32_t *(*reading)(void *user, size_t i);
	/* Takes the d numbers of device i, finite or not; NULL if it has none.  Called once for every
	 * device. */
	void (*answer)(void *user, size_t i, const float *numbers);
	void *user;
	/* when set, end at once and leave the other devices unanswered; NULL: never */
	const atomic_bool *stop;
};
/* Nanoseconds from start_ns to the end for which cl_programs_run waits. */
int64_t cl_programs_time(
	const struct cl_program_conf *conf, size_t devices, double seconds, uint64_t payload_size);
/* Ask for every device, and return when their time is over.  *end_ns: start_ns plus cl_programs_time,
 * whatever the programs did and however late this machine was; earlier only after `stop`.  p NULL: no
 * device has an answer.  CM_EUNAVAIL: the spawner ended, and the devices not answered before have no
 * answer.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_programs_run(struct cl_programs *p, const struct cl_program_conf *conf,
	const struct cl_program_round *round, int64_t *end_ns, struct cm_err *err);
