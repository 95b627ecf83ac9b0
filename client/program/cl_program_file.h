/* cl_program_file.h - what runs is what was hashed: a program is read once, into memory that nobody can
 * change any more, hashed there, and run from there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

#define CL_PROGRAM_MAX  (256u << 20) /* bytes */
#define CL_PROGRAM_HASH 32u

/* Read the file into a sealed memory file, *fd (close-on-exec), whose SHA-256 is checked against `hash`.
 * CM_ENOINPUT, CM_EPERM: it cannot be read; CM_EDATA: it is another one, or none that can be run (an ELF
 * file, or a script whose first line names its interpreter by an absolute path, and that is there);
 * CM_EUNAVAIL: the kernel has no such memory.  *timeless: no time of an access to it is kept, as Linux can
 * from 6.1 on.  The messages name the file. */
CM_CHECK enum cm_rc cl_program_file_open(
	const char *path, const uint8_t hash[CL_PROGRAM_HASH], int *fd, bool *timeless, struct cm_err *err);
