/* cl_begin_programs.c - starts the configured programs for a verb. */
#include "cl_begin_programs.h"

#include "cl_cell.h"
#include "cm_log.h"

enum cm_rc cl_begin_programs(const struct cl_setup *setup, struct cl_programs **out, struct cm_err *err)
{
	enum cm_rc rc = cl_programs_start(&setup->conf.programs, out, err);
	char lacks[CL_CELL_TEXT];

	cl_cell_text(cl_programs_lacks(*out), lacks);
	if (rc == CM_OK && lacks[0] != '\0')
		cm_log(CM_LOG_WARN, "programs are isolated in part, as programs.isolation accepts",
			CM_S("without", lacks));
	return rc;
}

enum cm_rc cl_try_programs(const struct cl_setup *setup, struct cm_err *err)
{
	struct cl_programs *programs = NULL;
	enum cm_rc rc = cl_begin_programs(setup, &programs, err);

	cl_programs_stop(programs);
	return rc;
}
