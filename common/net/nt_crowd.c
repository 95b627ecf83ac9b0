/* nt_crowd.c - counts handshakes under way by the network of the peer. */
#include "nt_crowd.h"

#include <netinet/in.h>
#include <string.h>

void nt_crowd_net(const struct sockaddr_storage *peer, uint8_t net[NT_CONN_NET_LEN])
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	memset(net, 0, NT_CONN_NET_LEN);
	memcpy(&in, peer, sizeof in);
	memcpy(&in6, peer, sizeof in6);
	if (peer->ss_family == AF_INET)
		memcpy(net, &in.sin_addr, 4);
	else if (peer->ss_family == AF_INET6 && memcmp(&in6.sin6_addr, mapped, sizeof mapped) == 0)
		memcpy(net, in6.sin6_addr.s6_addr + sizeof mapped, 4);
	else if (peer->ss_family == AF_INET6)
		memcpy(net, &in6.sin6_addr, NT_CONN_NET_LEN);
}

static struct nt_crowd *find(struct nt_crowds *s, const uint8_t net[NT_CONN_NET_LEN])
{
	const struct nt_crowd *found = nt_crowds_of(s, net);

	return found ? &s->crowd[found - s->crowd] : NULL;
}

void nt_crowds_add(struct nt_crowds *s, const uint8_t net[NT_CONN_NET_LEN])
{
	struct nt_crowd *crowd = find(s, net);

	if (!crowd && s->n < NT_CROWDS_MAX) {
		crowd = &s->crowd[s->n++];
		*crowd = (struct nt_crowd){ .n = 0 };
		memcpy(crowd->net, net, NT_CONN_NET_LEN);
	}
	if (crowd)
		crowd->n++;
}

void nt_crowds_leave(struct nt_crowds *s, const uint8_t net[NT_CONN_NET_LEN])
{
	struct nt_crowd *crowd = find(s, net);

	if (crowd && --crowd->n == 0)
		*crowd = s->crowd[--s->n];
}

const struct nt_crowd *nt_crowds_of(const struct nt_crowds *s, const uint8_t net[NT_CONN_NET_LEN])
{
	for (uint32_t i = 0; i < s->n; i++)
		if (memcmp(s->crowd[i].net, net, NT_CONN_NET_LEN) == 0)
			return &s->crowd[i];
	return NULL;
}

const struct nt_crowd *nt_crowds_larger(const struct nt_crowds *s, const uint8_t net[NT_CONN_NET_LEN])
{
	const struct nt_crowd *own = nt_crowds_of(s, net), *larger = NULL;
	uint32_t most = own ? own->n + 1 : 1;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->crowd[i].n > most) {
			larger = &s->crowd[i];
			most = larger->n;
		}
	return larger;
}
