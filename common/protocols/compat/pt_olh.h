/* pt_olh.h - local hashing: a hash of the sender's own and the randomized cell of the value under it. */
#pragma once

#include "pt_device.h"

/* P over the chance of one other cell. */
long double pt_olh_ratio(const struct pt_randomizer *p);
