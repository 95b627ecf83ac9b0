/* sh_pg_schema.h - the tables of schema `tombola`: made and brought to this version at start. */
#pragma once

#include "sh_pg.h"

/* Which version there is; 0: no schema or no tables. */
CM_CHECK enum cm_rc sh_pg_schema_version(struct sh_pg *pg, int64_t *version, struct cm_err *err);
/* Bring the tables to this program's version, in one transaction that the caller has begun.  CM_EDATA: a
 * later version made them. */
CM_CHECK enum cm_rc sh_pg_schema_migrate(struct sh_pg *pg, int64_t version, struct cm_err *err);
/* CM_EDATA: they are of a later version.  CM_ELATER: of an earlier one, which the next start of the head
 * brings to this one.  intake: it asks, and is of another version than its head. */
CM_CHECK enum cm_rc sh_pg_schema_check(int64_t version, bool intake, struct cm_err *err);
