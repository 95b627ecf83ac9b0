/* lk_link.c - a connection that exchanges frames: Hello first, then whole, bounded messages. */
#include "lk_link.h"

#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cm_fault.h"
#include "cm_text.h"
#include "lk_link_private.h"
#include "pr_frame.h"

#define IN_MAX        (PR_FRAME_MAX + 4u + 256u * 1024) /* a frame, and the bytes that one read can add */
#define KEEP_CAPACITY 4096u
#define UNKNOWN_MAX                                                                                         \
	16u /* a peer of a later version sends an unknown kind now and then; more than this is an attack or \
	       a fault */

/* ---- counting ---- */

void lk_count_refused(struct lk_counts *counts, const struct cm_err *why)
{
	static const struct {
		enum cm_rc rc;
		enum lk_refused reason;
	} reasons[] = { { CM_EPERM, LK_REFUSED_CERTIFICATE }, { CM_EPROTO, LK_REFUSED_PROTOCOL },
		{ CM_EUNAVAIL, LK_REFUSED_NETWORK }, { CM_ELATER, LK_REFUSED_LIMIT } };
	enum lk_refused reason = LK_REFUSED_OTHER;

	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].rc == why->code)
			reason = reasons[i].reason;
	if (counts)
		counts->refused[reason]++;
}

/* ---- sending ---- */

enum cm_rc lk_send(struct lk_link *l, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	struct cm_buf bytes;
	enum cm_rc rc;

	cm_buf_init(&bytes, PR_FRAME_MAX + 4u);
	rc = pr_encode(frame, &bytes, err);
	if (rc == CM_OK)
		rc = nt_conn_send(l->conn, bytes.data, bytes.len, err);
	if (rc == CM_OK && l->handler.counts) {
		l->handler.counts->frames_out++;
		l->handler.counts->bytes_out += bytes.len;
	}
	/* There is no memory for the answer that the peer waits for, so it must ask again on another
	 * connection. */
	if (rc == CM_EINTERNAL)
		nt_conn_close(l->conn, err);
	cm_buf_fini(&bytes);
	return rc;
}

void lk_send_error(struct lk_link *l, Tombola__V1__ErrorCode code, const char *text, uint32_t retry_after_ms,
	const uint8_t *round_id)
{
	Tombola__V1__Error error = TOMBOLA__V1__ERROR__INIT;
	char cut[PR_TEXT_MAX + 1];
	uint8_t id[PR_ROUND_ID_LEN];
	struct cm_err err;

	cm_text_copy(cut, sizeof cut, text);
	error.code = code;
	error.text = cut;
	error.retry_after_ms = retry_after_ms;
	if (code == TOMBOLA__V1__ERROR_CODE__ERROR_CLOCK)
		error.clock_ms = cm_clock_wall_ms();
	if (round_id) {
		memcpy(id, round_id, sizeof id);
		error.round_id = (ProtobufCBinaryData){ .len = sizeof id, .data = id };
	}
	if (lk_send(l, PR_FRAME(ERROR, error, &error), &err) != CM_OK)
		return; /* a link that cannot queue this Error is closing already, and on_close gets the
			   reason */
}

static void send_hello(struct lk_link *l)
{
	Tombola__V1__Hello hello = TOMBOLA__V1__HELLO__INIT;
	char software[] = "tombola " TOMBOLA_VERSION;
	struct cm_err err;

	hello.major = PR_VERSION_MAJOR;
	hello.minor = PR_VERSION_MINOR;
	hello.software = software;
	if (lk_send(l, PR_FRAME(HELLO, hello, &hello), &err) != CM_OK)
		lk_close(l, &err);
}

/* ---- receiving ---- */

/* The peer broke the protocol: send an Error and close. */
static void reject(struct lk_link *l, Tombola__V1__ErrorCode code, const struct cm_err *why)
{
	lk_send_error(l, code, why->msg, 0, NULL);
	lk_close(l, why);
}

