/* an_pages.h - the files of the dashboard (analyzer/dashboard/), compiled into the program. */
#pragma once

#include <stddef.h>

struct an_page {
	const char *path; /* path of the request; NULL ends the table */
	const char *type; /* Content-Type */
	const unsigned char *data;
	size_t len;
};
extern const struct an_page an_pages[];
