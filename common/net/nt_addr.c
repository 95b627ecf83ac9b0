/* nt_addr.c - splits "host:port" and "[v6]:port", and writes addresses as text. */
#include "nt_addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum cm_rc bad_address(const char *text, struct cm_err *err)
{
	return cm_fail(err, CM_ECONFIG, "address '%.100s' is not HOST:PORT or [IPV6]:PORT", text);
}

enum cm_rc nt_addr_split(const char *text, struct nt_addr *out, struct cm_err *err)
{
	const char *host = text, *colon, *end;
	size_t len;

	if (*text == '[') {
		host = text + 1;
		end = strchr(host, ']');
		if (!end || end == host || end[1] != ':')
			return bad_address(text, err);
		colon = end + 1;
	} else {
		colon = end = strchr(text, ':');
		if (!colon || strchr(colon + 1, ':'))
			return bad_address(text, err);
	}
	len = (size_t)(end - host);
	if (len >= sizeof out->host)
		return bad_address(text, err);
	memcpy(out->host, host, len);
	out->host[len] = '\0';
	len = strlen(colon + 1);
	if (len == 0 || len > 5 || strspn(colon + 1, "0123456789") != len ||
		strtoul(colon + 1, NULL, 10) > 65535)
		return cm_fail(
			err, CM_ECONFIG, "address '%.100s': the port is not a number 0 to 65535", text);
	memcpy(out->port, colon + 1, len + 1);
	return CM_OK;
}

int nt_addr_numeric(const char *host)
{
	struct in6_addr a;

	return inet_pton(AF_INET, host, &a) == 1 || inet_pton(AF_INET6, host, &a) == 1;
}

void nt_addr_text(const struct sockaddr *sa, char out[NT_ADDR_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN];

	(void)snprintf(out, NT_ADDR_TEXT_MAX, "?");
	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof in);
		if (inet_ntop(AF_INET, &in.sin_addr, host, sizeof host))
			(void)snprintf(out, NT_ADDR_TEXT_MAX, "%s:%u", host, (unsigned)ntohs(in.sin_port));
	} else if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in;

		memcpy(&in, sa, sizeof in);
		if (inet_ntop(AF_INET6, &in.sin6_addr, host, sizeof host))
			(void)snprintf(out, NT_ADDR_TEXT_MAX, "[%s]:%u", host, (unsigned)ntohs(in.sin6_port));
	}
}

void nt_tried_add(struct nt_tried *t, const struct sockaddr *sa, const char *why)
{
	char address[NT_ADDR_TEXT_MAX], said[NT_ADDR_TEXT_MAX + 80];
	/* keep room for the number of addresses that do not fit */
	size_t len = strlen(t->text), more = 24;
	int n;

	nt_addr_text(sa, address);
	n = snprintf(said, sizeof said, "%s%s: %.60s", t->n > 0 ? "; " : "", address, why);
	t->n++;
	if (t->unsaid == 0 && n > 0 && len + (size_t)n + more < sizeof t->text)
		memcpy(t->text + len, said, (size_t)n + 1);
	else if (t->unsaid++ == 0)
		(void)snprintf(t->text + len, sizeof t->text - len, "; and 1 more");
	else
		(void)snprintf(strrchr(t->text, ';'), more, "; and %u more", t->unsaid);
}
