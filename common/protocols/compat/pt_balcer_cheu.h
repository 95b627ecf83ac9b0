/* pt_balcer_cheu.h - coins: what the two halves of the row share. */
#pragma once

#include "pt_device.h"

/* Has the shuffler no dummies to add, and a device not too many coins?  `code` otherwise. */
CM_CHECK enum cm_rc pt_coins_bounds(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err);
