/* sh_intake_check.h - checks what an intake's configuration names.  The verb itself is sh_intake_check in
 * sh_stores.h. */
#pragma once

#include "nt_tls.h"
#include "sh_intake_conf.h"
#include "sh_pg.h"

/* The databases of the configuration; the strings are borrowed. */
struct sh_pg_conf sh_intake_databases(const struct sh_intake_conf *c);
/* Check the connection strings.  A fault goes to stderr with its line, and to `first` as cf_fault_at
 * says. */
CM_CHECK enum cm_rc sh_intake_check_databases(const struct sh_intake_conf *c, struct cm_err *first);

/* Create an intake's TLS contexts: *tls for clients, *up for the head.  Free both with nt_tls_ctx_free.
 * Errors as nt_tls_ctx_new. */
CM_CHECK enum cm_rc sh_intake_tls(
	const struct sh_intake_conf *c, struct nt_tls_ctx **tls, struct nt_tls_ctx **up, struct cm_err *err);
