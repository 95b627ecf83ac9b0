/* cl_cell_root.h - a root of their own for programs: a folder in memory with system libraries, scripts and
 * their interpreters, and /dev/null, and nothing else of the host, so that no path leads to the names, sizes
 * and times of its files.  There is no /proc, where a process would see how many there are, and where each
 * look takes the next number of a counter that all processes share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CL_SCRIPT_MAX 256u /* bytes of a script's first line */

/* What programs may read, by Landlock as well; ends with NULL. */
extern const char *const cl_cell_readable[];
/* Where a script is in that root, by its place among the programs. */
#define CL_SCRIPTS   "/programs"
#define CL_SCRIPT_AT CL_SCRIPTS "/%zu"
/* The interpreter of a script, from the program's first line; "": the program is not a script. */
void cl_cell_interpreter(int program, char out[CL_SCRIPT_MAX]);

/* Change to that root, for the programs program[0..n).  Only in a namespace of mounts of this process's own,
 * whose mounts are private.  false: not possible here, or an interpreter is missing. */
bool cl_cell_root(const int *program, size_t n);
