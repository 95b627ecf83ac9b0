/* cm_cli_confirm.c - what cannot be undone is done to what was named only. */
#include <string.h>

#include "cm_cli.h"

enum cm_rc cm_cli_confirmed(const char *said, const char *name, const char *consequence, struct cm_err *err)
{
	if (said != NULL && strcmp(said, name) == 0)
		return CM_OK;
	return cm_fail(err, CM_EUSAGE, "%s: to do it say --confirm %.64s", consequence, name);
}
