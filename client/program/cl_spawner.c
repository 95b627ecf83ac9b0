/* cl_spawner.c - starts programs, sends them devices, and answers when a device's time is over. */
#define _GNU_SOURCE /* declares ppoll */
#include "cl_spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cl_cell.h"
#include "cl_lane.h"
#include "cl_program_conf.h"
#include "cl_spawn_frame.h"
#include "cm_clock.h"

#define NAME    "tombola-client: programs"
#define NUMBERS 6
#define LOOK_NS 5000000 /* time between two looks at how long programs have computed */
#define PART    32768u  /* bytes read at a time */

struct process {
	struct cl_lane lane;
	struct cl_cell_run run; /* its pid is -1 if there is no process */
	bool busy;              /* a device waits for its answer */
	bool ended;             /* the process has ended, with `status` */
	int status;
	uint32_t serial;
	int64_t until_ns;
	int64_t used_ns; /* processor time that the process had used before this device */
};

struct spawner {
	struct cl_cell cell;
	unsigned programs, at_once;
	struct cm_buf in, out, payload;
	struct cl_lane_job job;
	uint32_t number, program; /* number and program of the job; number 0: there is none */
	int64_t budget_ns, processor_ns;
	/* number of lanes, each with one process for all its devices; 0: each device has a process */
	unsigned keep;
	struct process process[CL_AT_ONCE_MAX];
};

/* ---- processes ---- */

static void close_one(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static int64_t time_of(const struct timeval *t)
{
	return t->tv_sec * 1000000000 + t->tv_usec * 1000;
}

/* Note which processes have ended, without waiting for any. */
static void reap(struct spawner *s)
{
	struct rusage used;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0)
		for (unsigned i = 0; i < s->at_once; i++)
			if (s->process[i].run.pid == pid) {
				s->process[i].ended = true;
				s->process[i].status = status;
				if (time_of(&used.ru_utime) + time_of(&used.ru_stime) -
						s->process[i].used_ns >
					s->processor_ns)
					s->process[i].lane.broken = true;
			}
}

/* The processor time that a running process has used since it was started. */
static int64_t used_by(const struct process *p)
{
	struct timespec t;
	clockid_t clock;

	return p->run.pid > 0 && !p->ended && clock_getcpuclockid(p->run.pid, &clock) == 0 &&
			       clock_gettime(clock, &t) == 0
		       ? t.tv_sec * 1000000000 + t.tv_nsec
		       : 0;
}

/* End a program that used up its processor time.  It has no answer, even if others left time unused. */
static void hold(const struct spawner *s, struct process *p)
{
	if (!p->busy || p->lane.broken || p->ended || used_by(p) - p->used_ns <= s->processor_ns)
		return;
	p->lane.broken = true;
	(void)kill(p->run.pid, SIGKILL);
}

/* Kill a process.  It is reaped after it has ended, and nobody waits for that. */
static void end_process(struct process *p)
{
	close_one(&p->run.in);
	close_one(&p->run.out);
	close_one(&p->run.asks);
	if (p->run.pid > 0 && !p->ended)
		(void)kill(p->run.pid, SIGKILL);
	p->run = CL_CELL_NOBODY;
	p->ended = false;
}

static void start_process(struct spawner *s, struct process *p)
{
	unsigned seconds = (unsigned)(s->budget_ns / 1000000000) + 2;
	struct cm_err unused;

	/* A process that is kept has the time of all devices. */
	if (s->keep)
		seconds = 86400;
	cl_lane_begin(&p->lane);
	if (cl_cell_exec(&s->cell, s->program, seconds, &p->run, &unused) != CM_OK)
		p->lane.broken = true;
}

/* Let the process begin if it asks to. */
static void let(struct process *p)
{
	struct pollfd asks = { p->run.asks, POLLIN, 0 };

	while (p->run.asks >= 0 && poll(&asks, 1, 0) == 1) {
		if (!cl_cell_let(&p->run))
			p->lane.broken = true;
		asks.fd = p->run.asks;
	}
}

/* ---- one device ---- */

