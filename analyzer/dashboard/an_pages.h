/* an_pages.h - lists the files of the dashboard (analyzer/dashboard/), which are compiled into the
 * program. */
#pragma once

#include <stddef.h>

struct an_page {
	const char *path; /* the path in a request; NULL ends the table */
	const char *type; /* Content-Type */
	const unsigned char *data;
	size_t len;
};
extern const struct an_page an_pages[];
