/* cl_cell_calls.c - builds the filters of system calls for programs and their spawner. */
#define _GNU_SOURCE /* declares memfd_create */
#include "cl_cell_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *const of_programs[] = {
	/* work with open descriptors */
	"read", "readv", "pread64", "preadv", "write", "writev", "close", "close_range", "lseek", "_llseek",
	"dup", "dup2", "dup3", "poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6",
	"pselect6_time64",
	/* open and examine files; Landlock says which */
	"open", "openat", "openat2", "access", "faccessat", "faccessat2", "stat", "stat64", "lstat",
	"lstat64", "fstat", "fstat64", "newfstatat", "fstatat64", "statx", "readlink", "readlinkat",
	"getdents", "getdents64", "getcwd",
	/* manage memory */
	"brk", "mmap", "mmap2", "munmap", "mremap", "mprotect",
	/* ask about the process itself, or end it */
	"exit", "exit_group", "getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid",
	"getuid32", "geteuid32", "getgid32", "getegid32", "uname", "arch_prctl", "set_tid_address",
	"set_robust_list", "rseq", "sched_yield", "getrlimit", "ugetrlimit", "rt_sigaction", "rt_sigprocmask",
	"rt_sigreturn", "rt_sigpending", "sigaltstack", "sigreturn", "restart_syscall",
	/* read clocks, wait, get random bytes */
	"time", "gettimeofday", "nanosleep", "getrandom",
	/* hands the listener to the spawner, just before the program begins; no sockets exist later */
	"sendmsg"
};

/* The spawner also needs these: to start programs, to feed them and to end them. */
static const char *const of_spawner[] = { "futex", "futex_time64", "sched_getaffinity", "fork", "vfork",
	"wait4", "waitid", "kill", "pipe2", "socketpair", "recvmsg", "recvfrom", "sendto", "seccomp", "ioctl",
	"prctl", "prlimit64", "setrlimit", "execveat", "tgkill", "getpriority", "setpriority",
	"landlock_create_ruleset", "landlock_restrict_self", "memfd_create", "fcntl", "fcntl64", "madvise",
	"clock_gettime", "clock_gettime64", "clock_getres", "clock_getres_time64", "clock_nanosleep",
	"clock_nanosleep_time64" };

/* Clock numbers that are allowed.  A number can also be made from a process's number, and such a clock
 * shows how long that process has computed. */
static const struct {
	const char *name;
	int first, last; /* the host's clocks, and those of this process itself */
} of_clocks[] = { { "clock_gettime", CLOCK_REALTIME, CLOCK_BOOTTIME },
	{ "clock_gettime64", CLOCK_REALTIME, CLOCK_BOOTTIME },
	{ "clock_getres", CLOCK_REALTIME, CLOCK_BOOTTIME },
	{ "clock_getres_time64", CLOCK_REALTIME, CLOCK_BOOTTIME },
	{ "clock_nanosleep", CLOCK_REALTIME, CLOCK_MONOTONIC },
	{ "clock_nanosleep_time64", CLOCK_REALTIME, CLOCK_MONOTONIC } };

/* The advice that malloc gives about its own pages.  Other advice is about pages of files, which processes
 * share, and about equal pages, which the kernel merges. */
static const int of_memory[] = { MADV_NORMAL, MADV_DONTNEED, MADV_FREE };

static int allow(scmp_filter_ctx ctx, uint32_t action, const char *name, const struct scmp_arg_cmp *when)
{
	int nr = seccomp_syscall_resolve_name(name);

	/* A negative number means that this architecture has no such call. */
	return nr < 0 ? 0 : seccomp_rule_add_array(ctx, action, nr, when ? 1 : 0, when);
}

static int allow_if(scmp_filter_ctx ctx, const char *name, struct scmp_arg_cmp when)
{
	return allow(ctx, SCMP_ACT_ALLOW, name, &when);
}

/* Allow calls on this process alone.  Otherwise two processes could talk: one waits at a page of a library
 * and the other counts how many it wakes there, or one asks whether the other still exists. */
static int allow_alone(scmp_filter_ctx ctx)
{
	const scmp_datum_t private = FUTEX_PRIVATE_FLAG;
	const struct scmp_arg_cmp its_own = SCMP_A1(SCMP_CMP_MASKED_EQ, private, private),
				  of_itself = SCMP_A0(SCMP_CMP_EQ, 0, 0),
				  nothing_new[] = { of_itself, SCMP_A2(SCMP_CMP_EQ, 0, 0) };
	int rc = allow_if(ctx, "futex", its_own);

	if (rc == 0)
		rc = allow_if(ctx, "futex_time64", its_own);
	if (rc == 0)
		rc = allow_if(ctx, "sched_getaffinity", of_itself);
	return rc == 0 ? seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, nothing_new)
		       : rc;
}

