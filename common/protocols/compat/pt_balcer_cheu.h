/* pt_balcer_cheu.h - coins: what both halves of the row use. */
#pragma once

#include "pt_device.h"

/* Check that the shuffler adds no dummies, and a device does not have too many coins.  If not, returns
 * `code`. */
CM_CHECK enum cm_rc pt_coins_bounds(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err);
