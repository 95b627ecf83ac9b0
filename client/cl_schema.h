/* cl_schema.h - the tables of the client's database, for cl_db.c: made, recognised, brought up to date. */
#pragma once

#include "cl_db.h"

/* 1: a charge was the cells of one round, in columns of their own. */
#define CL_SCHEMA 2

CM_CHECK enum cm_rc cl_schema_create(struct cl_db *db, const char *population, struct cm_err *err);
/* *version is 1..CL_SCHEMA.  CM_EDATA when this is no client database, or of a later version. */
CM_CHECK enum cm_rc cl_schema_check(struct cl_db *db, const char *path, int64_t *version, struct cm_err *err);
/* From any earlier version, all of it or nothing; every entry stays, and every charge costs what it did.
 * CM_EDATA when a charge cannot be read. */
CM_CHECK enum cm_rc cl_schema_upgrade(struct cl_db *db, struct cm_err *err);
