/* cm_addr.h - "host:port" and "[v6]:port" as text.  No I/O. */
#pragma once

#include <sys/socket.h>

#include "cm_rc.h"

#define CM_ADDR_HOST_MAX 256
#define CM_ADDR_TEXT_MAX 80

struct cm_addr {
	char host[CM_ADDR_HOST_MAX]; /* without brackets; "" in ":7000" (every address) */
	char port[6];                /* decimal, 0..65535 */
};

/* Split.  CM_ECONFIG with a line naming the text when it is not HOST:PORT. */
CM_CHECK enum cm_rc cm_addr_split(const char *text, struct cm_addr *out, struct cm_err *err);
/* Is host written as an IPv4 or IPv6 address (so that no name need be looked up)? */
int cm_addr_numeric(const char *host);
/* "[::1]:40312" of a socket address; "?" when it is neither IPv4 nor IPv6. */
void cm_addr_text(const struct sockaddr *sa, char out[CM_ADDR_TEXT_MAX]);
