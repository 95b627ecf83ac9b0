/* nt_addr.h - splits "host:port" and "[v6]:port", and writes addresses as text.  No I/O. */
#pragma once

#include <sys/socket.h>

#include "cm_rc.h"

#define NT_ADDR_HOST_MAX 256
#define NT_ADDR_TEXT_MAX 80

struct nt_addr {
	/* the host, without brackets; "" in ":7000", which means every address */
	char host[NT_ADDR_HOST_MAX];
	char port[6]; /* the port, decimal, 0..65535 */
};

/* Split an address.  CM_ECONFIG, with a line that quotes the text, if it is not HOST:PORT. */
CM_CHECK enum cm_rc nt_addr_split(const char *text, struct nt_addr *out, struct cm_err *err);
/* Is host written as an IPv4 or IPv6 address, so that no lookup is needed? */
int nt_addr_numeric(const char *host);
/* Write the address of a socket, such as "[::1]:40312"; "?" when it is neither IPv4 nor IPv6. */
void nt_addr_text(const struct sockaddr *sa, char out[NT_ADDR_TEXT_MAX]);

/* The addresses of one host that were tried, and why each failed, for an error's text: "[::1]:7443:
 * connection refused; 127.0.0.1:7443: no answer".  Addresses for which there is no room are counted.
 * Begins as zeros. */
struct nt_tried {
	unsigned n, unsaid;
	char text[192];
};

void nt_tried_add(struct nt_tried *t, const struct sockaddr *sa, const char *why);
