/* cl_program_conf.h - the group `programs` of the client's configuration: which programs this device's
 * owner agreed to run, and how. */
#pragma once

#include <sys/types.h>

#include "cf_conf.h"
#include "cl_program_file.h"

#define CL_PROGRAMS_MAX 64u
#define CL_AT_ONCE_MAX  64u

struct cl_program_allowed {
	char *file, *sha256;
	uint8_t hash[CL_PROGRAM_HASH]; /* the value of sha256; cl_program_conf_check sets it */
};

struct cl_program_conf {
	/* items are struct cl_program_allowed; without any, no program is ever run */
	struct cf_list allow;
	bool isolate;
	struct cf_strings accept_without;
	char *user;
	int64_t at_once, memory_mib;
	uid_t uid; /* the id of `user`; cl_program_conf_check sets it */
	gid_t gid;
	uint32_t accepts; /* accept_without as bits (cl_cell.h); cl_program_conf_check sets it */
};
extern const struct cf_row cl_program_rows[];

/* Check the configuration after loading, and read every program once.  Faults go where cf_fault_at puts
 * them. */
void cl_program_conf_check(
	struct cl_program_conf *c, const struct cf_file *file, FILE *faults, struct cm_err *first);
/* The bits that this configuration leaves out, whatever the kernel provides. */
uint32_t cl_program_conf_lacks(const struct cl_program_conf *c);
/* Fail with CM_ECONFIG and the names if some of these bits are not accepted. */
CM_CHECK enum cm_rc cl_program_conf_accepts(
	const struct cl_program_conf *c, uint32_t lacks, struct cm_err *err);
/* Find the program with this hash.  Returns its index in `allow`, or -1. */
int cl_program_conf_find(const struct cl_program_conf *c, const uint8_t hash[CL_PROGRAM_HASH]);
