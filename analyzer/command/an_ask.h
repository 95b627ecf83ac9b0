/* an_ask.h - carries out `status`: asks the running analyzer for its state and prints it.  The call
 * blocks. */
#pragma once

#include <stdio.h>

#include "an_conf.h"

/* Ask the daemon at its HTTP address and print its answer: as lines, or the JSON unchanged
 * ("tombola.status/1").  CM_EUNAVAIL: there was no answer, or no address is configured.  CM_EPROTO: the
 * answer is not a status. */
CM_CHECK enum cm_rc an_ask_status(const struct an_conf *conf, bool json, FILE *out, struct cm_err *err);
