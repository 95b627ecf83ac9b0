/* cl_begin_programs.h - starts the configured programs for a verb, and reports which protections this host
 * cannot give them. */
#pragma once

#include "cl_conf.h"
#include "cl_programs.h"

/* Start the programs; errors are those of cl_programs_start.  Logs a warning that names what the kernel
 * does not isolate, and one if programs may use more than half of the memory. */
CM_CHECK enum cm_rc cl_begin_programs(
	const struct cl_setup *setup, struct cl_programs **out, struct cm_err *err);
/* Start the programs and stop them again, which check-config does to test them. */
CM_CHECK enum cm_rc cl_try_programs(const struct cl_setup *setup, struct cm_err *err);
