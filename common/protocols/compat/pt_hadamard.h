/* pt_hadamard.h - Hadamard response: a column where the value's row of a Hadamard matrix is more often +1. */
#pragma once

#include "pt_device.h"

/* K: the least power of two above the number of categories. */
uint32_t pt_hadamard_order(const struct pt_randomizer *p);
long double pt_hadamard_ratio(const struct pt_randomizer *p);
