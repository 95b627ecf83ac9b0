/* sh_pg_schema.h - makes the tables of schema `tombola`, and brings them to this version at start. */
#pragma once

#include "sh_pg.h"

/* Find the version of the tables; 0: there is no schema or no tables. */
CM_CHECK enum cm_rc sh_pg_schema_version(struct sh_pg *pg, int64_t *version, struct cm_err *err);
/* Bring the tables to this program's version, in one transaction that the caller has begun.  CM_EDATA: a
 * later version made them. */
CM_CHECK enum cm_rc sh_pg_schema_migrate(struct sh_pg *pg, int64_t version, struct cm_err *err);
/* CM_EDATA: the tables are of a later version.  CM_ELATER: they are of an earlier one, which the next start
 * of the head brings to this one.  intake: an intake asks, which has another version than its head. */
CM_CHECK enum cm_rc sh_pg_schema_check(int64_t version, bool intake, struct cm_err *err);
