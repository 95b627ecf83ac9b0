/* cl_cell.h - the cell in which programs run: what a process gives up before another's program begins in it.
 *
 * Three steps, by three processes:
 *   1. cl_cell_clone: the client starts its spawner in namespaces of its own: network, mounts (all of them
 *      read-only), processes, IPC, host name; and users, unless the client runs as root.
 *   2. cl_cell_enter: the spawner becomes another user if it is root, and may read no file but system
 *      libraries and the interpreters of scripts (Landlock).
 *   3. cl_cell_exec: a child of the spawner gives up everything but the system calls that computing needs,
 * gets its limits, and becomes the program.  It can make no process or thread, and run no second program.
 *
 * Steps 1 and 2 may fail in part, because kernel or service manager do not allow it: what is lacking is said,
 * and the client decides (programs.accept_without).  Step 3 is never left out. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cm_rc.h"

/* What keeps one device's program from another's reading, and may be lacking, as bits.  client.conf accepts
 * each by its name (programs.accept_without); doc/computing.md says what a program can do without it. */
#define CL_CELL_NAMESPACES 1u   /* network, mounts, processes of its own */
#define CL_CELL_USER       2u   /* another user than the client, or a namespace of users */
#define CL_CELL_FILES      4u   /* Landlock: all that the user may read can be read */
#define CL_CELL_ONCE       8u   /* it may run other programs of the host, in the same cell */
#define CL_CELL_TIMES      16u  /* a program can read when another one read their common file last */
#define CL_CELL_ROOT       32u  /* names, sizes and times of the host's files, and its /proc, can be seen */
#define CL_CELL_PROCESS    64u  /* a process for each device (programs.isolate) */
#define CL_CELL_MACHINE    128u /* a machine for each device, which no cell gives */
/* Names of the bits, "a, b", into out. */
#define CL_CELL_TEXT 120
void cl_cell_text(uint32_t lacks, char out[CL_CELL_TEXT]);
/* The bit with that name; 0: none. */
uint32_t cl_cell_lack(const char *name);

/* Start a process that continues here, in namespaces of its own if the kernel gives them.  Only while there
 * is one thread.  Returns 0 in the child, with *lacks; in the parent the child's pid, or -1 with errno. */
pid_t cl_cell_clone(uint32_t *lacks);

struct cl_cell {
	uint32_t lacks; /* bits, of all steps */
	int64_t memory; /* bytes of address space of a program */
	int nowhere;    /* /dev/null, opened before files were given up */
	const int *program;
	struct cl_calls *calls;
};
/* In the spawner, whose programs have the descriptors program[0..n), borrowed.  uid, gid: who it becomes, if
 * it is root.  lacks: of cl_cell_clone; CL_CELL_TIMES where the programs' files keep times; CL_CELL_ROOT
 * where cl_cell_root failed.  memory: of a program.  CM_EUNAVAIL: the kernel refuses what must not be left
 * out. */
CM_CHECK enum cm_rc cl_cell_enter(struct cl_cell *c, const int *program, size_t n, uid_t uid, gid_t gid,
	uint32_t lacks, int64_t memory, struct cm_err *err);

/* A running program: its pid, and our non-blocking ends of its input and output. */
struct cl_cell_run {
	pid_t pid;
	int in, out;
	int asks; /* there is something to read when it asks to begin: call cl_cell_let; -1: it has begun */
	bool listens;
};
#define CL_CELL_NOBODY ((struct cl_cell_run){ -1, -1, -1, -1, false })

/* Start program number `which`, for so many seconds of a processor at most.  Waits for nothing.
 * CM_EUNAVAIL. */
CM_CHECK enum cm_rc cl_cell_exec(
	const struct cl_cell *c, size_t which, unsigned seconds, struct cl_cell_run *out, struct cm_err *err);
/* Answer a program that asks to begin.  false: it has ended without beginning. */
CM_CHECK bool cl_cell_let(struct cl_cell_run *run);
