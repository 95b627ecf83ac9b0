/* cl_listen.h - carries out the verb `devices`. */
#pragma once

#include "cm_cli.h"

/* The only option, which is required. */
enum { CL_LISTEN_TIME };

/* Listen to the configured broker for the time of the option, or until SIGINT or SIGTERM, and print the names
 * of the devices that were heard.  Writes stdout and stderr alone: no ledger is read, no shuffler asked.
 * CM_EUNAVAIL: the broker was not reached.  CM_ENOINPUT: no device was heard.  CM_EDATA: there were more
 * devices than are kept, so that the printed list lacks some. */
CM_CHECK enum cm_rc cl_listen(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
