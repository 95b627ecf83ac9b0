/* cl_program_conf.h - the group `programs` of the client's configuration: which programs this device's owner
 * agreed to run, and how. */
#pragma once

#include <sys/types.h>

#include "cf_conf.h"
#include "cl_program_file.h"

#define CL_PROGRAMS_MAX 64u
#define CL_AT_ONCE_MAX  64u

struct cl_program_allowed {
	char *file, *sha256;
	uint8_t hash[CL_PROGRAM_HASH]; /* sha256, by cl_program_conf_check */
};

struct cl_program_conf {
	struct cf_list allow; /* struct cl_program_allowed; none: no program is ever run */
	bool isolate;
	struct cf_strings accept_without;
	char *user;
	int64_t at_once, memory_mib;
	uid_t uid; /* of `user`, by cl_program_conf_check */
	gid_t gid;
	uint32_t accepts; /* accept_without as bits (cl_cell.h), by cl_program_conf_check */
};
extern const struct cf_row cl_program_rows[];

/* Check what was read, reading every program once.  Faults go where cf_fault_at puts them. */
void cl_program_conf_check(
	struct cl_program_conf *c, const struct cf_file *file, FILE *faults, struct cm_err *first);
/* What programs would lack by this configuration, whatever the kernel gives, as bits. */
uint32_t cl_program_conf_lacks(const struct cl_program_conf *c);
/* CM_ECONFIG, with the names: some of these bits are not accepted. */
CM_CHECK enum cm_rc cl_program_conf_accepts(
	const struct cl_program_conf *c, uint32_t lacks, struct cm_err *err);
/* The program with that hash: its place in `allow`, or -1. */
int cl_program_conf_find(const struct cl_program_conf *c, const uint8_t hash[CL_PROGRAM_HASH]);
