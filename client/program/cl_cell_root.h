/* cl_cell_root.h - a separate root folder for programs.  It is in memory and holds system libraries, the
 * scripts and their interpreters, and /dev/null, but nothing else of the host, so no path leads to the
 * names, sizes and times of the host's files.  It has no /proc, where a process would see how many others
 * exist, and where each look takes the next number of a counter that all processes share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CL_SCRIPT_MAX 256u /* most bytes of a script's first line */

/* Paths that programs may read, which Landlock allows as well.  The list ends with NULL. */
extern const char *const cl_cell_readable[];
/* Scripts are in this folder of that root, named by their index among the programs. */
#define CL_SCRIPTS   "/programs"
#define CL_SCRIPT_AT CL_SCRIPTS "/%zu"
/* Read the interpreter of a script from the program's first line; "" if the program is not a script. */
void cl_cell_interpreter(int program, char out[CL_SCRIPT_MAX]);

/* Change to that root, for the programs program[0..n).  Call it only in a namespace of mounts that belongs
 * to this process and whose mounts are private.  Returns false if that is not possible here, or an
 * interpreter is missing. */
bool cl_cell_root(const int *program, size_t n);
