/* cl_spawner.h - the process that starts programs for the client, which itself may not (nt_confine.h).
 *
 * It executes the client's own file again before the client has threads, keys or connections, so it knows
 * none of them.  It has a socket to the client and the programs' sealed memory, and it confines itself
 * (cl_cell.h) before the first frame (cl_spawn_frame.h).  It ends with its client.  If it ends earlier, its
 * programs end with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cl_spawner_args {
	unsigned programs, at_once;
	int64_t memory; /* most bytes of one program */
	uid_t uid;      /* user that it becomes if it is root */
	gid_t gid;
	uint32_t lacks; /* result of cl_cell_clone */
};
#define CL_SPAWNER_SOCKET 3 /* its descriptors: this one is the socket, and the programs follow */

/* Become the spawner, with these descriptors and no others.  self: a descriptor of this program's file.
 * Returns only if that fails, with errno. */
void cl_spawner_exec(const struct cl_spawner_args *args, int self);
/* Run the spawner if this process is to be one, and return true with *code when it has ended.  Call it at
 * the beginning of main. */
bool cl_spawner_main(int argc, char **argv, int *code);
