/* mq_hosts.c - looks up and dials the addresses of the broker's host. */
#include "mq_hosts.h"

#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mq_session.h"

#define TEXT_MAX (INET6_ADDRSTRLEN + IF_NAMESIZE + 1) /* room for a text such as "fe80::1%eth0" */

enum cm_rc mq_hosts_look_up(struct mq_hosts *h, const struct mq_broker *conf, struct cm_err *err)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char port[8];
	int rc;

	*h = (struct mq_hosts){ 0 };
	(void)snprintf(port, sizeof port, "%u", (unsigned)conf->port);
	rc = getaddrinfo(conf->host, port, &hints, &found);
	if (rc != 0)
		return cm_fail(err, CM_EUNAVAIL, "cannot look up the host: %s",
			rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
	for (const struct addrinfo *a = found; a && h->n < MQ_HOSTS_MAX; a = a->ai_next)
		if (a->ai_addrlen <= sizeof h->address[0])
			memcpy(&h->address[h->n++], a->ai_addr, a->ai_addrlen);
	freeaddrinfo(found);
	return h->n > 0 ? CM_OK : cm_fail(err, CM_EUNAVAIL, "the host has no address");
}

enum cm_rc mq_hosts_dial(struct mq_hosts *h, struct mosquitto *m, const struct mq_broker *conf,
	const int *refused, struct cm_err *err)
{
	enum cm_rc rc = h->n > 0 ? CM_OK : mq_hosts_look_up(h, conf, err);
	char text[TEXT_MAX];
	int result;

	if (rc != CM_OK)
		return rc;
	if (getnameinfo((const struct sockaddr *)&h->address[h->at], sizeof h->address[0], text, sizeof text,
		    NULL, 0, NI_NUMERICHOST) != 0)
		return cm_fail(err, CM_EUNAVAIL, "not an address of IP");
	errno = 0;
	result = mosquitto_connect_async(m, text, (int)conf->port, (int)((conf->keepalive_ms + 999) / 1000));
	h->fault = errno;
	if (result != MOSQ_ERR_SUCCESS)
		return cm_fail(err, CM_EUNAVAIL, "%s", mq_session_reason(result, *refused));
	return CM_OK;
}

enum cm_rc mq_hosts_connect(struct mq_hosts *h, int *fd, struct cm_err *err)
{
	static const int on = 1;
	const struct sockaddr *to = (const struct sockaddr *)&h->address[h->at];
	int s = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	h->fault = EINPROGRESS;
	if (s < 0)
		return cm_fail(err, CM_EUNAVAIL, "%s", strerror(errno));
	(void)setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(s, to, sizeof h->address[0]) != 0 && errno != EINPROGRESS) {
		(void)cm_fail(err, CM_EUNAVAIL, "%s", strerror(errno));
		(void)close(s);
		return CM_EUNAVAIL;
	}
	*fd = s;
	return CM_OK;
}

bool mq_hosts_next(struct mq_hosts *h, const char *why)
{
	if (h->at >= h->n)
		return false;
	nt_tried_add(&h->tried, (const struct sockaddr *)&h->address[h->at], why);
	h->at++;
	return h->at < h->n;
}

const char *mq_hosts_fault(const struct mq_hosts *h, int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;
	int fault = 0;

	if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0)
		return NULL;
	len = sizeof fault;
	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &len);
	/* The kernel reports a socket's error only once: to this call, or to libmosquitto if that tried to
	 * send too early. */
	if (fault == 0 && h->fault != EINPROGRESS && h->fault != EAGAIN && h->fault != EPROTO)
		fault = h->fault;
	return fault != 0 ? strerror(fault) : "cannot connect";
}
