/* cl_spawner.h - the process that starts programs for the client, which may not (nt_confine.h).
 *
 * It is the client's own file, run anew before the client has threads, keys or connections, so that it knows
 * none of them.  It has a socket to the client and the programs' sealed memory, and it confines itself
 * (cl_cell.h) before the first frame (cl_spawn_frame.h).  It ends with its client; when it ends earlier, its
 * programs end with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cl_spawner_args {
	unsigned programs, at_once;
	int64_t memory; /* bytes, of a program */
	uid_t uid;      /* who it becomes if it is root */
	gid_t gid;
	uint32_t lacks; /* of cl_cell_clone */
};
#define CL_SPAWNER_SOCKET 3 /* its descriptors: this, and the programs after it */

/* Become the spawner, with these descriptors and no others.  self: a descriptor of this program's file.
 * Returns only if that fails, with errno. */
void cl_spawner_exec(const struct cl_spawner_args *args, int self);
/* At the begin of main: is this process to be a spawner?  Then it ends with *code. */
bool cl_spawner_main(int argc, char **argv, int *code);