static void on_hello(struct lk_link *l, const Tombola__V1__Frame *frame)
{
	struct cm_err err;

	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR && !l->accepted) {
		(void)pr_error(frame->error, &err);
		lk_close(l, &err);
	} else if (frame->kind_case != TOMBOLA__V1__FRAME__KIND_HELLO) {
		(void)cm_fail(&err, CM_EPROTO, "the first frame is %s instead of hello", pr_kind_name(frame));
		reject(l, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, &err);
	} else if (CM_CHECKED("link.version") && frame->hello->major != PR_VERSION_MAJOR) {
		(void)cm_fail(&err, CM_EPROTO, "the peer speaks version %u.%u, we speak %u.%u",
			(unsigned)frame->hello->major, (unsigned)frame->hello->minor, PR_VERSION_MAJOR,
			PR_VERSION_MINOR);
		reject(l, TOMBOLA__V1__ERROR_CODE__ERROR_VERSION, &err);
	} else {
		l->ready = true;
		if (l->handler.counts)
			l->handler.counts->links++;
		nt_conn_expect_greeting(l->conn, false);
		if (l->handler.on_ready)
			l->handler.on_ready(l, l->user);
	}
}

static void on_frame(struct lk_link *l, const Tombola__V1__Frame *frame)
{
	struct cm_err err;

	if (!l->ready) {
		on_hello(l, frame);
	} else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND__NOT_SET && ++l->unknown > UNKNOWN_MAX) {
		(void)cm_fail(&err, CM_EPROTO, "more than %u frames of unknown kinds", UNKNOWN_MAX);
		reject(l, TOMBOLA__V1__ERROR_CODE__ERROR_UNKNOWN_KIND, &err);
	} else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND__NOT_SET) {
		lk_send_error(l, TOMBOLA__V1__ERROR_CODE__ERROR_UNKNOWN_KIND,
			"this kind of frame is not known here", 0, NULL);
	} else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_HELLO) {
		(void)cm_fail(&err, CM_EPROTO, "a second hello");
		reject(l, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, &err);
	} else if (l->handler.on_frame) {
		l->handler.on_frame(l, l->user, frame);
	}
}

/* Hand over the whole frames at the start of the span; returns how many bytes they took. */
static size_t take_frames(struct lk_link *l, const uint8_t *data, size_t n)
{
	size_t at = 0;

	while (!l->paused && !nt_conn_closing(l->conn)) {
		/* This buffer is only a view: pr_frame_next does not write. */
		struct cm_buf view = {
			.data = (uint8_t *)(uintptr_t)(data + at), .len = n - at, .max = n - at
		};
		struct pr_frame frame = { .frame = NULL };
		const uint8_t *body;
		struct cm_err err;
		size_t len;
		enum cm_rc rc = pr_frame_next(&view, &body, &len, &err);

		if (rc == CM_EMORE)
			break;
		if (rc == CM_OK)
			rc = pr_decode(body, len, &frame, &err);
		if (rc == CM_OK) {
			at += 4 + len;
			if (l->handler.counts) {
				l->handler.counts->frames_in++;
				l->handler.counts->bytes_in += 4 + len;
			}
			on_frame(l, frame.frame);
		} else if (rc == CM_EINTERNAL) {
			lk_close(l, &err); /* the fault is ours, so the peer gets no Error and dials again */
		} else {
			reject(l, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, &err);
		}
		pr_free(&frame);
	}
	return at;
}

/* A frame that has begun must end: a peer that sends a byte now and then would keep its memory for ever.
 * The time while we do not read is not counted. */
static void watch_frame(struct lk_link *l, bool taken)
{
	int64_t now = cm_clock_mono_ms();
	struct cm_err err;

	if (l->in.len == 0 || l->paused || taken || l->since_ms == 0) {
		l->since_ms = l->in.len > 0 && !l->paused ? now : 0;
	} else if (CM_CHECKED("link.frame_time") && l->frame_ms > 0 && now - l->since_ms > l->frame_ms) {
		(void)cm_fail(&err, CM_EUNAVAIL, "a frame did not end within %lld s",
			(long long)l->frame_ms / 1000);
		lk_close(l, &err);
	}
}

