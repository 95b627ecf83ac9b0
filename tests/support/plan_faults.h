/* plan_faults.h - a plan from a text, and the fault of one that is refused. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pl_load.h"
#include "pl_plan.h"

static inline enum cm_rc parse(const char *text, struct pl_plan *p, struct cm_err *err)
{
	return pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", NULL, p, err);
}

/* where: how the message begins; what: a part of it. */
static inline void expect_fault(const char *text, const char *where, const char *what)
{
	struct pl_plan p;
	struct cm_err err = { 0 };

	assert_int_equal(parse(text, &p, &err), CM_ECONFIG);
	if (strncmp(err.msg, where, strlen(where)) != 0 || !strstr(err.msg, what))
		fail_msg("'%s' is not '%s ... %s'", err.msg, where, what);
	pl_plan_fini(&p);
}
