/* sh_serve_quota.c - what one certificate may use, applied to its connections: paused, charged, ended. */
#include <sys/resource.h>

#include "sh_serve_private.h"

/* Answers to one client that wait for a commit: repeats take no other room that is counted. */
#define HELD_MAX     64u
#define FILES_BESIDE 512u /* connections that end, HTTP, the store */

bool sh_serve_join(struct peer *p)
{
	int64_t now = cm_clock_mono_ms();

	if (p->who.role != CR_ROLE_CLIENT)
		return true;
	p->holder = sh_quota_join(p->serve->quota, p->who.key_hash, now);
	/* A connection costs a handshake. */
	if (p->holder)
		sh_quota_take(p->serve->quota, p->holder, SH_QUOTA_BARREN, now);
	return p->holder;
}

void sh_serve_leave(struct peer *p)
{
	if (p->holder)
		sh_quota_leave(p->serve->quota, p->holder, cm_clock_mono_ms());
	p->holder = NULL;
}

void sh_serve_charge(struct peer *p, uint32_t frames)
{
	if (p->holder)
		sh_quota_take(p->serve->quota, p->holder, frames, cm_clock_mono_ms());
}

void sh_serve_junk(struct peer *p, const struct sh_refusal *no)
{
	struct cm_err why;

	if (no->code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY || !sh_quota_is_junk(++p->junk))
		return;
	sh_metrics_quota(p->serve->conf.metrics, SH_EVENT_JUNK);
	(void)cm_fail(&why, CM_EPROTO, "%u submissions in a row were refused", p->junk);
	lk_close(p->link, &why);
}

void sh_serve_flow(struct peer *p)
{
	const struct sh_serve *s = p->serve;

	if (!p->link || !p->holder)
		return;
	bool over = sh_quota_wait_ms(s->quota, p->holder, cm_clock_mono_ms()) != 0;
	bool stop = s->paused || p->held >= HELD_MAX || over;

	if (over && !p->over)
		sh_metrics_quota(s->conf.metrics, SH_EVENT_PAUSED);
	p->over = over;
	if (p->paused == stop)
		return;
	p->paused = stop;
	if (stop)
		lk_pause(p->link);
	else
		lk_resume(p->link);
}

int64_t sh_serve_over_ms(const struct peer *p, int64_t mono_ms)
{
	return p->over && p->link ? sh_quota_wait_ms(p->serve->quota, p->holder, mono_ms) : -1;
}

void sh_serve_allow_files(uint32_t connections)
{
	rlim_t need = (rlim_t)connections + FILES_BESIDE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = limit.rlim_max < need ? limit.rlim_max : need;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < need)
		cm_log(CM_LOG_WARN, "fewer files may be open than limits.connections need",
			CM_I("allowed", (int64_t)limit.rlim_cur), CM_I("needed", (int64_t)need));
}
