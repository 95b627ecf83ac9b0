/* cl_programs.c - the client's side of its spawner of programs: sends it devices and takes their
 * answers. */
#define _GNU_SOURCE /* declares close_range, dup3, ppoll and sched_getaffinity */
#include "cl_programs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cl_cell.h"
#include "cl_cell_root.h"
#include "cl_slots.h"
#include "cl_spawn_frame.h"
#include "cl_spawner.h"
#include "cm_clock.h"
#include "cm_fault.h"

#define PART       65536u
#define READY_NS   30000000000 /* the spawner must have confined itself within this time */
#define STOP_NS    100000000   /* time between two looks at `stop` */
#define STALLED_NS 30000000000 /* a spawner that takes no bytes for this long counts as ended */

struct cl_programs {
	int socket;       /* -1: the spawner has ended */
	atomic_bool lost; /* the spawner has ended; other threads than that of cl_programs_run read it */
	pid_t pid;
	uint32_t lacks, job;
	struct cm_buf in, out;
	/* number of bytes of `out` that are sent; always less than half, so that dropping them costs no
	 * more than sending them */
	size_t sent;
};

/* The round that is being computed. */
struct asked {
	struct cl_programs *p;
	const struct cl_program_round *round;
	size_t first, n; /* devices of the present slot */
	bool *answered;  /* whether each of these devices was answered */
	uint8_t *row;
	float *numbers;
	size_t devices; /* number of devices answered in all slots */
};

/* ---- the spawner ---- */

static void lose(struct cl_programs *p)
{
	if (p->socket >= 0)
		(void)close(p->socket);
	p->socket = -1;
	atomic_store(&p->lost, true);
	p->in.len = p->out.len = p->sent = 0;
}

/* Open all program files.  *lacks: CL_CELL_TIMES if the kernel keeps the times at which a program's file is
 * read. */
static enum cm_rc open_all(const struct cl_program_conf *conf, int *fd, uint32_t *lacks, struct cm_err *err)
{
	const struct cl_program_allowed *allow = conf->allow.item;
	enum cm_rc rc = CM_OK;

	*lacks = 0;
	for (size_t i = 0; rc == CM_OK && i < conf->allow.n; i++) {
		bool timeless = false;

		rc = cl_program_file_open(allow[i].file, allow[i].hash, &fd[i], &timeless, err);
		*lacks |= timeless ? 0 : CL_CELL_TIMES;
	}
	return rc == CM_OK || rc == CM_EUNAVAIL || rc == CM_EINTERNAL ? rc : (err->code = CM_ECONFIG);
}

/* Runs in the child: arrange the descriptors as the spawner expects them, 3 for the socket and the programs
 * from 4 on. */
static void become_spawner(const struct cl_program_conf *conf, int socket, const int *fd, uint32_t lacks)
{
	struct cl_spawner_args args = { (unsigned)conf->allow.n, (unsigned)conf->at_once,
		conf->memory_mib << 20, conf->uid, conf->gid, lacks };
	int copy[CL_PROGRAMS_MAX + 2], n = (int)conf->allow.n;
	/* open it now, since the new root has no /proc */
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (!(lacks & CL_CELL_NAMESPACES) && !cl_cell_root(fd, conf->allow.n))
		args.lacks |= CL_CELL_ROOT;
	/* First copy them to numbers above those wanted, so that none is overwritten before it was
	 * copied. */
	for (int i = 0; i <= n + 1; i++) {
		copy[i] = fcntl(i == 0   ? socket
				: i <= n ? fd[i - 1]
					 : self,
			F_DUPFD, CL_SPAWNER_SOCKET + n + 2);
		if (copy[i] < 0)
			_exit(126);
	}
	for (int i = 0; i <= n + 1; i++)
		if (dup3(copy[i], CL_SPAWNER_SOCKET + i, i <= n ? 0 : O_CLOEXEC) < 0)
			_exit(126);
	(void)close_range((unsigned)(CL_SPAWNER_SOCKET + n + 2), ~0U, 0);
	cl_spawner_exec(&args, CL_SPAWNER_SOCKET + n + 1);
	_exit(127);
}

static void close_programs(const int *fd, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fd[i] >= 0)
			(void)close(fd[i]);
}