/* Allow calls that are harmless for some values of one argument. */
static int allow_some(scmp_filter_ctx ctx)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof of_clocks / sizeof of_clocks[0]; i++)
		for (int c = of_clocks[i].first; rc == 0 && c <= of_clocks[i].last; c++)
			rc = allow_if(ctx, of_clocks[i].name, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)c, 0));
	for (size_t i = 0; rc == 0 && i < sizeof of_memory / sizeof of_memory[0]; i++)
		rc = allow_if(ctx, "madvise", SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)of_memory[i], 0));
	return rc;
}

static int allow_program(scmp_filter_ctx ctx, bool waits)
{
	static const int commands[] = { F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC };
	const struct scmp_arg_cmp asks_terminal = SCMP_A1(SCMP_CMP_EQ, TCGETS, 0);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof of_programs / sizeof of_programs[0]; i++)
		rc = allow(ctx, SCMP_ACT_ALLOW, of_programs[i], NULL);
	for (size_t i = 0; rc == 0 && i < sizeof commands / sizeof commands[0]; i++) {
		rc = allow_if(ctx, "fcntl", SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)commands[i], 0));
		if (rc == 0)
			rc = allow_if(ctx, "fcntl64", SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)commands[i], 0));
	}
	if (rc == 0)
		rc = allow_some(ctx);
	if (rc == 0)
		rc = allow_alone(ctx);
	if (rc == 0)
		rc = allow_if(ctx, "ioctl", SCMP_A1(SCMP_CMP_EQ, FIOCLEX, 0));
	/* Answer "not a terminal", which libraries distinguish from "no such call". */
	if (rc == 0)
		rc = allow(ctx, SCMP_ACT_ERRNO(ENOTTY), "ioctl", &asks_terminal);
	return rc == 0 ? allow(ctx, waits ? SCMP_ACT_NOTIFY : SCMP_ACT_ALLOW, "execveat", NULL) : rc;
}

static int allow_spawner(scmp_filter_ctx ctx)
{
	const scmp_datum_t namespaces = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
					CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof of_programs / sizeof of_programs[0]; i++)
		rc = allow(ctx, SCMP_ACT_ALLOW, of_programs[i], NULL);
	for (size_t i = 0; rc == 0 && i < sizeof of_spawner / sizeof of_spawner[0]; i++)
		rc = allow(ctx, SCMP_ACT_ALLOW, of_spawner[i], NULL);
	return rc == 0 ? allow_if(ctx, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0)) : rc;
}

static enum cm_rc export(scmp_filter_ctx ctx, struct sock_fprog *out, struct cm_err *err) {
	int fd = memfd_create("filter", MFD_CLOEXEC), failed = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);
	off_t len = failed == 0 ? lseek(fd, 0, SEEK_END) : 0;
	size_t rules = len > 0 ? (size_t)len / sizeof *out->filter : 0;
	enum cm_rc rc = CM_OK;

	*out = (struct sock_fprog){ (unsigned short)rules, calloc(rules + 1, sizeof *out->filter) };
	if (!out->filter) rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	else if (rules == 0 || rules > BPF_MAXINSNS || pread(fd, out->filter, (size_t)len, 0) != len)
		rc = cm_fail(err, CM_EUNAVAIL, "the filter of system calls cannot be made: %s",
			strerror(failed != 0 ? -failed : errno));
	if (fd >= 0)(void) close(fd);
	return rc;
}

static enum cm_rc make(bool of_program, bool waits, struct sock_fprog *out, struct cm_err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int failed = ctx ? seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) : -ENOMEM;
	enum cm_rc rc;

	if (failed == 0)
		failed = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (failed == 0)
		failed = of_program ? allow_program(ctx, waits) : allow_spawner(ctx);
	rc = failed == 0 ? export(ctx, out, err)
			 : cm_fail(err, CM_EUNAVAIL, "the filter of system calls cannot be made: %s",
				   strerror(-failed));
	if (ctx)
		seccomp_release(ctx);
	return rc;
}

enum cm_rc cl_calls_make(bool waits, struct cl_calls *out, struct cm_err *err)
{
	enum cm_rc rc = make(true, waits, &out->program, err);

	return rc == CM_OK ? make(false, false, &out->spawner, err) : rc;
}

bool cl_calls_confine(const struct cl_calls *c, bool waits, int *listener)
{
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, waits ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0,
		&c->program);

	*listener = waits ? (int)fd : -1;
	return fd >= 0;
}

bool cl_calls_confine_spawner(const struct cl_calls *c)
{
#ifdef TOMBOLA_SANITIZED
	(void)c; /* a build with a sanitizer traces itself */
	return true;
#else
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &c->spawner) == 0;
#endif
}

bool cl_calls_allow_one(int listener)
{
	/* The structures of a newer kernel may be longer than those of this header. */
	union {
		struct seccomp_notif notif;
		uint8_t room[512];
	} asked = { .room = { 0 } };
	union {
		struct seccomp_notif_resp resp;
		uint8_t room[512];
	} answer = { .room = { 0 } };
	struct pollfd p = { .fd = listener, .events = POLLIN };
	bool ok = poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0 &&
		  ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) == 0;

	answer.resp.id = asked.notif.id;
	answer.resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	ok = ok && ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
	/* From now on execveat fails with "not implemented", as execve always did. */
	(void)close(listener);
	return ok;
}
