/* cl_cell_calls.h - the system calls that a program may use (seccomp): a list of what is allowed.  Everything
 * else is "not implemented" (ENOSYS), which libraries expect of old kernels.
 *
 * Allowed: memory, clocks, waiting, its own signals, its limits as they are, random bytes, the descriptors it
 * has, and opening files to read, which Landlock restricts.  Not: sockets, processes and threads, signals to
 * others, other programs, tracing, users, mounts, keys, shared memory, files to be made or changed, locks. */
#pragma once

#include <linux/filter.h>

#include "cm_rc.h"

struct cl_calls {
	struct sock_fprog program; /* of a program: its one execveat waits for the spawner */
	struct sock_fprog spawner; /* of the spawner itself */
};
/* Make the filters.  waits: false: execveat is allowed, because this kernel cannot ask the spawner.
 * CM_EUNAVAIL; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_calls_make(bool waits, struct cl_calls *out, struct cm_err *err);
/* Confine this thread to a program's calls.  *listener: where its execveat is asked for; -1: nowhere.  false
 * with errno.  Safe after fork. */
bool cl_calls_confine(const struct cl_calls *c, bool waits, int *listener);
/* Confine the spawner.  false with errno. */
bool cl_calls_confine_spawner(const struct cl_calls *c);
/* Let the process behind the listener, which has something to read, run its program, and no other ever after:
 * closes the listener.  false: the process has ended. */
bool cl_calls_allow_one(int listener);
