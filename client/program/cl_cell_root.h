/* cl_cell_root.h - a root of their own for programs: a folder in memory with system libraries, the
 * interpreters of scripts, /dev/null and /proc, and nothing else of the host, so that no path leads to the
 * names, sizes and times of its files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CL_SCRIPT_MAX 256u /* bytes of a script's first line */

/* What programs may read, by Landlock as well; ends with NULL. */
extern const char *const cl_cell_readable[];
/* The interpreter of a script, from the program's first line; "": it is none. */
void cl_cell_interpreter(int program, char out[CL_SCRIPT_MAX]);

/* Change to that root, for the programs program[0..n).  Only in a namespace of mounts of this process's own,
 * whose mounts are private.  false: not possible here, or an interpreter is missing. */
bool cl_cell_root(const int *program, size_t n);
