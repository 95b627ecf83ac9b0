/* cl_begin_programs.c - starts the configured programs for a verb. */
#include "cl_begin_programs.h"

#include <unistd.h>

#include "cl_cell.h"
#include "cm_log.h"

static int64_t memory_mib(void)
{
	return (int64_t)sysconf(_SC_PHYS_PAGES) / ((1 << 20) / sysconf(_SC_PAGESIZE));
}

enum cm_rc cl_begin_programs(const struct cl_setup *setup, struct cl_programs **out, struct cm_err *err)
{
	const struct cl_program_conf *conf = &setup->conf.programs;
	enum cm_rc rc = cl_programs_start(conf, out, err);
	char lacks[CL_CELL_TEXT];

	cl_cell_text(cl_programs_lacks(*out), lacks);
	if (rc == CM_OK && lacks[0] != '\0')
		cm_log(CM_LOG_WARN, "programs are isolated in part, as programs.accept_without accepts",
			CM_S("without", lacks));
	if (rc == CM_OK && *out && conf->at_once * conf->memory_mib > memory_mib() / 2)
		cm_log(CM_LOG_WARN, "programs may use more than half of this machine's memory",
			CM_I("mib", conf->at_once * conf->memory_mib), CM_I("of", memory_mib()));
	return rc;
}

enum cm_rc cl_try_programs(const struct cl_setup *setup, struct cm_err *err)
{
	struct cl_programs *programs = NULL;
	enum cm_rc rc = cl_begin_programs(setup, &programs, err);

	cl_programs_stop(programs);
	return rc;
}
