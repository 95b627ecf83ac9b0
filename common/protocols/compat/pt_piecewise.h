/* pt_piecewise.h - the square wave: likely symbols in a window that begins at the level. */
#pragma once

#include "pt_number.h"

/* Of a symbol inside the window to one outside. */
long double pt_piecewise_ratio(const struct pt_randomizer *p);
/* Of a symbol inside, how much likelier than one outside, times b w: keep b - (1 - keep) w, computed exactly
 * and then rounded; 0 if no likelier. */
double pt_piecewise_excess(const struct pt_randomizer *p);
uint32_t pt_piecewise_symbols(const struct pt_randomizer *p);
