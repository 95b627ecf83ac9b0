/* an_hook.c - runs a program with a text on its standard input. */
#define _GNU_SOURCE /* memfd_create */
#include "an_hook.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cm_clock.h"
#include "cm_file.h"

#define LOOK_NS 20000000 /* how often it is looked whether the program has ended */
#define NOT_RUN 127      /* exit code of a child that could not become the program */

/* A file in memory: a program that does not read all of it blocks nobody. */
static enum cm_rc make_input(const char *text, size_t len, int *fd, struct cm_err *err)
{
	*fd = memfd_create("settled", MFD_CLOEXEC);
	if (*fd >= 0 && cm_file_put(*fd, text, len) && lseek(*fd, 0, SEEK_SET) == 0)
		return CM_OK;
	return cm_fail(err, CM_EINTERNAL, "cannot keep the input of the program: %s", strerror(errno));
}

/* In the child; never returns. */
static void become(char **argv, int input, pid_t parent)
{
	sigset_t none;

	(void)sigemptyset(&none);
	if (setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
		sigprocmask(SIG_SETMASK, &none, NULL) == 0 && signal(SIGPIPE, SIG_DFL) != SIG_ERR &&
		dup2(input, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		(void)execv(argv[0], argv);
	_exit(NOT_RUN);
}

/* Its status in *status; false if it had to be killed. */
static bool await(pid_t pid, int64_t timeout_ms, int *status)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	int64_t end = cm_clock_mono_ms() + timeout_ms;
	pid_t ended;

	while ((ended = waitpid(pid, status, WNOHANG)) == 0 && cm_clock_mono_ms() < end)
		(void)nanosleep(&pause, NULL);
	if (ended != 0)
		return ended == pid;
	(void)kill(-pid, SIGKILL);
	(void)waitpid(pid, status, 0);
	return false;
}

enum cm_rc an_hook_run(const struct cf_strings *command, int64_t timeout_ms, const char *text, size_t len,
	struct cm_err *err)
{
	const char *name = command->item[0];
	char **argv = calloc(command->n + 1, sizeof *argv), took[32];
	pid_t parent = getpid(), pid;
	int input = -1, status = 0;
	enum cm_rc rc = argv ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; rc == CM_OK && i < command->n; i++)
		argv[i] = command->item[i];
	if (rc == CM_OK)
		rc = make_input(text, len, &input, err);
	pid = rc == CM_OK ? fork() : -1;
	if (pid == 0)
		become(argv, input, parent);
	cm_clock_duration_text(timeout_ms, took);
	if (rc == CM_OK && pid < 0)
		rc = cm_fail(err, CM_EOTHER, "%s: %s", name, strerror(errno));
	else if (rc == CM_OK && !await(pid, timeout_ms, &status))
		rc = cm_fail(err, CM_EOTHER, "%s: killed, it did not end within %s", name, took);
	else if (rc == CM_OK && WIFSIGNALED(status))
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
