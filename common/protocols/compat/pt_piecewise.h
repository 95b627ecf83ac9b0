/* pt_piecewise.h - the square wave: symbols in a window that begins at the level are likelier. */
#pragma once

#include "pt_number.h"

/* The chance of a symbol inside the window divided by that of one outside. */
long double pt_piecewise_ratio(const struct pt_randomizer *p);
/* By how much a symbol inside the window is likelier than one outside, times b w: keep b - (1 - keep) w,
 * with keep as a chance; computed exactly and then rounded; 0 if it is no likelier. */
double pt_piecewise_excess(const struct pt_randomizer *p);
uint32_t pt_piecewise_symbols(const struct pt_randomizer *p);
