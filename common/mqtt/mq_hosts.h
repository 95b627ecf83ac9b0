/* mq_hosts.h - tries the addresses of the broker's host in turn until one connects, and records why each
 * failed.  libmosquitto alone stops at the first address that does not fail at once. */
#pragma once

#include <mosquitto.h>
#include <sys/socket.h>

#include "mq_broker.h"
#include "nt_addr.h"

#define MQ_HOSTS_MAX 8u

struct mq_hosts {
	struct sockaddr_storage address[MQ_HOSTS_MAX]; /* in the resolver's order */
	size_t n, at;                                  /* at: index of the current address */
	int fault;                                     /* errno after dialling the current address */
	struct nt_tried tried;
};

/* Look up conf->host, which blocks; the first address is then the current one.  CM_EUNAVAIL. */
CM_CHECK enum cm_rc mq_hosts_look_up(struct mq_hosts *h, const struct mq_broker *conf, struct cm_err *err);
/* Start connecting a socket to the current address, without waiting.  The caller closes *fd.  CM_EUNAVAIL. */
CM_CHECK enum cm_rc mq_hosts_connect(struct mq_hosts *h, int *fd, struct cm_err *err);
/* Start connecting m to the current address, without waiting.  If n is 0, first look up conf->host, which
 * blocks, and use its first address.  *refused as for mq_session_new.  CM_EUNAVAIL. */
CM_CHECK enum cm_rc mq_hosts_dial(struct mq_hosts *h, struct mosquitto *m, const struct mq_broker *conf,
	const int *refused, struct cm_err *err);
/* Record why the current address failed, and move to the next.  False: there is no next. */
bool mq_hosts_next(struct mq_hosts *h, const char *why);
/* Call on a socket event: NULL if the socket is connected, otherwise why it failed. */
const char *mq_hosts_fault(const struct mq_hosts *h, int fd);
