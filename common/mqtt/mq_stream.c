/* mq_stream.c - sends, and receives into a list of chunks, over a socket or TLS on it. */
#include "mq_stream.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm_clock.h"
#include "cr_secret.h"
#include "mq_packet.h"

#define CHUNKS_MAX 1024u
#define RECORD_MAX 16384u /* most bytes that TLS returns at once */

void mq_stream_init(struct mq_stream *s)
{
	*s = (struct mq_stream){ .fd = -1, .refused = X509_V_OK };
	cm_buf_init(&s->out, MQ_OUT_MAX);
	s->out.secret = 1;
	s->sent_ms = s->heard_ms = cm_clock_mono_ms();
}

void mq_stream_close(struct mq_stream *s)
{
	SSL_free(s->ssl);
	if (s->fd >= 0)
		(void)close(s->fd);
	while (s->first)
		mq_stream_drop(s);
	cm_buf_fini(&s->out);
	mq_stream_init(s);
}

enum cm_rc mq_stream_tls(struct mq_stream *s, const struct mq_broker *conf, struct cm_err *err)
{
	SSL_CTX *ctx = NULL;
	enum cm_rc rc = mq_tls(conf, &s->refused, &ctx, err);

	if (rc != CM_OK || !ctx)
		return rc;
	s->ssl = SSL_new(ctx);
	SSL_CTX_free(ctx);
	if (!s->ssl || SSL_set_fd(s->ssl, s->fd) != 1)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	/* The unwritten bytes may move between calls. */
	(void)SSL_set_mode(s->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_set_connect_state(s->ssl);
	return CM_OK;
}

/* Interpret the result of a TLS call: how many bytes were moved, maybe none. */
static enum cm_rc tls_result(struct mq_stream *s, int rc, size_t *n, struct cm_err *err)
{
	int fault = SSL_get_error(s->ssl, rc);
	const char *why = ERR_reason_error_string(ERR_peek_error());

	*n = rc > 0 ? (size_t)rc : 0;
	if (rc > 0 || fault == SSL_ERROR_WANT_READ || fault == SSL_ERROR_WANT_WRITE)
		return CM_OK;
	if (s->refused != X509_V_OK)
		why = X509_verify_cert_error_string(s->refused);
	else if (fault == SSL_ERROR_ZERO_RETURN || (!why && errno == 0))
		why = "closed by the broker";
	return cm_fail(err, CM_EUNAVAIL, "%s", why ? why : strerror(errno));
}

static enum cm_rc socket_result(ssize_t rc, size_t *n, struct cm_err *err)
{
	*n = rc > 0 ? (size_t)rc : 0;
	if (rc > 0 || (rc < 0 && (errno == EAGAIN || errno == EINTR)))
		return CM_OK;
	return cm_fail(err, CM_EUNAVAIL, "%s", rc == 0 ? "closed by the broker" : strerror(errno));
}

static enum cm_rc receive(struct mq_stream *s, uint8_t *to, size_t room, size_t *n, struct cm_err *err)
{
	errno = 0;
	if (!s->ssl)
		return socket_result(recv(s->fd, to, room, 0), n, err);
	ERR_clear_error();
	return tls_result(s, SSL_read(s->ssl, to, (int)room), n, err);
}

static enum cm_rc transmit(struct mq_stream *s, size_t *n, struct cm_err *err)
{
	errno = 0;
	if (!s->ssl)
		return socket_result(send(s->fd, s->out.data, s->out.len, MSG_NOSIGNAL), n, err);
	ERR_clear_error();
	return tls_result(s, SSL_write(s->ssl, s->out.data, (int)s->out.len), n, err);
}

/* Find a chunk to receive into.  NULL: out of memory. */
static struct mq_chunk *roomy(struct mq_stream *s)
{
	struct mq_chunk *c = s->first ? s->last : NULL;

	if (c && MQ_CHUNK - c->n >= RECORD_MAX)
		return c;
	c = malloc(sizeof *c);
	if (!c)
		return NULL;
	c->next = NULL;
	c->n = 0;
	if (s->first)
		s->last->next = c;
	else
		s->first = c;
	s->last = c;
	s->chunks++;
	return c;
}

enum cm_rc mq_stream_receive(struct mq_stream *s, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	size_t n = 1;

	while (rc == CM_OK && n > 0 && mq_stream_has_room(s)) {
		struct mq_chunk *c = roomy(s);

		if (!c)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		rc = receive(s, c->bytes + c->n, MQ_CHUNK - c->n, &n, err);
		c->n += n;
		if (n > 0)
			s->heard_ms = cm_clock_mono_ms();
	}
	return rc;
}

bool mq_stream_has_room(const struct mq_stream *s)
{
	return s->chunks < CHUNKS_MAX;
}

void mq_stream_drop(struct mq_stream *s)
{
	struct mq_chunk *c = s->first;

	s->first = c->next;
	s->chunks--;
	cr_wipe(c->bytes, c->n);
	free(c);
}

enum cm_rc mq_stream_flush(struct mq_stream *s, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	size_t n = 1;

	while (rc == CM_OK && s->out.len > 0 && n > 0) {
		rc = transmit(s, &n, err);
		cm_buf_drop(&s->out, n);
		if (n > 0)
			s->sent_ms = cm_clock_mono_ms();
	}
	return rc;
}

bool mq_stream_wants_write(const struct mq_stream *s)
{
	return s->ssl && !SSL_is_init_finished(s->ssl) ? SSL_want_write(s->ssl) != 0 : s->out.len > 0;
}
