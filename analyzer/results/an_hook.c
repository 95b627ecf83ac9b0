/* an_hook.c - runs a program with a text on its standard input. */
#define _GNU_SOURCE /* declares memfd_create and pipe2 */
#include "an_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cm_clock.h"
#include "cm_file.h"
#include "cm_log.h"
#include "cm_owned.h"

#define LOOK_MS    20     /* pause between two checks whether the program has ended */
#define END_MS     10000  /* time limit for killing its descendants */
#define OUTPUT_MAX 65536u /* most bytes of its output that reach our log */
#define NOT_RUN    127    /* exit code of a child that could not start the program */

/* Make the input a file in memory, so that a program that does not read all of it does not block us. */
static enum cm_rc make_input(const char *text, size_t len, int *fd, struct cm_err *err)
{
	*fd = memfd_create("settled", MFD_CLOEXEC);
	if (*fd >= 0 && cm_file_put(*fd, text, len) && lseek(*fd, 0, SEEK_SET) == 0)
		return CM_OK;
	return cm_fail(err, CM_EINTERNAL, "cannot keep the input of the program: %s", strerror(errno));
}

/* Runs in the child; never returns. */
static void become(char **argv, int input, int output, pid_t parent)
{
	sigset_t none;

	(void)sigemptyset(&none);
	if (setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
		sigprocmask(SIG_SETMASK, &none, NULL) == 0 && signal(SIGPIPE, SIG_DFL) != SIG_ERR &&
		dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
		dup2(output, STDERR_FILENO) >= 0)
		(void)execv(argv[0], argv);
	_exit(NOT_RUN);
}

/* The program's output, of which the first `left` bytes go to our stderr. */
struct output {
	int fd;
	size_t left;
	bool cut;
};

/* Read the output that has come, or comes within LOOK_MS.  All of it is read, so that a program that writes
 * too much is not held up, and no reader of our stderr is waited for. */
static void take_output(struct output *o, int wait_ms)
{
	struct pollfd in = { .fd = o->fd, .events = POLLIN },
		      log = { .fd = STDERR_FILENO, .events = POLLOUT };
	char part[PIPE_BUF];
	ssize_t n;

	if (poll(&in, 1, wait_ms) != 1)
		return;
	/* Read a limited number of times: a program that writes without end must not keep us from checking
	 * the clock. */
	for (unsigned i = 0; i < 64 && (n = read(o->fd, part, sizeof part)) > 0; i++) {
		size_t out = (size_t)n < o->left ? (size_t)n : o->left;

		if (poll(&log, 1, 0) != 1 || !cm_file_put(STDERR_FILENO, part, out))
			out = 0;
		o->left -= out;
		o->cut = o->cut || out < (size_t)n;
	}
}

/* Kill the children of one of our threads; sets *some if there were any. */
static enum cm_rc kill_children(void *some, const char *thread, struct cm_err *err)
{
	char name[64], word[24];
	FILE *f;

	(void)err;
	(void)snprintf(name, sizeof name, "/proc/self/task/%.20s/children", thread);
	f = fopen(name, "re");
	while (f && fscanf(f, "%23s", word) == 1) {
		*(bool *)some = true;
		(void)kill((pid_t)strtol(word, NULL, 10), SIGKILL);
	}
	if (f)
		(void)fclose(f);
	return CM_OK;
}

/* End every descendant of the program, in whatever session or group it is.  This process is their reaper
 * (PR_SET_CHILD_SUBREAPER), so a descendant whose parent dies becomes our child.  Returns false if some are
 * still alive after END_MS. */
static bool end_all(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int64_t end = cm_clock_mono_ms() + END_MS;
	struct cm_err ignored;
	bool some;

	do {
		some = false;
		(void)!cm_file_each("/proc/self/task", kill_children, &some, &ignored);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		if (some)
			(void)nanosleep(&pause, NULL);
	} while (some && cm_clock_mono_ms() < end);
	return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

/* Wait for the program; its status is in *status.  Returns false if it had to be killed. */
static bool await(pid_t pid, int64_t timeout_ms, struct output *o, int *status)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	int64_t end = cm_clock_mono_ms() + timeout_ms;
	pid_t ended;

	while ((ended = waitpid(pid, status, WNOHANG)) == 0 && cm_clock_mono_ms() < end) {
		take_output(o, LOOK_MS);
		if (o->cut)
			(void)nanosleep(&pause, NULL);
	}
	return ended == pid;
}

/* Run the program, then end it and all that it started.  *status says how it ended.  CM_EOTHER: it had to
 * be killed or could not be run. */
static enum cm_rc run(char **argv, int input, int64_t timeout_ms, int *status, struct cm_err *err)
{
	struct output o = { .left = OUTPUT_MAX };
	pid_t parent = getpid(), pid;
	int pipes[2];
	bool in_time, all;
	char took[32];

	cm_clock_duration_text(timeout_ms, took);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || pipe2(pipes, O_CLOEXEC | O_NONBLOCK) != 0)
		return cm_fail(err, CM_EOTHER, "%s: %s", argv[0], strerror(errno));
	/* The program's end of the pipe blocks, as programs expect. */
	(void)fcntl(pipes[1], F_SETFL, 0);
	pid = fork();
	if (pid == 0)
		become(argv, input, pipes[1], parent);
	(void)close(pipes[1]);
	o.fd = pipes[0];
	if (pid < 0) {
		(void)close(o.fd);
		return cm_fail(err, CM_EOTHER, "%s: %s", argv[0], strerror(errno));
	}
	in_time = await(pid, timeout_ms, &o, status);
	all = end_all();
	take_output(&o, 0);
	(void)close(o.fd);
	if (o.cut)
		cm_log(CM_LOG_WARN, "the program wrote too much: the rest was dropped",
			CM_S("program", argv[0]), CM_I("bytes", OUTPUT_MAX));
	if (!in_time)
		return cm_fail(err, CM_EOTHER, "%s: killed, it did not end within %s", argv[0], took);
	return all ? CM_OK : cm_fail(err, CM_EOTHER, "%s: what it started cannot be ended", argv[0]);
}

enum cm_rc an_hook_run(const struct cf_strings *command, int64_t timeout_ms, const char *text, size_t len,
	struct cm_err *err)
{
	const char *name = command->item[0];
	char **argv = calloc(command->n + 1, sizeof *argv);
	int input = -1, status = 0;
	enum cm_rc rc = argv ? cm_owned_path(name, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; rc == CM_OK && i < command->n; i++)
		argv[i] = command->item[i];
	if (rc == CM_OK)
		rc = make_input(text, len, &input, err);
	if (rc == CM_OK)
		rc = run(argv, input, timeout_ms, &status, err);
	if (rc == CM_OK && WIFSIGNALED(status))
		rc = cm_fail(err, CM_EOTHER, "%s: killed by signal %d", name, WTERMSIG(status));
	else if (rc == CM_OK && WEXITSTATUS(status) == NOT_RUN)
		rc = cm_fail(err, CM_EOTHER, "%s: cannot be run, or ended with 127", name);
	else if (rc == CM_OK && WEXITSTATUS(status) != 0)
		rc = cm_fail(err, CM_EOTHER, "%s: ended with %d", name, WEXITSTATUS(status));
	if (input >= 0)
		(void)close(input);
	free(argv);
	return rc;
}
