/* cf_http.h - the two keys of a daemon's HTTP server, for its table of options. */
#pragma once

#include "cf_conf.h"

/* Offsets of a char * and of a bool; the default address; what is served there. */
#define CF_HTTP_ROWS(http_at, anywhere_at, address, pages)                                                      \
	{ .key = "http",                                                                                        \
		.type = CF_STRING,                                                                              \
		.offset = (http_at),                                                                            \
		.fallback = (address),                                                                          \
		.help = "loopback host:port of " pages "; \"\" for none" },                                     \
	{                                                                                                       \
		.key = "http_anywhere", .type = CF_BOOL, .offset = (anywhere_at), .fallback = "false",          \
		.help = "true: `http` may be an address that other hosts reach; requests are not authenticated" \
	}
