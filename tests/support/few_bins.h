/* few_bins.h - a histogram of few categories and a mean, for the tests of all rows. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "queries.h"

#define BINS_MAX 64

static char *labels[BINS_MAX];
static char label_text[BINS_MAX][8];

static inline struct qy_query histogram(uint32_t k)
{
	struct qy_query q = {
		.kind = QY_HISTOGRAM, .name = "h", .field = "f", .category = labels, .categories = k
	};

	for (uint32_t i = 0; i < BINS_MAX; i++) {
		(void)snprintf(label_text[i], sizeof label_text[i], "c%u", (unsigned)i);
		labels[i] = label_text[i];
	}
	return q;
}

static inline struct qy_query mean(double low, double high)
{
	return (struct qy_query){ .kind = QY_MEAN, .name = "m", .field = "f", .low = low, .high = high };
}

static inline double variance(const struct pt_randomizer *p, double n, double dummies, double c)
{
	struct es_support s = pt_mixbins_support(p, dummies);

	return es_support_variance(&s, n, c);
}
