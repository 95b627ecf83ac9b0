/* sh_check.h - the verb `check-config`: what the configuration names, and what a start would find. */
#pragma once

#include "cm_cli.h"
#include "nt_tls.h"
#include "sh_conf.h"

/* The shuffler's side of TLS, as its configuration says; free *out with nt_tls_ctx_free.  Errors as
 * nt_tls_ctx_new. */
CM_CHECK enum cm_rc sh_check_tls(const struct sh_conf *c, struct nt_tls_ctx **out, struct cm_err *err);

/* The verb.  Prints every finding, each on a line that names its place.  The result is that of the first:
 * what a start would end with.  Changes nothing. */
CM_CHECK enum cm_rc sh_check_config(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