static enum cm_rc spawn(struct cl_programs *p, const struct cl_program_conf *conf, struct cm_err *err)
{
	int fd[CL_PROGRAMS_MAX], pair[2] = { -1, -1 };
	uint32_t lacks, times;
	enum cm_rc rc;

	memset(fd, 0xff, sizeof fd);
	rc = open_all(conf, fd, &times, err);
	if (rc == CM_OK && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		rc = cm_fail(err, CM_EUNAVAIL, "no socket for the spawner of programs: %s", strerror(errno));
	if (rc == CM_OK) {
		p->pid = cl_cell_clone(&lacks);
		if (p->pid == 0)
			become_spawner(conf, pair[1], fd, lacks | times);
		if (p->pid < 0)
			rc = cm_fail(err, CM_EUNAVAIL, "no process for the spawner of programs: %s",
				strerror(errno));
	}
	close_programs(fd, conf->allow.n);
	if (pair[1] >= 0)
		(void)close(pair[1]);
	p->socket = pair[0];
	return rc;
}

/* Read and write what is possible until this time.  Returns early once `in` holds something, or once
 * nothing is left in `out`, for callers that wait for that. */
static bool exchange(struct cl_programs *p, int64_t until_ns)
{
	int64_t left = until_ns - cm_clock_mono_ns();
	struct timespec wait;
	struct pollfd fd = { p->socket, (short)(POLLIN | (p->out.len > 0 ? POLLOUT : 0)), 0 };
	uint8_t *room;
	ssize_t n;

	left = left > 0 ? left : 0;
	wait = (struct timespec){ (time_t)(left / 1000000000), (long)(left % 1000000000) };
	if (ppoll(&fd, 1, &wait, NULL) < 0)
		return errno == EINTR;
	if (fd.revents & POLLOUT) {
		n = send(p->socket, p->out.data + p->sent, p->out.len - p->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		p->sent += n > 0 ? (size_t)n : 0;
		if (p->sent >= p->out.len / 2) {
			cm_buf_drop(&p->out, p->sent);
			p->sent = 0;
		}
	}
	if (!(fd.revents & (POLLIN | POLLHUP | POLLERR)))
		return true;
	room = cm_buf_room(&p->in, PART);
	n = room ? recv(p->socket, room, PART, MSG_DONTWAIT) : 0;
	if (n > 0)
		p->in.len += (size_t)n;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static enum cm_rc wait_ready(struct cl_programs *p, struct cm_err *err)
{
	int64_t until = cm_clock_mono_ns() + READY_NS;
	struct cl_spawn_frame f = { .kind = 0 };
	size_t taken;
	enum cm_rc rc = CM_EMORE;

	while (rc == CM_EMORE && cm_clock_mono_ns() < until) {
		if (!exchange(p, until))
			break;
		rc = cl_spawn_take(&p->in, 0, &f, &taken, err);
	}
	if (rc != CM_OK || f.kind != CL_SPAWN_READY)
		return cm_fail(err, CM_EUNAVAIL,
			"the spawner of programs did not start: the kernel or the service manager refuses "
			"it");
	cm_buf_drop(&p->in, taken);
	p->lacks = f.job;
	return CM_OK;
}

enum cm_rc cl_programs_start(const struct cl_program_conf *conf, struct cl_programs **out, struct cm_err *err)
{
	struct cl_programs *p;
	enum cm_rc rc;

	*out = NULL;
	if (conf->allow.n == 0)
		return CM_OK;
	p = calloc(1, sizeof *p);
	if (!p)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	p->socket = -1;
	cm_buf_init(&p->in, CL_SPAWN_MAX + PART);
	cm_buf_init(&p->out, 2 * (size_t)CL_SPAWN_MAX);
	p->in.secret = p->out.secret = 1;
	rc = spawn(p, conf, err);
	if (rc == CM_OK)
		rc = wait_ready(p, err);
	if (rc == CM_OK)
		rc = cl_program_conf_accepts(conf, p->lacks | cl_program_conf_lacks(conf), err);
	/* Refuse to run several at once without Landlock: they could open each other's input and output. */
	if (rc == CM_OK && (p->lacks & CL_CELL_FILES) && conf->at_once > 1)
		rc = cm_fail(err, CM_ECONFIG,
			"programs.at_once is above 1, and without Landlock a program could read another "
			"device's input and write its answer");
	if (rc != CM_OK) {
		cl_programs_stop(p);
		return rc;
	}
	*out = p;
	return CM_OK;
}

void cl_programs_stop(struct cl_programs *p)
{
	if (!p)
		return;
	lose(p);
	/* The spawner is the first process of its namespace, so it ignores every signal except SIGKILL. */
	if (p->pid > 0) {
		(void)kill(p->pid, SIGKILL);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	cm_buf_fini(&p->in);
	cm_buf_fini(&p->out);
	free(p);
}

uint32_t cl_programs_lacks(const struct cl_programs *p)
{
	return p ? p->lacks : 0;
}

bool cl_programs_lost(struct cl_programs *p)
{
	if (!p)
		return false;
	if (p->pid > 0 && waitpid(p->pid, NULL, WNOHANG) == p->pid) {
		p->pid = -1; /* the kernel may give this number to another process from now on */
		atomic_store(&p->lost, true);
	}
	return atomic_load(&p->lost);
}

/* ---- a round ---- */

int64_t cl_programs_time(
	const struct cl_program_conf *conf, size_t devices, double seconds, uint64_t payload_size)
{
	return cl_slots_length(&(struct cl_slots_of){
		devices, (size_t)conf->at_once, seconds, payload_size, !conf->isolate });
}

static bool stopped(const struct cl_program_round *round)
{
	return round->stop && atomic_load(round->stop);
}

static void tell(struct asked *a, size_t i, const float *numbers)
{
	a->devices++;
	a->round->answer(a->round->user, i, numbers);
}

static void take(struct asked *a, const struct cl_spawn_frame *f)
{
	size_t d = a->round->job.dimension, at = (size_t)f->serial - a->first;

	/* This answers a device of an earlier slot or round, so it is too late. */
	if (f->kind != CL_SPAWN_ANSWER || f->job != a->p->job || f->serial < a->first || at >= a->n ||
		a->answered[at])
		return;
	a->answered[at] = true;
	for (size_t i = 0; f->len == 4 * d && i < d; i++) {
		uint32_t bits = cm_get_le32(f->bytes + 4 * i);

		memcpy(&a->numbers[i], &bits, sizeof bits);
	}
	tell(a, f->serial, f->len == 4 * d ? a->numbers : NULL);
}

/* Exchange frames until this time or, with only_send, until everything is sent.  Takes the answers that
 * arrive. */
static void talk(struct asked *a, int64_t until_ns, bool only_send)
{
	struct cl_programs *p = a->p;
	struct cl_spawn_frame f;
	struct cm_err unused;
	int64_t now;

	while ((now = cm_clock_mono_ns()) < until_ns && !stopped(a->round) &&
		(!only_send || (p->socket >= 0 && p->out.len > 0))) {
		int64_t look = now + STOP_NS < until_ns ? now + STOP_NS : until_ns;
		size_t at = 0, taken;
		enum cm_rc rc;

		if (p->socket < 0) {
			const struct timespec rest = { 0, (long)(look - now) };

			(void)nanosleep(&rest, NULL);
			continue;
		}
		if (!exchange(p, look)) {
			lose(p);
			continue;
		}
		while ((rc = cl_spawn_take(&p->in, at, &f, &taken, &unused)) == CM_OK) {
			take(a, &f);
			at += taken;
		}
		cm_buf_drop(&p->in, at);
		if (rc != CM_EMORE)
			lose(p);
	}
}

static void put(struct cl_programs *p, const struct cl_spawn_frame *f)
{
	if (p->socket >= 0 && cl_spawn_put(&p->out, f) != CM_OK)
		lose(p);
}

static void give(struct asked *a, size_t i)
{
	size_t numbers = (size_t)a->round->job.features + 1;
	const uint32_t *reading = a->round->reading(a->round->user, i);
	const struct cl_spawn_frame f = { .kind = CL_SPAWN_ROW,
		.job = a->p->job,
		.serial = (uint32_t)i,
		.lane = (uint32_t)(i - a->first),
		.bytes = a->row,
		.len = 4 * numbers };

	memset(a->row, 0, 4 * numbers);
	for (size_t j = 0; reading && j < numbers; j++)
		cm_put_le32(a->row + 4 * j, reading[j]);
	put(a->p, &f);
}

/* Number of processors on which this process and its programs may run. */
static unsigned processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static void begin(struct asked *a, const struct cl_program_conf *conf, int program, int64_t length_ns)
{
	const struct cl_lane_job *job = &a->round->job;
	size_t devices = a->round->devices, at_once = (size_t)conf->at_once;
	struct cl_spawn_frame f = { .kind = CL_SPAWN_BEGIN,
		.job = ++a->p->job,
		.program = (uint32_t)program,
		.features = job->features,
		.classes = job->classes,
		.dimension = job->dimension,
		.budget_ns = (uint64_t)cl_slots_budget(length_ns),
		.processor_ns = (uint64_t)cl_slots_processor(
			length_ns, devices < at_once ? devices : at_once, processors()),
		.bytes = job->payload,
		.len = job->payload_len };

	if (!conf->isolate || !CM_CHECKED("client.program.isolate"))
		f.keep = (uint8_t)(devices < at_once ? devices : at_once);
	/* If bytes of an earlier round are still unsent, the spawner hangs. */
	if (program < 0 || a->p->out.len > 0)
		lose(a->p);
	put(a->p, &f);
	talk(a, cm_clock_mono_ns() + STALLED_NS, true);
	if (a->p->out.len > 0)
		lose(a->p);
}

/* Report that the other devices of the slot have no answer. */
static void close_slot(struct asked *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (!a->answered[i])
			tell(a, a->first + i, NULL);
	a->first += a->n;
	a->n = 0;
}

static void run_slots(struct asked *a, struct cl_slots *slots, int64_t *end_ns)
{
	for (;;) {
		talk(a, slots->next_ns, false);
		a->n = stopped(a->round) ? 0 : cl_slots_take(slots, cm_clock_mono_ns(), end_ns);
		if (a->n == 0) {
			talk(a, slots->end_ns, false);
			return;
		}
		memset(a->answered, 0, a->n * sizeof *a->answered);
		for (size_t i = 0; i < a->n; i++)
			give(a, a->first + i);
		talk(a, *end_ns, false);
		close_slot(a);
	}
}

static void asked_fini(struct asked *a)
{
	size_t d = a->round->job.dimension, m = a->round->job.features;

	if (a->row)
		explicit_bzero(a->row, 4 * (m + 1));
	if (a->numbers)
		explicit_bzero(a->numbers, d * sizeof *a->numbers);
	free(a->row);
	free(a->numbers);
	free(a->answered);
}

enum cm_rc cl_programs_run(struct cl_programs *p, const struct cl_program_conf *conf,
	const struct cl_program_round *round, int64_t *end_ns, struct cm_err *err)
{
	struct cl_programs nobody = { .socket = -1 };
	struct asked a = { .p = p ? p : &nobody, .round = round };
	const struct cl_spawn_frame end = { .kind = CL_SPAWN_END, .job = a.p->job + 1 };
	struct cl_slots slots;
	enum cm_rc rc = CM_OK;

	a.answered = calloc((size_t)conf->at_once, sizeof *a.answered);
	a.row = calloc((size_t)round->job.features + 1, 4);
	a.numbers = calloc((size_t)round->job.dimension + 1, sizeof *a.numbers);
	*end_ns = round->start_ns;
	if (!a.answered || !a.row || !a.numbers) {
		asked_fini(&a);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	cl_slots_init(&slots, round->start_ns,
		&(struct cl_slots_of){ round->devices, (size_t)conf->at_once, round->seconds,
			round->payload_size, !conf->isolate });
	talk(&a, round->start_ns, false);
	begin(&a, conf, cl_program_conf_find(conf, round->hash), slots.length_ns);
	run_slots(&a, &slots, end_ns);
	while (a.devices < round->devices)
		tell(&a, a.devices, NULL);
	if (a.p->socket < 0)
		rc = cm_fail(err, CM_EUNAVAIL,
			"the spawner of programs has ended: no device has an answer until the client is "
			"started again");
	put(a.p, &end);
	talk(&a, cm_clock_mono_ns() + STOP_NS, true);
	asked_fini(&a);
	return rc;
}
