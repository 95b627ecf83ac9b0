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
	struct sock_fprog program; /* filter of a program; it may call execveat once, if the spawner agrees */
	struct sock_fprog spawner; /* filter of the spawner, the process that starts programs */
};
/* Make both filters.  waits: a program's execveat waits until the spawner allows it (cl_calls_allow_one);
 * false, for a kernel that cannot do so: execveat is always allowed.  CM_EUNAVAIL; CM_EINTERNAL: out of
 * memory. */
CM_CHECK enum cm_rc cl_calls_make(bool waits, struct cl_calls *out, struct cm_err *err);
/* Confine this thread to a program's calls.  *listener: descriptor at which its execveat waits for the
 * spawner; -1 if it need not wait.  Returns false with errno.  Safe after fork. */
bool cl_calls_confine(const struct cl_calls *c, bool waits, int *listener);
/* Confine the spawner.  Returns false with errno. */
bool cl_calls_confine_spawner(const struct cl_calls *c);
/* Allow the execveat that waits at this listener, and close the listener, so that the process can start no
 * other program.  Call it when the listener is readable.  Returns false if the process has ended. */
bool cl_calls_allow_one(int listener);
