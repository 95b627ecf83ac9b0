/* cl_program_file.h - makes sure that what runs is what was hashed.  A program is read once, into memory
 * that nobody can change any more; it is hashed there, and run from there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

#define CL_PROGRAM_MAX  (256u << 20) /* in bytes */
#define CL_PROGRAM_HASH 32u

/* Read the file into a sealed memory file, *fd (close-on-exec), whose SHA-256 is checked against `hash`.
 * CM_ENOINPUT, CM_EPERM: it cannot be read.  CM_EDATA: it has another hash, or cannot be run; it must be an
 * ELF file, or a script whose first line names an existing interpreter by an absolute path.  CM_EUNAVAIL:
 * the kernel has no sealed memory.  *timeless: the kernel keeps no time of an access to it, as Linux can
 * since 6.1.  The messages name the file. */
CM_CHECK enum cm_rc cl_program_file_open(
	const char *path, const uint8_t hash[CL_PROGRAM_HASH], int *fd, bool *timeless, struct cm_err *err);
