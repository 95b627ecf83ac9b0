/* cl_line.h - computes a reading from a value by a straight line, in decimals. */
#pragma once

#include <stdbool.h>

#define CL_LINE_TEXT 40u

/* Compute value * scale + offset, all finite.  Each is taken as the shortest decimal whose nearest double
 * it is, which is the decimal as it was written if that had at most 15 digits.  The sum is exact and
 * rounded once, to the nearest double, with ties to even.  So 4.35 * 100 is 435, where doubles give
 * 434.99999999999994.  *out is the shortest text of the result, with an exponent only where
 * cl_json_shortest returns false.  false: the result exceeds every double. */
bool cl_line_text(double value, double scale, double offset, char out[CL_LINE_TEXT]);