void lk_link_data(struct nt_conn *c, void *user, const uint8_t *data, size_t n)
{
	struct lk_link *l = user;
	struct cm_err err;
	bool direct;
	size_t used = 0;

	if (!l)
		return;
	direct = l->in.len == 0;
	/* Most frames are handed over from the receive buffer; only an incomplete one is copied. */
	if (direct)
		used = take_frames(l, data, n);
	if (!nt_conn_closing(c) && cm_buf_put(&l->in, data + used, n - used) != CM_OK) {
		(void)cm_fail(&err, CM_EINTERNAL, "out of memory for a frame");
		lk_close(l, &err);
		return;
	}
	if (!direct) {
		used = take_frames(l, l->in.data, l->in.len);
		cm_buf_drop(&l->in, used);
	}
	if (l->in.len == 0 && l->in.cap > KEEP_CAPACITY)
		cm_buf_fini(&l->in);
	if (!nt_conn_closing(c))
		watch_frame(l, used > 0);
}

void lk_link_drain(struct nt_conn *c, void *user)
{
	struct lk_link *l = user;

	(void)c;
	if (l && l->ready && l->handler.on_drain)
		l->handler.on_drain(l, l->user);
}

void lk_link_opened(struct lk_link *l)
{
	if (CM_CHECKED("link.greeting"))
		nt_conn_expect_greeting(l->conn, true);
	send_hello(l);
}

/* ---- life ---- */

struct lk_link *lk_link_new(const struct lk_handler *handler, void *user)
{
	struct lk_link *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	l->handler = *handler;
	l->user = user;
	cm_buf_init(&l->in, IN_MAX);
	return l;
}

void lk_link_closed(struct nt_conn *c, void *user, const struct cm_err *why)
{
	struct lk_link *l = user;

	(void)c;
	if (!l)
		return;
	/* The owner never heard of an accepted link that did not become ready. */
	if ((!l->accepted || l->ready) && l->handler.on_close)
		l->handler.on_close(l, l->user, why);
	if (!l->accepted && !l->ready && why->code != CM_OK)
		lk_count_refused(l->handler.counts, why);
	if (l->forget)
		l->forget(l, l->ready ? NULL : why);
	cm_buf_fini(&l->in);
	free(l);
}

static void on_dialled(struct nt_conn *c, void *user)
{
	(void)c;
	lk_link_opened(user);
}

enum cm_rc lk_dial(uv_loop_t *loop, const char *address, struct nt_tls_ctx *tls,
	const struct nt_conn_limits *limits, const struct lk_handler *handler, void *user,
	struct lk_link **out, struct cm_err *err)
{
	static const struct nt_conn_handler conn_handler = { on_dialled, lk_link_data, lk_link_drain,
		lk_link_closed };
	struct lk_link *l = lk_link_new(handler, user);
	enum cm_rc rc;

	*out = NULL;
	if (!l)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = nt_conn_dial(loop, address, tls, limits, &conn_handler, l, &l->conn, err);
	if (rc == CM_OK)
		*out = l;
	else
		free(l);
	return rc;
}

void lk_set_user(struct lk_link *l, void *user)
{
	l->user = user;
}

const struct cr_identity *lk_peer(const struct lk_link *l)
{
	return nt_conn_peer(l->conn);
}

const char *lk_address(const struct lk_link *l)
{
	return nt_conn_address(l->conn);
}

enum cm_rc lk_recheck(const struct lk_link *l, const struct nt_tls_ctx *ctx, struct cm_err *err)
{
	return nt_conn_recheck(l->conn, ctx, err);
}

const char *lk_group(const struct lk_link *l)
{
	return nt_conn_group(l->conn);
}

size_t lk_pending(const struct lk_link *l)
{
	return nt_conn_pending(l->conn);
}

size_t lk_unread(const struct lk_link *l)
{
	return nt_conn_unread(l->conn);
}

void lk_pause(struct lk_link *l)
{
	l->paused = true;
	nt_conn_pause(l->conn);
}

void lk_resume(struct lk_link *l)
{
	if (!l->paused)
		return;
	l->paused = false;
	l->since_ms = 0;
	nt_conn_resume(l->conn); /* nt_conn calls on_data without bytes, which hands over the kept frames */
}

void lk_expect_silence(struct lk_link *l, bool on)
{
	nt_conn_expect_silence(l->conn, on);
}

void lk_close(struct lk_link *l, const struct cm_err *why)
{
	nt_conn_close(l->conn, why);
}

void lk_abort(struct lk_link *l, const struct cm_err *why)
{
	nt_conn_abort(l->conn, why);
}
