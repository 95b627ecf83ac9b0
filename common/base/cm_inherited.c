/* cm_inherited.c - repairs the standard streams, blocked signals and SIGCHLD that a program inherits. */
#include "cm_inherited.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cm_rc.h"

void cm_inherited_mend(void)
{
	sigset_t none;

	/* Each is opened in the wrong direction, so that using it stays an error. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(cm_exit_code(CM_EINTERNAL));
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
