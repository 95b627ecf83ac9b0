/* nt_crowd.h - counts handshakes under way by the network of the peer, so that one network does not take
 * all places.  No I/O. */
#pragma once

#include <stdint.h>

#define NT_CONN_NET_LEN 8
/* most networks that are counted at a time; the handshakes of any further network are not counted */
#define NT_CROWDS_MAX 256u

struct sockaddr_storage;

/* Number of handshakes of one network under way. */
struct nt_crowd {
	uint8_t net[NT_CONN_NET_LEN];
	uint32_t n;
};
struct nt_crowds {
	struct nt_crowd crowd[NT_CROWDS_MAX];
	uint32_t n;
};

/* The identity of a peer that has not shown a certificate: its IPv4 address, or its IPv6 network. */
void nt_crowd_net(const struct sockaddr_storage *peer, uint8_t net[NT_CONN_NET_LEN]);
void nt_crowds_add(struct nt_crowds *s, const uint8_t net[NT_CONN_NET_LEN]);
void nt_crowds_leave(struct nt_crowds *s, const uint8_t net[NT_CONN_NET_LEN]);
/* The crowd of this network; NULL: it has no handshake under way, or is not counted. */
const struct nt_crowd *nt_crowds_of(const struct nt_crowds *s, const uint8_t net[NT_CONN_NET_LEN]);
/* The largest crowd, if it is larger than this network's would be with one more handshake; otherwise NULL. */
const struct nt_crowd *nt_crowds_larger(const struct nt_crowds *s, const uint8_t net[NT_CONN_NET_LEN]);
