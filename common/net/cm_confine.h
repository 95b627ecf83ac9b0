/* cm_confine.h - a running daemon gives up the system calls that none of ours needs (seccomp), and the means
 * to gain privileges (no_new_privs).
 *
 * A list of what is denied, not of what is allowed: libraries and the resolver's plug-ins choose their calls
 * anew with every version and host, and one that is refused by oversight would end a round that others have
 * reported to.  For the same reason a denied call fails with EPERM and kills nobody.
 *
 * Denied: other programs and processes (execve, fork, ptrace, ...), memory that is writable and executable,
 * or made executable later, sockets that are neither Unix's nor IP's nor the resolver's (netlink), other
 * users, mounts and namespaces, the kernel's modules, keys, clocks, BPF, io_uring and performance counters;
 * and every call of another architecture.  clone3 is "not implemented" (ENOSYS): its flags cannot be
 * filtered, and the C library then uses clone, which may make threads only.  The whole list: cm_confine.c.
 */
#pragma once

#include <stdbool.h>

#include "cm_log.h"
#include "cm_rc.h"

/* Confine this process for ever: all its threads and those to come.  To be called when the configuration is
 * read and before a peer is heard.  Says in one line of the log, at `level`, that it is so; a kernel that
 * refuses costs a warning and no more: nothing that Tombola promises rests on the filter, and a daemon that
 * did not start would lose the rounds that wait for it.  Builds with a sanitizer are not confined, which
 * need to trace themselves, and say that in the same place. */
void cm_confine(enum cm_level level);

/* The same in every build, and without a word.  Starts a process for some milliseconds, in which libseccomp
 * makes the filter.  CM_EUNAVAIL: the kernel refuses (the calls may be confined in part: no_new_privs comes
 * first), as it does when the process is confined already; CM_EINTERNAL: no memory, or a call that libseccomp
 * does not know. */
CM_CHECK enum cm_rc cm_confine_now(unsigned *denied, struct cm_err *err);
