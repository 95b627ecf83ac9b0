/* sh_pg_params.h - judges the connection string of the configuration. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

/* Keywords and values for PQconnectdbParams with expand_dbname, ending with NULL. */
#define SH_PG_PARAMS_MAX 16u
struct sh_pg_params {
	const char *key[SH_PG_PARAMS_MAX], *value[SH_PG_PARAMS_MAX];
};

/* Is it a Unix socket's folder, or a name or an address of this host? */
bool sh_pg_host_is_local(const char *host);

/* Judge the string, and add what Tombola demands.  Values are borrowed from `database` and the program.
 * CM_ECONFIG: it cannot be read; or it has a password, which belongs in a passfile, a service file or the
 * environment; or its sslmode is weaker than verify-full, and the host is neither a Unix socket nor a
 * loopback address, or a service file or the environment may change the host (hostaddr).  Without an
 * sslmode such a host gets verify-full, whatever the environment says.  CM_EPERM: a file that libpq would
 * read belongs to another user, or others may write to it (cm_owned_path). */
CM_CHECK enum cm_rc sh_pg_params(const char *database, struct sh_pg_params *out, struct cm_err *err);
