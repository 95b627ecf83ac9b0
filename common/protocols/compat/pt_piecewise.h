/* pt_piecewise.h - the square wave: symbols in a window that begins at the level are likelier. */
#pragma once

#include "pt_number.h"

/* The chance of a symbol inside the window divided by that of one outside. */
struct pt_ratio pt_piecewise_ratio(const struct pt_randomizer *p);
uint32_t pt_piecewise_symbols(const struct pt_randomizer *p);
