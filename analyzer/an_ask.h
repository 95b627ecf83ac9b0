/* an_ask.h - `status`: what the running analyzer says of itself.  Blocking. */
#pragma once

#include <stdio.h>

#include "an_conf.h"

/* Ask the daemon at its HTTP address and print its answer: lines, or as it came ("tombola.status/1").
 * CM_EUNAVAIL when nobody answers or there is no address, CM_EPROTO when it is no status. */
CM_CHECK enum cm_rc an_ask_status(const struct an_conf *conf, bool json, FILE *out, struct cm_err *err);
