/* cf_http.h - the two keys of a daemon's HTTP server, for its table of options. */
#pragma once

#include "cf_conf.h"

/* Offsets of a char * and of a bool; the default address; what is served there. */
#define CF_HTTP_ROWS(http_at, anywhere_at, address, pages)                                                 \
	CF_DEFAULT("http", CF_STRING, http_at, address, "loopback host:port of " pages "; \"\" for none"), \
		CF_DEFAULT("http_anywhere", CF_BOOL, anywhere_at, "false",                                 \
			"true: `http` may be an address that other hosts reach; requests are not authenticated")
