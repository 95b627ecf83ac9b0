/* cl_line.h - a reading from a value by a straight line, computed in decimals. */
#pragma once

#include <stdbool.h>

#define CL_LINE_TEXT 40u

/* value * scale + offset, all finite, each taken as the decimal that it was written with: the shortest one
 * whose nearest double it is, which is what was written if that had at most 15 digits.  The sum is exact and
 * rounded once, to the nearest double, of two equally near ones to the even one.  So 4.35 * 100 is 435, where
 * doubles give 434.99999999999994.  *out is its shortest text, with an exponent only where
 * cl_json_shortest would need one.  false: it exceeds every double. */
bool cl_line_text(double value, double scale, double offset, char out[CL_LINE_TEXT]);