static void feed(struct spawner *s, struct process *p)
{
	const uint8_t *bytes;
	size_t n;

	while (p->run.in >= 0 && (n = cl_lane_next(&p->lane, &bytes)) > 0) {
		ssize_t wrote = write(p->run.in, bytes, n);

		if (wrote < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (wrote < 0)
			close_one(&p->run.in);
		else
			cl_lane_wrote(&p->lane, (size_t)wrote);
	}
	if (!s->keep)
		close_one(&p->run.in);
}

static void hear(struct process *p)
{
	uint8_t bytes[PART];
	ssize_t n;

	while (p->run.out >= 0) {
		n = read(p->run.out, bytes, sizeof bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		cl_lane_read(&p->lane, bytes, n > 0 ? (size_t)n : 0);
		if (n <= 0)
			close_one(&p->run.out);
		if (p->lane.broken)
			break;
	}
	explicit_bzero(bytes, sizeof bytes);
}

/* Answer for a device whose time is over. */
static bool answer(struct spawner *s, struct process *p)
{
	struct cl_spawn_frame f = { .kind = CL_SPAWN_ANSWER, .job = s->number, .serial = p->serial };

	hear(p);
	hold(s, p);
	reap(s);
	if (!p->ended || p->status == 0)
		f.bytes = cl_lane_answer(&p->lane);
	f.len = f.bytes ? 4 * (size_t)s->job.dimension : 0;
	p->busy = false;
	if (cl_spawn_put(&s->out, &f) != CM_OK)
		return false;
	if (!s->keep || p->ended || !cl_lane_goes_on(&p->lane))
		end_process(p);
	return true;
}

static void give(struct spawner *s, const struct cl_spawn_frame *f)
{
	struct process *p = &s->process[f->lane];

	p->serial = f->serial;
	p->busy = true;
	p->until_ns = cm_clock_mono_ns() + s->budget_ns;
	/* What a kept process wrote since its last answer does not answer this device. */
	hear(p);
	if (p->run.pid > 0 && (p->lane.broken || p->lane.ended || p->ended))
		end_process(p);
	cl_lane_give(&p->lane, f->bytes);
	p->used_ns = used_by(p);
	if (p->run.pid < 0)
		start_process(s, p);
	feed(s, p);
}

/* ---- jobs ---- */

static void end_job(struct spawner *s)
{
	for (unsigned i = 0; i < s->at_once; i++) {
		end_process(&s->process[i]);
		cl_lane_fini(&s->process[i].lane);
		s->process[i].busy = false;
	}
	cm_buf_fini(&s->payload);
	s->number = 0;
}

static bool begin_job(struct spawner *s, const struct cl_spawn_frame *f)
{
	struct cm_err unused;

	end_job(s);
	if (f->program >= s->programs || f->budget_ns > INT64_MAX || f->processor_ns > INT64_MAX ||
		f->keep > s->at_once || cm_buf_put(&s->payload, f->bytes, f->len) != CM_OK)
		return false;
	s->job = (struct cl_lane_job){ f->features, f->classes, f->dimension, s->payload.data,
		s->payload.len };
	s->program = f->program;
	s->budget_ns = (int64_t)f->budget_ns;
	s->processor_ns = (int64_t)f->processor_ns;
	s->keep = f->keep;
	for (unsigned i = 0; i < s->at_once; i++)
		if (cl_lane_init(&s->process[i].lane, &s->job, &unused) != CM_OK)
			return false;
	s->number = f->job;
	/* A process that is kept is sent the payload before its first device. */
	for (unsigned i = 0; i < s->keep; i++) {
		start_process(s, &s->process[i]);
		feed(s, &s->process[i]);
	}
	return true;
}

/* Act on a frame.  Returns false if the client breaks the protocol; this process then ends. */
static bool take(struct spawner *s, const struct cl_spawn_frame *f)
{
	if (f->job == 0)
		return false;
	if (f->kind == CL_SPAWN_BEGIN)
		return begin_job(s, f);
	if (f->job != s->number)
		return f->kind == CL_SPAWN_ROW || f->kind == CL_SPAWN_END;
	if (f->kind == CL_SPAWN_END) {
		end_job(s);
		return true;
	}
	if (f->kind != CL_SPAWN_ROW || f->lane >= s->at_once || f->len != 4 * ((size_t)s->job.features + 1))
		return false;
	/* Slots overlap only when this machine is late.  The previous device has had its time. */
	if (s->process[f->lane].busy && !answer(s, &s->process[f->lane]))
		return false;
	give(s, f);
	return true;
}

static bool hear_client(struct spawner *s)
{
	struct cl_spawn_frame f;
	struct cm_err unused;
	uint8_t *room = cm_buf_room(&s->in, PART);
	ssize_t n = room ? recv(CL_SPAWNER_SOCKET, room, PART, MSG_DONTWAIT) : 0;
	size_t at = 0, taken;
	enum cm_rc rc;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	s->in.len += (size_t)n;
	while ((rc = cl_spawn_take(&s->in, at, &f, &taken, &unused)) == CM_OK) {
		if (!take(s, &f))
			return false;
		at += taken;
	}
	cm_buf_drop(&s->in, at);
	return rc == CM_EMORE;
}

static bool tell_client(struct spawner *s)
{
	while (s->out.len > 0) {
		ssize_t n = send(CL_SPAWNER_SOCKET, s->out.data, s->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		cm_buf_drop(&s->out, (size_t)n);
	}
	return true;
}

/* ---- the loop ---- */

/* Fill in what to wait for, and how long.  Returns false to wait for ever. */
static bool prepare(const struct spawner *s, struct pollfd *p, nfds_t *n, struct timespec *wait)
{
	int64_t until = INT64_MAX, left;
	const uint8_t *unused;

	p[0] = (struct pollfd){ CL_SPAWNER_SOCKET, (short)(POLLIN | (s->out.len > 0 ? POLLOUT : 0)), 0 };
	*n = 1;
	for (unsigned i = 0; i < s->at_once; i++) {
		const struct process *one = &s->process[i];

		if (!one->busy && one->run.pid < 0)
			continue;
		if (one->busy && one->until_ns < until)
			until = one->until_ns;
		if (one->run.asks >= 0 && !one->lane.broken)
			p[(*n)++] = (struct pollfd){ one->run.asks, POLLIN, 0 };
		if (one->busy && one->run.out >= 0 && !one->lane.broken)
			p[(*n)++] = (struct pollfd){ one->run.out, POLLIN, 0 };
		if (one->run.in >= 0 && cl_lane_next(&one->lane, &unused) > 0)
			p[(*n)++] = (struct pollfd){ one->run.in, POLLOUT, 0 };
	}
	left = until == INT64_MAX ? 0 : until - cm_clock_mono_ns();
	left = left > 0 ? left : 0;
	left = left < LOOK_NS ? left : LOOK_NS;
	*wait = (struct timespec){ (time_t)(left / 1000000000), (long)(left % 1000000000) };
	return until != INT64_MAX;
}

static bool serve(struct spawner *s)
{
	struct pollfd p[1 + 3 * CL_AT_ONCE_MAX];
	struct timespec wait;
	nfds_t n;
	bool until = prepare(s, p, &n, &wait);

	if (ppoll(p, n, until ? &wait : NULL, NULL) < 0 && errno != EINTR)
		return false;
	if ((p[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !hear_client(s))
		return false;
	for (unsigned i = 0; i < s->at_once; i++) {
		struct process *one = &s->process[i];

		if (!one->busy && one->run.pid < 0)
			continue;
		let(one);
		feed(s, one);
		if (!one->busy)
			continue;
		hold(s, one);
		hear(one);
		if (cm_clock_mono_ns() >= one->until_ns && !answer(s, one))
			return false;
	}
	reap(s);
	return tell_client(s);
}

static bool begin(struct spawner *s, const struct cl_spawner_args *a)
{
	struct cl_spawn_frame ready = { .kind = CL_SPAWN_READY };
	static int program[CL_PROGRAMS_MAX];
	struct cm_err unused;

	s->programs = a->programs;
	s->at_once = a->at_once;
	cm_buf_init(&s->in, CL_SPAWN_MAX + PART);
	cm_buf_init(&s->out, 2 * (size_t)CL_SPAWN_MAX);
	cm_buf_init(&s->payload, CL_SPAWN_MAX);
	s->in.secret = s->out.secret = 1;
	for (unsigned i = 0; i < CL_AT_ONCE_MAX; i++)
		s->process[i].run = CL_CELL_NOBODY;
	for (unsigned i = 0; i < a->programs; i++)
		program[i] = CL_SPAWNER_SOCKET + 1 + (int)i;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (chdir("/") != 0 || cl_cell_enter(&s->cell, program, a->programs, a->uid, a->gid, a->lacks,
				       a->memory, &unused) != CM_OK)
		return false;
	ready.job = s->cell.lacks;
	return cl_spawn_put(&s->out, &ready) == CM_OK && tell_client(s);
}

void cl_spawner_exec(const struct cl_spawner_args *a, int self)
{
	const long long value[NUMBERS] = { a->programs, a->at_once, a->memory, (long long)a->uid,
		(long long)a->gid, a->lacks };
	char name[] = NAME, text[NUMBERS][24], *argv[NUMBERS + 2] = { name }, *none[] = { NULL };

	for (size_t i = 0; i < NUMBERS; i++) {
		(void)snprintf(text[i], sizeof text[i], "%lld", value[i]);
		argv[i + 1] = text[i];
	}
	(void)syscall(SYS_execveat, self, "", argv, none, AT_EMPTY_PATH);
}

bool cl_spawner_main(int argc, char **argv, int *code)
{
	long long value[NUMBERS];
	struct cl_spawner_args a;
	static struct spawner s;

	if (argc != NUMBERS + 1 || strcmp(argv[0], NAME) != 0)
		return false;
	for (int i = 0; i < NUMBERS; i++)
		value[i] = strtoll(argv[i + 1], NULL, 10);
	a = (struct cl_spawner_args){ (unsigned)value[0], (unsigned)value[1], value[2], (uid_t)value[3],
		(gid_t)value[4], (uint32_t)value[5] };
	*code = 1;
	if (a.programs > CL_PROGRAMS_MAX || a.at_once < 1 || a.at_once > CL_AT_ONCE_MAX || !begin(&s, &a))
		return true;
	while (serve(&s))
		;
	end_job(&s);
	*code = 0;
	return true;
}
