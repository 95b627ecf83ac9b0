/* nt_confine.h - a running daemon gives up the system calls that it never needs (seccomp), and the means to
 * gain privileges (no_new_privs).
 *
 * The filter lists what is denied, not what is allowed: libraries and the resolver's plug-ins use different
 * calls in every version and on every host, and a call denied by mistake would end a round to which devices
 * have reported.  For the same reason a denied call fails with EPERM and does not end the process.
 *
 * Denied: other programs and processes (execve, fork, ptrace, ...); memory that is writable and executable,
 * or made executable later; sockets other than Unix, IP and netlink (which the resolver needs); other users,
 * mounts and namespaces; the kernel's modules, keys, clocks, BPF, io_uring and performance counters; and
 * every call of another architecture. clone3 is "not implemented" (ENOSYS): its flags cannot be filtered, and
 * the C library then uses clone, which may only make threads. nt_confine.c has the whole list. */
#pragma once

#include <stdbool.h>

#include "cm_log.h"
#include "cm_rc.h"

/* Confine this process for ever, with its present and future threads.  Call it after the configuration was
 * read; before any peer is heard; and before uv_loop_init, since from version 1.45 on libuv creates an
 * io_uring with the loop where it may, and works without one only if the creation is refused.
 *
 * Logs one line, at `level`, that says so.  When the kernel refuses, logs a warning and goes on: no
 * guarantee of Tombola depends on the filter, and a daemon that did not start would lose the rounds that
 * wait for it.  Builds with a sanitizer must trace themselves, so they are not confined; the line in the
 * log then says that. */
void nt_confine(enum cm_level level);

/* The same in every build, and without a log line.  Starts a process for some milliseconds, in which
 * libseccomp makes the filter.  CM_EUNAVAIL: the kernel refuses, as it does when the process is confined
 * already (the process may then be confined in part: no_new_privs comes first).  CM_EINTERNAL: no memory,
 * or libseccomp does not know a call. */
CM_CHECK enum cm_rc nt_confine_now(unsigned *denied, struct cm_err *err);
