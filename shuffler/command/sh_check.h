/* sh_check.h - the verb `check-config`: checks what the configuration names, and what a start would
 * find. */
#pragma once

#include "cm_cli.h"
#include "nt_tls.h"
#include "sh_conf.h"

/* Create the shuffler's TLS context as its configuration says; free *out with nt_tls_ctx_free.  Errors as
 * nt_tls_ctx_new. */
CM_CHECK enum cm_rc sh_check_tls(const struct sh_conf *c, struct nt_tls_ctx **out, struct cm_err *err);

/* Run the verb.  Prints every finding, each on a line that names its place.  Returns the result of the
 * first finding, with which a start would end.  Changes nothing. */
CM_CHECK enum cm_rc sh_check_config(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
