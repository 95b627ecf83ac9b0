/* mq_stream.h - one connection to a broker, with TLS or without.  Everything that has come waits in memory
 * until its owner has read it, so the broker never waits for us.  Never blocks. */
#pragma once

#include <openssl/types.h>

#include "cm_buf.h"
#include "mq_broker.h"

#define MQ_CHUNK 65536u

struct mq_chunk {
	struct mq_chunk *next;
	size_t n;
	uint8_t bytes[MQ_CHUNK];
};

struct mq_stream {
	int fd;                        /* the socket; -1: there is none */
	SSL *ssl;                      /* NULL without TLS */
	int refused;                   /* the X509_V_ERR for which the broker's certificate was refused */
	struct cm_buf out;             /* bytes to send, to which the owner appends */
	struct mq_chunk *first, *last; /* received chunks: the owner reads the first, and drops it */
	unsigned chunks;
	int64_t sent_ms, heard_ms; /* when bytes were last sent and last received, by the monotonic clock */
};

/* Initialise the stream; it has no socket yet. */
void mq_stream_init(struct mq_stream *s);
/* Close the socket, and wipe and free what waits; the stream is then ready for another connection. */
void mq_stream_close(struct mq_stream *s);
/* Prepare TLS on the socket, if the configuration asks for it.  Errors as mq_tls. */
CM_CHECK enum cm_rc mq_stream_tls(struct mq_stream *s, const struct mq_broker *conf, struct cm_err *err);
/* Receive everything that has come, while there is room: some 64 MiB may wait.  CM_EUNAVAIL with the reason
 * when the connection is over; what came before still waits.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc mq_stream_receive(struct mq_stream *s, struct cm_err *err);
bool mq_stream_has_room(const struct mq_stream *s);
/* Wipe and free the first chunk, which must exist. */
void mq_stream_drop(struct mq_stream *s);
/* Send as much of `out` as the socket takes now.  CM_EUNAVAIL. */
CM_CHECK enum cm_rc mq_stream_flush(struct mq_stream *s, struct cm_err *err);
/* Must flush or receive be called when the socket can be written? */
bool mq_stream_wants_write(const struct mq_stream *s);
