/* cl_cell.c - sets up the namespaces, user, file access and limits of programs. */
#define _GNU_SOURCE /* declares clone and pipe2 */
#include "cl_cell.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cl_cell_calls.h"
#include "cl_cell_root.h"

#define OWN         3 /* descriptor of the program's file, in the process that becomes the program */
#define CONTROL     4 /* descriptor of the socket to the spawner, in that process until then */
#define DESCRIPTORS 64
#define INNER_USER  65534 /* id of the user in a namespace of users */
#define POLITE      5     /* A program is this much nicer than its client, which must wake up in time. */

/* Names of the CL_CELL_ bits; the index is the number of the bit. */
static const char *const lack_names[] = { "namespaces", "user", "landlock", "one-program", "access-times",
	"root", "process", "machine" };
#define LACKS (sizeof lack_names / sizeof lack_names[0])

void cl_cell_text(uint32_t lacks, char out[CL_CELL_TEXT])
{
	out[0] = '\0';
	for (size_t i = 0, n = 0; i < LACKS; i++)
		if (lacks & 1u << i)
			n += (size_t)snprintf(
				out + n, CL_CELL_TEXT - n, "%s%s", n > 0 ? ", " : "", lack_names[i]);
}

uint32_t cl_cell_lack(const char *name)
{
	for (size_t i = 0; i < LACKS; i++)
		if (strcmp(lack_names[i], name) == 0)
			return 1u << i;
	return 0;
}

/* ---- 1: namespaces; between clone and exec of a child that has one thread ---- */

static bool put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return ok;
}

/* Map the outer user to an unprivileged one inside: the spawner loses the namespace's capabilities when it
 * becomes that user. */
static bool map_user(uid_t uid, gid_t gid)
{
	char text[64];

	(void)snprintf(text, sizeof text, "%d %lu 1", INNER_USER, (unsigned long)uid);
	if (!put_text("/proc/self/uid_map", text) || !put_text("/proc/self/setgroups", "deny"))
		return false;
	(void)snprintf(text, sizeof text, "%d %lu 1", INNER_USER, (unsigned long)gid);
	return put_text("/proc/self/gid_map", text);
}

/* All mounts read-only, so that not even the time of an access is written. */
static bool freeze_mounts(void)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	/* For programs that get no root of their own: a /proc that lists the processes of this namespace
	 * alone, and to each only those that it may trace, which is itself.  Kernels refuse it to users of
	 * containers that hide parts of /proc. */
	(void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=4");
	return mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) == 0;
}

/* Where memory runs out, the kernel ends programs and their spawner before their client. */
static void go_first(void)
{
	(void)put_text("/proc/self/oom_score_adj", "1000");
}

pid_t cl_cell_clone(uint32_t *lacks)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	bool root = uid == 0;
	unsigned long all = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
			    SIGCHLD | (root ? 0 : CLONE_NEWUSER);
	pid_t pid = (pid_t)syscall(SYS_clone, all, 0L, 0L, 0L, 0L);

	*lacks = root ? 0 : CL_CELL_USER;
	if (pid == 0)
		go_first();
	if (pid == 0)
		*lacks = !root && !map_user(uid, gid) ? CL_CELL_NAMESPACES | CL_CELL_USER
			 : !freeze_mounts()           ? CL_CELL_NAMESPACES
						      : 0;
	if (pid >= 0)
		return pid;
	pid = fork();
	if (pid == 0)
		go_first();
	*lacks |= CL_CELL_NAMESPACES;
	return pid;
}

/* ---- 2: user and files ---- */

static bool become(uid_t uid, gid_t gid)
{
	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0;
}

/* The structure of linux/landlock.h.  Older versions of that header lack the last two members. */
struct ruleset {
	uint64_t files, ports, scoped;
};
#define LANDLOCK_REFER    (1ULL << 13)
#define LANDLOCK_TRUNCATE (1ULL << 14)
#define LANDLOCK_IOCTL    (1ULL << 15)

