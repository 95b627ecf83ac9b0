/* es_project.c - finds the consistent answer that is nearest. */
#include "es_project.h"

#include <stdlib.h>
#include <string.h>

static int descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

bool es_project_simplex(double *v, size_t n, double total)
{
	double *sorted = calloc(n, sizeof *sorted), sum = 0, shift = 0;

	if (!sorted)
		return false;
	memcpy(sorted, v, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, descending);
	/* the projection lowers all entries alike, and those that would become negative are 0: find the
	 * last j such that the j largest entries stay positive */
	for (size_t j = 0; j < n; j++) {
		sum += sorted[j];
		if (sorted[j] - (sum - total) / (double)(j + 1) > 0)
			shift = (sum - total) / (double)(j + 1);
	}
	for (size_t i = 0; i < n; i++)
		v[i] = v[i] > shift ? v[i] - shift : 0;
	free(sorted);
	return true;
}
