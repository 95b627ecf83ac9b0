/* cl_cell_calls.h - the system calls that a program may use (seccomp): a list of what is allowed.  Every
 * other call fails with "not implemented" (ENOSYS), which libraries expect on old kernels.
 *
 * Allowed are memory, clocks, waiting, the process's own signals, reading its limits, random bytes, the
 * descriptors that it has, and opening files to read, which Landlock restricts.  Not allowed are sockets,
 * processes and threads, signals to others, other programs, tracing, users, mounts, keys, shared memory,
 * creating or changing files, and locks. */
#pragma once

#include <linux/filter.h>

#include "cm_rc.h"

struct cl_calls {
	/* a program's filter; it may call execveat once, if the spawner agrees */
	struct sock_fprog program;
	/* the filter of the spawner, which is the process that starts programs */
	struct sock_fprog spawner;
};
/* Make both filters.  waits: a program's execveat waits until the spawner allows it (cl_calls_allow_one).
 * Pass false for a kernel that cannot do so; execveat is then always allowed.  CM_EUNAVAIL: the kernel has
 * no filters; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_calls_make(bool waits, struct cl_calls *out, struct cm_err *err);
/* Confine this thread to a program's calls.  *listener: the descriptor at which its execveat waits for the
 * spawner; -1 if it need not wait.  Returns false with errno.  Safe after fork. */
bool cl_calls_confine(const struct cl_calls *c, bool waits, int *listener);
/* Confine this thread to the spawner's calls.  Returns false with errno. */
bool cl_calls_confine_spawner(const struct cl_calls *c);
/* Allow the execveat that waits at this listener, and close the listener, so that the process can start no
 * other program.  Call it when the listener is readable.  Returns false if the process has ended. */
bool cl_calls_allow_one(int listener);