static void let_read(int rules, const char *path)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = open(path, O_PATH | O_CLOEXEC),
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE };
	struct stat st;

	if (rule.parent_fd < 0)
		return;
	if (fstat(rule.parent_fd, &st) == 0 && S_ISDIR(st.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	(void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	(void)close(rule.parent_fd);
}

static bool is_script(int program)
{
	char interpreter[CL_SCRIPT_MAX];

	cl_cell_interpreter(program, interpreter);
	return interpreter[0] != '\0';
}

static bool has_root(uint32_t lacks)
{
	return !(lacks & (CL_CELL_NAMESPACES | CL_CELL_ROOT));
}

static bool restrict_files(const struct cl_cell *c, size_t n)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset all = { .files = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 };
	char interpreter[CL_SCRIPT_MAX];
	bool ok;
	int rules;

	if (abi < 1)
		return false;
	all.files |= (abi >= 2 ? LANDLOCK_REFER : 0) | (abi >= 3 ? LANDLOCK_TRUNCATE : 0) |
		     (abi >= 5 ? LANDLOCK_IOCTL : 0);
	all.ports = abi >= 4 ? 3 : 0;
	all.scoped = abi >= 6 ? 3 : 0;
	rules = (int)syscall(SYS_landlock_create_ruleset, &all, abi >= 6 ? 24 : abi >= 4 ? 16 : 8, 0);
	if (rules < 0)
		return false;
	for (size_t i = 0; cl_cell_readable[i]; i++)
		let_read(rules, cl_cell_readable[i]);
	if (has_root(c->lacks))
		let_read(rules, CL_SCRIPTS);
	for (size_t i = 0; i < n; i++) {
		cl_cell_interpreter(c->program[i], interpreter);
		if (interpreter[0] == '/')
			let_read(rules, interpreter);
	}
	ok = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
	(void)close(rules);
	return ok;
}

/* Find out whether this kernel can ask the spawner before a program is run.  A child process tries it and
 * ends. */
static bool can_wait(const struct cl_calls *calls)
{
	pid_t pid = fork();
	int status = 1, listener;

	if (pid == 0)
		_exit(cl_calls_confine(calls, true, &listener) ? 0 : 1);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

/* Open /dev/null, and make it this process's input, output and log as well, so that the process no longer
 * reaches those of its client. */
static int open_nowhere(void)
{
	int low = open("/dev/null", O_RDWR | O_CLOEXEC), fd = fcntl(low, F_DUPFD_CLOEXEC, CONTROL + 1);

	for (int i = 0; fd >= 0 && i < OWN; i++)
		if (dup2(fd, i) < 0)
			return -1;
	if (low >= OWN)
		(void)close(low);
	return fd;
}

enum cm_rc cl_cell_enter(struct cl_cell *c, const int *program, size_t n, uid_t uid, gid_t gid,
	uint32_t lacks, int64_t memory, struct cm_err *err)
{
	const struct rlimit no_core = { 0, 0 };
	enum cm_rc rc;

	*c = (struct cl_cell){
		.lacks = lacks, .memory = memory, .program = program, .calls = calloc(1, sizeof *c->calls)
	};
	if (!c->calls)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	c->nowhere = open_nowhere();
	if (c->nowhere < 0)
		return cm_fail(err, CM_EUNAVAIL, "/dev/null: %s", strerror(errno));
	if (geteuid() == 0 && !become(uid, gid))
		c->lacks |= CL_CELL_USER;
	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return cm_fail(err, CM_EUNAVAIL, "no_new_privs: %s", strerror(errno));
	rc = cl_calls_make(true, c->calls, err);
	if (rc != CM_OK || !can_wait(c->calls)) {
		c->lacks |= CL_CELL_ONCE;
		rc = cl_calls_make(false, c->calls, err);
	}
	if (rc != CM_OK)
		return rc;
	if (!restrict_files(c, n))
		c->lacks |= CL_CELL_FILES;
	return cl_calls_confine_spawner(c->calls)
		       ? CM_OK
		       : cm_fail(err, CM_EUNAVAIL, "the kernel refuses the filter of system calls: %s",
				 strerror(errno));
}

/* ---- 3: the program ---- */

static bool limit(const struct cl_cell *c, unsigned seconds)
{
	const struct {
		int what;
		rlim_t most;
	} row[] = { { RLIMIT_CORE, 0 }, { RLIMIT_FSIZE, 0 }, { RLIMIT_NPROC, 0 },
		{ RLIMIT_NOFILE, DESCRIPTORS }, { RLIMIT_MEMLOCK, 0 }, { RLIMIT_MSGQUEUE, 0 },
		{ RLIMIT_CPU, seconds }, { RLIMIT_AS, (rlim_t)c->memory } };

	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct rlimit now;

		/* Never raise a limit that is lower already. */
		if (getrlimit((__rlimit_resource_t)row[i].what, &now) != 0)
			return false;
		if (row[i].most < now.rlim_max)
			now.rlim_max = row[i].most;
		now.rlim_cur = now.rlim_max;
		if (setrlimit((__rlimit_resource_t)row[i].what, &now) != 0)
			return false;
	}
	return true;
}

static bool send_listener(int listener)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};

	control.head = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS
	};
	memcpy(CMSG_DATA(&control.head), &listener, sizeof listener);
	return sendmsg(CONTROL, &m, MSG_NOSIGNAL) == 1;
}

static int receive_listener(int from)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};
	int fd = -1;

	while (recvmsg(from, &m, MSG_CMSG_CLOEXEC) < 0)
		if (errno != EINTR)
			return -1;
	if (m.msg_controllen >= CMSG_LEN(sizeof(int)) && control.head.cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
	return fd;
}

