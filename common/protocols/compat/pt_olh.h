/* pt_olh.h - local hashing: a message is a hash of the device's own and the randomized cell of the value
 * under it. */
#pragma once

#include "pt_device.h"

/* P divided by the chance of one other cell. */
struct pt_ratio pt_olh_ratio(const struct pt_randomizer *p);
