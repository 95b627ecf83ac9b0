/* pt_hadamard.h - Hadamard response: a column, more often one in which the value's row of a Hadamard matrix
 * is +1. */
#pragma once

#include "pt_device.h"

/* The order K of the matrix: the least power of two above the number of categories. */
uint32_t pt_hadamard_order(const struct pt_randomizer *p);
struct pt_ratio pt_hadamard_ratio(const struct pt_randomizer *p);