/* Enter a Landlock domain of this process's own, below the spawner's.  It can then open nothing in /proc
 * that belongs to the spawner or to its neighbours. */
static bool apart(void)
{
	struct ruleset none = { .files = LANDLOCK_ACCESS_FS_MAKE_SYM };
	int rules = (int)syscall(SYS_landlock_create_ruleset, &none, sizeof none.files, 0);
	bool ok = rules >= 0 && syscall(SYS_landlock_restrict_self, rules, 0) == 0;

	if (rules >= 0)
		(void)close(rules);
	return ok;
}

/* Runs in the child, whose descriptors are those of the spawner. */
static noreturn void become_program(
	const struct cl_cell *c, size_t which, int in, int out, int control, unsigned seconds)
{
	static const int reset[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP };
	char name[] = "program", *argv[] = { name, NULL }, *none[] = { NULL };
	bool waits = !(c->lacks & CL_CELL_ONCE), script = is_script(c->program[which]);
	int listener = -1, program = c->program[which];
	sigset_t empty;
	char own[sizeof CL_SCRIPT_AT + 24] = "";

	if (script && has_root(c->lacks)) {
		(void)snprintf(own, sizeof own, CL_SCRIPT_AT, which);
	} else if (script) {
		/* The interpreter reads the script at /dev/fd/3.  The file offset belongs to this process
		 * alone, not to the process that opens the script next. */
		(void)snprintf(own, sizeof own, "/proc/self/fd/%d", program);
		program = open(own, O_RDONLY | O_CLOEXEC);
		own[0] = '\0';
		if (program < 0)
			_exit(126);
	}
	if (!(c->lacks & CL_CELL_FILES) && !apart())
		_exit(126);
	(void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + POLITE);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (size_t i = 0; i < sizeof reset / sizeof reset[0]; i++)
		(void)signal(reset[i], SIG_DFL);
	(void)sigemptyset(&empty);
	(void)sigprocmask(SIG_SETMASK, &empty, NULL);
	/* No descriptor is overwritten before it is copied, because all of them are above CONTROL. */
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(c->nowhere, 2) < 0 || dup2(program, OWN) < 0 ||
		dup2(control, CONTROL) < 0 || close_range(CONTROL + 1, ~0U, 0) != 0 ||
		fcntl(CONTROL, F_SETFD, FD_CLOEXEC) != 0)
		_exit(126);
	if (fcntl(OWN, F_SETFD, script && own[0] == '\0' ? 0 : FD_CLOEXEC) != 0 || !limit(c, seconds))
		_exit(126);
	if (!cl_calls_confine(c->calls, waits, &listener) || (waits && !send_listener(listener)))
		_exit(126);
	(void)syscall(SYS_execveat, OWN, own, argv, none, own[0] == '\0' ? AT_EMPTY_PATH : 0);
	_exit(127);
}

static void close_all(const int *fd, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fd[i] >= 0)
			(void)close(fd[i]);
}

enum cm_rc cl_cell_exec(
	const struct cl_cell *c, size_t which, unsigned seconds, struct cl_cell_run *out, struct cm_err *err)
{
	enum { IN, IN_END, OUT, OUT_END, CTL, CTL_END, ALL };
	int fd[ALL] = { -1, -1, -1, -1, -1, -1 };
	enum cm_rc rc = CM_OK;

	*out = CL_CELL_NOBODY;
	if (pipe2(fd + IN, O_CLOEXEC) != 0 || pipe2(fd + OUT, O_CLOEXEC) != 0 ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd + CTL) != 0 ||
		fcntl(fd[IN_END], F_SETFL, O_NONBLOCK) != 0 || fcntl(fd[OUT], F_SETFL, O_NONBLOCK) != 0)
		rc = cm_fail(err, CM_EUNAVAIL, "no pipes for a program: %s", strerror(errno));
	if (rc == CM_OK) {
		out->pid = fork();
		if (out->pid == 0)
			become_program(c, which, fd[IN], fd[OUT_END], fd[CTL_END], seconds);
		if (out->pid < 0)
			rc = cm_fail(err, CM_EUNAVAIL, "no process for a program: %s", strerror(errno));
	}
	if (rc != CM_OK) {
		close_all(fd, ALL);
		return rc;
	}
	close_all((const int[]){ fd[CTL_END], fd[IN], fd[OUT_END] }, 3);
	out->in = fd[IN_END];
	out->out = fd[OUT];
	out->asks = fd[CTL];
	if (c->lacks & CL_CELL_ONCE) {
		(void)close(out->asks);
		out->asks = -1;
	}
	return CM_OK;
}

bool cl_cell_let(struct cl_cell_run *run)
{
	int asked = run->asks;

	run->asks = -1;
	if (run->listens)
		return cl_calls_allow_one(asked);
	run->asks = receive_listener(asked);
	run->listens = true;
	(void)close(asked);
	return run->asks >= 0;
}
