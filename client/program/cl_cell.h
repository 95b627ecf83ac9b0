/* cl_cell.h - the cell in which programs run: what a process gives up before somebody else's program begins
 * in it.
 *
 * Three processes take one step each:
 *   1.  cl_cell_clone: the client starts its spawner in new namespaces: network, mounts (all of them
 *      read-only), processes, IPC, host name; and users, unless the client runs as root.
 *   2.  cl_cell_enter: the spawner becomes another user if it is root, and from then on may read no files
 *   except system
 *      libraries and the interpreters of scripts (Landlock).
 *   3.  cl_cell_exec: a child of the spawner gives up everything except the system calls that computing
 *   needs,
 *      gets its limits, and becomes the program.  It can create no process or thread, and run no second
 *      program.
 *
 * Steps 1 and 2 may fail in part, because the kernel or the service manager does not allow them.  They
 * report what is lacking, and the client decides whether to accept that (programs.accept_without).  Step 3
 * never leaves anything out. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cm_rc.h"

/* What keeps the program of one device from reading another device's data, as bits.  A host may lack some
 * of them.  client.conf accepts the lack of each by its name (programs.accept_without); doc/computing.md
 * says what a program can do without it. */
#define CL_CELL_NAMESPACES 1u /* the program has its own network, mounts and processes */
#define CL_CELL_USER       2u /* it runs as another user than the client, or in a namespace of users */
/* Landlock restricts its files; without it, it reads all that the user may read */
#define CL_CELL_FILES 4u
/* without it, the program may run other programs of the host, in the same cell */
#define CL_CELL_ONCE 8u
/* without it, a program sees when another one last read their common file */
#define CL_CELL_TIMES 16u
/* without it, names, sizes and times of the host's files, and its /proc, can be seen */
#define CL_CELL_ROOT    32u
#define CL_CELL_PROCESS 64u  /* each device has a process of its own (programs.isolate) */
#define CL_CELL_MACHINE 128u /* each device has a machine of its own, which no cell provides */
/* Write the names of the bits to out, separated by ", ". */
#define CL_CELL_TEXT 120
void cl_cell_text(uint32_t lacks, char out[CL_CELL_TEXT]);
/* Find the bit with this name.  Returns 0 if there is none. */
uint32_t cl_cell_lack(const char *name);

/* Start a process that continues here, in new namespaces if the kernel provides them.  Call it only while
 * there is one thread.  Returns 0 in the child, with *lacks; in the parent the child's pid, or -1 with
 * errno. */
pid_t cl_cell_clone(uint32_t *lacks);

struct cl_cell {
	uint32_t lacks; /* the bits that all steps together lack */
	int64_t memory; /* most bytes of address space of one program */
	int nowhere;    /* /dev/null, opened before access to files was given up */
	const int *program;
	struct cl_calls *calls;
};
/* Runs in the spawner, whose programs have the descriptors program[0..n), borrowed.  uid, gid: the user
 * that it becomes, if it is root.  lacks: the result of cl_cell_clone, with CL_CELL_TIMES where the
 * programs' files keep times, and CL_CELL_ROOT where cl_cell_root failed.  memory: most bytes of one
 * program.  CM_EUNAVAIL: the kernel refuses what must not be left out. */
CM_CHECK enum cm_rc cl_cell_enter(struct cl_cell *c, const int *program, size_t n, uid_t uid, gid_t gid,
	uint32_t lacks, int64_t memory, struct cm_err *err);

/* A running program: its pid, and our non-blocking ends of its input and output. */
struct cl_cell_run {
	pid_t pid;
	int in, out;
	int asks; /* readable when the program asks to begin (then call cl_cell_let); -1: it has begun */
	bool listens;
};
#define CL_CELL_NOBODY ((struct cl_cell_run){ -1, -1, -1, -1, false })

/* Start program number `which`, with at most this many seconds of processor time.  Waits for nothing.
 * Returns CM_EUNAVAIL if it cannot be started. */
CM_CHECK enum cm_rc cl_cell_exec(
	const struct cl_cell *c, size_t which, unsigned seconds, struct cl_cell_run *out, struct cm_err *err);
/* Let a program begin that asks for it.  Returns false if it has ended without beginning. */
CM_CHECK bool cl_cell_let(struct cl_cell_run *run);
