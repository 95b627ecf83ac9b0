/* cm_cli_confirm.c - lets a destructive verb run only when the user has named its target. */
#include <string.h>

#include "cm_cli.h"

enum cm_rc cm_cli_confirmed(const char *said, const char *name, const char *consequence, struct cm_err *err)
{
	if (said && strcmp(said, name) == 0)
		return CM_OK;
	return cm_fail(
		err, CM_EUSAGE, "%s: to confirm, repeat the command with --confirm %.64s", consequence, name);
}
