/* tool_demo_children.c (tool_demo_private.h) - runs the three daemons as child processes: starts, asks,
 * watches and ends them. */
#define _GNU_SOURCE /* declares pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cm_clock.h"
#include "tool_demo_private.h"

#define STOP_MS  10000
#define TICK_NS  20000000
#define LOG_TAIL 32768
#define ARGS_MAX 20

static void tick(void)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = TICK_NS }, NULL);
}

/* Runs in the child: executes the program, or exits with 127.  The child ends when its parent does. */
static _Noreturn void become(const struct demo *d, const char *name, char *const *argv, int out, int said)
{
	char path[DEMO_PATH + 64];
	int null = open("/dev/null", O_RDWR);

	(void)snprintf(path, sizeof path, "%s%s%s", d->bin, *d->bin != '\0' ? "/" : "", name);
	if (null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(said, 2) >= 0 &&
		prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		(void)execvp(path, argv);
	_exit(127);
}

/* Runs PARTY --config DIR/PARTY.conf WORD...; its outputs are out and said, which are closed here. */
static enum cm_rc spawn(const struct demo *d, enum tool_demo_party party, const char *const *word, int out,
	int said, pid_t *pid, struct cm_err *err)
{
	char name[32], file[32], conf[DEMO_PATH];
	char *argv[ARGS_MAX] = { name, (char[]){ "--config" }, conf, (char[]){ "--log-format" },
		(char[]){ "json" } };
	size_t n = 5;
	enum cm_rc rc;

	(void)snprintf(name, sizeof name, "tombola-%s",
		tool_demo_party_name[party < DEMO_CLIENT ? party : DEMO_CLIENT]);
	(void)snprintf(file, sizeof file, "%s.conf", tool_demo_party_name[party]);
	rc = tool_demo_path(d, file, conf, err);
	while (*word && n + 1 < ARGS_MAX)
		argv[n++] = (char *)(uintptr_t)*word++; /* exec's argv is not const in the type only */
	(void)fflush(NULL);
	*pid = rc == CM_OK ? fork() : -1;
	if (*pid == 0)
		become(d, name, argv, out, said);
	(void)close(out);
	if (said != out)
		(void)close(said);
	if (*pid < 0 && rc == CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "%s: %s", name, strerror(errno));
	return rc;
}

static int open_log(const struct demo *d, const char *party, struct cm_err *err)
{
	char file[32], path[DEMO_PATH];
	int fd = -1;

	(void)snprintf(file, sizeof file, "%s.log", party);
	if (tool_demo_path(d, file, path, err) == CM_OK) {
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (fd < 0)
			(void)cm_fail(err, CM_ECREATE, "%s: %s", path, strerror(errno));
	}
	return fd;
}

enum cm_rc tool_demo_start(struct demo *d, enum tool_demo_party party, struct cm_err *err)
{
	static const char *const run[] = { "run", NULL }, *const once[] = { "run", "--once", "--json", NULL };
	int log = open_log(d, tool_demo_party_name[party], err), ends[2];

	if (log < 0)
		return err->code;
	if (party != DEMO_ANALYZER)
		return spawn(d, party, run, log, log, &d->pid[party], err);
	if (pipe2(ends, O_CLOEXEC) != 0) {
		(void)close(log);
		return cm_fail(err, CM_EINTERNAL, "pipe: %s", strerror(errno));
	}
	d->said = ends[0];
	return spawn(d, party, once, log, ends[1], &d->pid[party], err);
}

void tool_demo_last_words(const struct demo *d, const char *name, char *out, size_t size)
{
	char file[32], path[DEMO_PATH], text[LOG_TAIL + 1], words[] = "it said nothing", *line;
	struct cm_err unused;
	size_t n = 0;
	FILE *f = NULL;

	(void)snprintf(file, sizeof file, "%s.log", name);
	if (tool_demo_path(d, file, path, &unused) == CM_OK)
		f = fopen(path, "r");
	if (f) {
		(void)fseek(f, -LOG_TAIL, SEEK_END);
		n = fread(text, 1, LOG_TAIL, f);
		(void)fclose(f);
	}
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	line = strrchr(text, '\n');
	line = n == 0 ? words : line ? line + 1 : text;
	(void)snprintf(out, size, "%.*s", (int)size - 1, line);
}

/* Turns a child's end into a failure; `status` is what wait gave. */
static enum cm_rc ended_as(const struct demo *d, enum tool_demo_party party, int status, struct cm_err *err)
{
	char words[200];
	enum cm_rc rc = CM_EOTHER;

	for (int c = CM_EOTHER; WIFEXITED(status) && c <= CM_ECONFIG; c++)
		if (cm_exit_code((enum cm_rc)c) == WEXITSTATUS(status))
			rc = (enum cm_rc)c;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return cm_fail(err, CM_ENOINPUT, "there is no tombola-%s %s%s", tool_demo_party_name[party],
			*d->bin != '\0' ? "in " : "on PATH", d->bin);
	tool_demo_last_words(d, tool_demo_party_name[party], words, sizeof words);
	return cm_fail(err, rc, "the %s ended: %s", tool_demo_party_name[party], words);
}

static enum cm_rc collect(
	struct demo *d, enum tool_demo_party party, int flags, bool may_end, struct cm_err *err)
{
	int status = 0;
	pid_t got;

	if (d->pid[party] == 0)
		return CM_OK;
	do
		got = waitpid(d->pid[party], &status, flags);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return CM_OK;
	d->pid[party] = 0;
	return may_end && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? CM_OK
									: ended_as(d, party, status, err);
}

enum cm_rc tool_demo_alive(struct demo *d, struct cm_err *err)
{
	enum cm_rc rc = collect(d, DEMO_SHUFFLER, WNOHANG, false, err);

	for (unsigned k = 0; rc == CM_OK && k < d->clients; k++)
		rc = collect(d, (enum tool_demo_party)(DEMO_CLIENT + k), WNOHANG, false, err);
	if (rc == CM_OK && cm_clock_mono_ms() > d->deadline_ms)
		rc = cm_fail(err, CM_ELATER, "the plan did not end within --timeout");
	return rc;
}

enum cm_rc tool_demo_ended(struct demo *d, struct cm_err *err)
{
	return collect(d, DEMO_ANALYZER, 0, true, err);
}

enum cm_rc tool_demo_ask(struct demo *d, enum tool_demo_party party, const char *const *verb,
	struct cm_buf *out, int *exit_code, struct cm_err *err)
{
	int log = open_log(d, "demo", err), ends[2], status = 0;
	uint8_t chunk[4096];
	enum cm_rc rc = CM_OK;
	ssize_t n = 0;
	pid_t pid = -1;

	if (log < 0)
		return err->code;
	if (pipe2(ends, O_CLOEXEC) != 0) {
		(void)close(log);
		return cm_fail(err, CM_EINTERNAL, "pipe: %s", strerror(errno));
	}
	rc = spawn(d, party, verb, ends[1], log, &pid, err);
	while (rc == CM_OK && ((n = read(ends[0], chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0 && cm_buf_put(out, chunk, (size_t)n) != CM_OK)
			rc = cm_fail(err, CM_EDATA, "tombola-%s %s printed more than this program reads",
				tool_demo_party_name[party], verb[0]);
	(void)close(ends[0]);
	if (pid > 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	if (exit_code)
		*exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : cm_exit_code(CM_EINTERNAL);
	else if (rc == CM_OK && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		rc = cm_fail(err, CM_EUNAVAIL, "tombola-%s %s fails", tool_demo_party_name[party], verb[0]);
	return rc;
}

enum cm_rc tool_demo_ready(struct demo *d, struct cm_err *err)
{
	static const char *const verb[] = { "check", "--warn-cert", "0", NULL };
	struct cm_err not_yet = { 0 };
	struct cm_buf out;
	enum cm_rc rc = CM_OK, asked = CM_EUNAVAIL;

	while (rc == CM_OK && asked != CM_OK) {
		cm_buf_init(&out, 65536);
		asked = tool_demo_ask(d, DEMO_SHUFFLER, verb, &out, NULL, &not_yet);
		cm_buf_fini(&out);
		rc = tool_demo_alive(d, err);
		if (asked != CM_OK)
			tick();
	}
	return rc;
}

void tool_demo_stop(struct demo *d)
{
	int64_t end = cm_clock_mono_ms() + STOP_MS;
	struct cm_err unused = { 0 };
	bool left = true;

	for (int p = 0; p < DEMO_PARTIES; p++)
		if (d->pid[p] > 0)
			(void)kill(d->pid[p], SIGTERM);
	while (left) {
		left = false;
		for (int p = 0; p < DEMO_PARTIES; p++) {
			(void)!collect(d, (enum tool_demo_party)p, WNOHANG, true, &unused);
			if (d->pid[p] > 0 && cm_clock_mono_ms() > end)
				(void)kill(d->pid[p], SIGKILL);
			left = left || d->pid[p] > 0;
		}
		if (left)
			tick();
	}
	if (d->said >= 0)
		(void)close(d->said);
	d->said = -1;
}
