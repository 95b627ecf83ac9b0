/* es_project.h - finds the consistent answer that is nearest to the estimates.  It is pure post-processing:
 * it costs no privacy, and it biases small counts upwards. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Replace v by its Euclidean projection on { c >= 0, sum c = total } ("Norm-Sub"); n >= 1, total > 0.  False
 * out of memory, v unchanged. */
bool es_project_simplex(double *v, size_t n, double total);
