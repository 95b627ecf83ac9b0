/* test_confine.c - what a confined process can do, and what not.  Every confined process is a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nt_confine.h"

/* Arguments that an unfiltered kernel refuses before it does anything. */
#define BAD  1L /* an address */
#define NONE (-1L)
#define CALL(call, ...)                                                     \
	{                                                                   \
		.name = #call, .number = SYS_##call, .arg = { __VA_ARGS__ } \
	}
#define QUIET(call, ...)                                                                  \
	{                                                                                 \
		.name = #call, .number = SYS_##call, .arg = { __VA_ARGS__ }, .acts = true \
	}

static const struct call {
	const char *name;
	long number;
	long arg[6];
	bool acts; /* not tried: without the filter it would do something, or any errno is natural */
} denied[] = {
	CALL(execve, BAD, BAD, BAD),
	CALL(execveat, NONE, BAD, BAD, BAD, NONE),
	CALL(ptrace, NONE, 0, BAD, BAD),
	CALL(process_vm_readv, 0, BAD, 1, BAD, 1, NONE),
	CALL(process_vm_writev, 0, BAD, 1, BAD, 1, NONE),
	CALL(process_madvise, NONE, BAD, 1, 0, NONE),
	CALL(pidfd_getfd, NONE, NONE, NONE),
	QUIET(kcmp, 0, 0, 0),
	CALL(personality, 0xffffffff),
	CALL(setuid, NONE),
	CALL(setgid, NONE),
	CALL(setreuid, NONE, NONE),
	CALL(setregid, NONE, NONE),
	CALL(setresuid, NONE, NONE, NONE),
	CALL(setresgid, NONE, NONE, NONE),
	CALL(setfsuid, NONE),
	CALL(setfsgid, NONE),
	CALL(setgroups, 1, BAD),
	CALL(capset, BAD, BAD),
	CALL(mount, BAD, BAD, BAD, 0, BAD),
	CALL(umount2, BAD, 0),
	CALL(pivot_root, BAD, BAD),
	CALL(chroot, BAD),
	CALL(move_mount, NONE, BAD, NONE, BAD, NONE),
	CALL(open_tree, NONE, BAD, NONE),
	CALL(fsopen, BAD, NONE),
	CALL(fsconfig, NONE, NONE, BAD, BAD, 0),
	CALL(fsmount, NONE, NONE, NONE),
	CALL(fspick, NONE, BAD, NONE),
	CALL(mount_setattr, NONE, BAD, NONE, BAD, 0),
	CALL(setns, NONE, 0),
	CALL(unshare, 0x1),
	CALL(open_by_handle_at, NONE, BAD, 0),
	CALL(name_to_handle_at, NONE, BAD, BAD, BAD, NONE),
	CALL(kexec_load, 0, NONE, BAD, NONE),
	CALL(init_module, BAD, 1, BAD),
	CALL(finit_module, NONE, BAD, NONE),
	CALL(delete_module, BAD, 0),
	CALL(bpf, NONE, BAD, NONE),
	CALL(perf_event_open, BAD, NONE, NONE, NONE, NONE),
	CALL(userfaultfd, NONE),
	QUIET(lookup_dcookie, 0, BAD, 0),
	CALL(syslog, NONE, BAD, NONE),
	CALL(add_key, BAD, BAD, BAD, 1, 0),
	CALL(request_key, BAD, BAD, BAD, 0),
	CALL(keyctl, NONE),
	QUIET(io_uring_setup, 0, BAD),
	CALL(io_uring_enter, NONE, 0, 0, 0, BAD, 0),
	CALL(io_uring_register, NONE, NONE, BAD, 0),
	CALL(swapon, BAD, 0),
	CALL(swapoff, BAD),
	CALL(reboot, 0, 0, 0, BAD),
	CALL(acct, BAD),
	CALL(quotactl, NONE, BAD, 0, BAD),
	CALL(sethostname, BAD, NONE),
	CALL(setdomainname, BAD, NONE),
	QUIET(vhangup, 0),
	CALL(settimeofday, BAD, 0),
	CALL(clock_settime, 999, BAD),
	CALL(clock_adjtime, 999, BAD),
	CALL(adjtimex, BAD),
	CALL(socket, AF_PACKET, 999, 0),
	CALL(socket, AF_VSOCK, 999, 0),
	CALL(socket, AF_ALG, 999, 0),
	CALL(socket, AF_BLUETOOTH, 999, 0),
	CALL(socket, AF_UNSPEC, 999, 0),
	CALL(socket, AF_X25, 999, 0),
	CALL(socket, NONE, 999, 0),
	CALL(socket, 0x100000002L, 999, 0),
	CALL(socketpair, AF_PACKET, 999, 0, BAD),
	CALL(mmap, 0, 0, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, NONE, 0),
	CALL(mmap, 0, 0, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, NONE, 0),
	CALL(mprotect, BAD, 4096, PROT_READ | PROT_EXEC),
	CALL(mprotect, BAD, 4096, PROT_EXEC),
	CALL(pkey_mprotect, BAD, 4096, PROT_READ | PROT_EXEC, 0),
	CALL(shmat, NONE, BAD, SHM_EXEC),
	CALL(ioctl, NONE, TIOCSTI, BAD),
	CALL(ioctl, NONE, TIOCSTI | 0x700000000L, BAD),
	QUIET(clone, SIGCHLD),
	QUIET(clone, CLONE_VM | CLONE_VFORK | SIGCHLD),
#ifdef SYS_fork
	QUIET(fork, 0),
	QUIET(vfork, 0),
#endif
#ifdef SYS_kexec_file_load
	CALL(kexec_file_load, NONE, NONE, NONE, BAD, NONE),
#endif
#ifdef SYS_quotactl_fd
	CALL(quotactl_fd, NONE, NONE, 0, BAD),
#endif
#ifdef SYS_iopl
	CALL(iopl, 99),
	CALL(ioperm, NONE, NONE, 1),
	CALL(modify_ldt, NONE, BAD, 0),
	QUIET(uselib, BAD),
#endif
};

static long say(const struct call *c)
{
	errno = 0;
	return syscall(c->number, c->arg[0], c->arg[1], c->arg[2], c->arg[3], c->arg[4], c->arg[5]);
}

/* ---- a child ---- */

static int bad;

static void check(bool good, const char *what)
{
	if (good)
		return;
	bad++;
	(void)fprintf(stderr, "%s: %s\n", what, strerror(errno));
}

static int child(void (*body)(void))
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		bad = 0;
		body();
		_exit(bad > 99 ? 99 : bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void confine(void)
{
	unsigned rules = 0;
	struct cm_err err;

	if (nt_confine_now(&rules, &err) != CM_OK) {
		(void)fprintf(stderr, "%s\n", err.msg);
		_exit(98);
	}
	check(rules > 80, "rules");
}

/* ---- what is denied ---- */

static void say_all(void)
{
	for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++) {
		long rc = say(&denied[i]);

		if (rc == 0 && denied[i].number == SYS_clone) /* a child of this process: it got through */
			_exit(97);
		check(rc == -1 && errno == EPERM, denied[i].name);
	}
}

static void say_all_confined(void)
{
	confine();
	say_all();
}

/* Only as root: the kernel itself answers EPERM to others. */
static void say_all_free(void)
{
	for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++)
		if (!denied[i].acts)
			check(say(&denied[i]) != -1 || errno != EPERM, denied[i].name);
}

static void each_call_of_the_list_is_refused_and_kills_nobody(void **state)
{
	(void)state;
	assert_int_equal(child(say_all_confined), 0);
}

static void without_the_filter_they_fail_for_other_reasons(void **state)
{
	(void)state;
	if (geteuid() == 0)
		assert_int_equal(child(say_all_free), 0);
}

static void other_programs(void)
{
	char *const argv[] = { "true", NULL };
	pid_t pid = 0;

	confine();
	check(fork() == -1 && errno == EPERM, "fork");
	check(execv("/bin/true", argv) == -1 && errno == EPERM, "execv");
	check(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, argv) == EPERM, "posix_spawn");
	check(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "no_new_privs");
	check(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2, "seccomp");
}

static void no_other_program_is_started(void **state)
{
	(void)state;
	assert_int_equal(child(other_programs), 0);
}

/* ---- threads that are there already ---- */

static int turn[2];

static void *wait_and_fork(void *result)
{
	char byte = 0;

	if (read(turn[0], &byte, 1) == 1)
		*(bool *)result = syscall(SYS_chroot, BAD) == -1 && errno == EPERM;
	return NULL;
}

static void older_threads(void)
{
	pthread_t thread;
	bool refused = false;

	check(pipe(turn) == 0 && pthread_create(&thread, NULL, wait_and_fork, &refused) == 0, "a thread");
	confine();
	check(write(turn[1], "x", 1) == 1 && pthread_join(thread, NULL) == 0 && refused, "the older thread");
}

static void threads_from_before_are_confined_too(void **state)
{
	(void)state;
	assert_int_equal(child(older_threads), 0);
}

/* ---- what must go on ---- */

static void *count(void *n)
{
	++*(int *)n;
	return NULL;
}

static void threads(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		int n = 0;

		check(pthread_create(&thread, NULL, count, &n) == 0 && pthread_join(thread, NULL) == 0 &&
				n == 1,
			"a new thread");
	}
}

static void files(void)
{
	char path[] = "/tmp/confine-XXXXXX", other[64];
	int fd = mkstemp(path);
	void *map;

	check(fd >= 0, "mkstemp");
	(void)snprintf(other, sizeof other, "%s.new", path);
	check(write(fd, "abc", 3) == 3 && fsync(fd) == 0 && fdatasync(fd) == 0, "write and sync");
	check(ftruncate(fd, 65536) == 0 && fchmod(fd, 0600) == 0, "truncate");
	map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(map != MAP_FAILED && munmap(map, 65536) == 0, "map a file");
	map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	check((map != MAP_FAILED && munmap(map, 4096) == 0) || errno == EPERM, "map code, as a plug-in is");
	check(link(path, other) == 0 && unlink(other) == 0 && rename(path, other) == 0, "names");
	check(unlink(other) == 0 && close(fd) == 0, "unlink");
}

static void sockets(void)
{
	static const int family[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int pair[2];

	for (size_t i = 0; i < sizeof family / sizeof family[0]; i++) {
		int fd = socket(family[i], family[i] == AF_NETLINK ? SOCK_RAW : SOCK_STREAM, 0);

		check(fd >= 0 || errno == EAFNOSUPPORT, "a socket");
		(void)close(fd);
	}
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
	check(ioctl(pair[0], FIONREAD, &family) == 0 || errno != EPERM, "ioctl");
	check(getaddrinfo("localhost", "443", &hints, &found) == 0, "getaddrinfo");
	if (found)
		freeaddrinfo(found);
}

static void ordinary_work(void)
{
	struct timeval now;
	void *grown;

	confine();
	threads();
	files();
	sockets();
	grown = malloc((size_t)64 << 20);
	check(grown != NULL, "memory");
	free(grown);
	check(gettimeofday(&now, NULL) == 0 && raise(SIGWINCH) == 0 && sched_yield() == 0,
		"time and signals");
	check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "prctl");
}

static void ordinary_work_goes_on(void **state)
{
	(void)state;
	assert_int_equal(child(ordinary_work), 0);
}

/* A filter is made in a process of its own, which a confined one cannot start. */
static void twice(void)
{
	struct cm_err err = { .code = CM_OK };
	unsigned n;

	confine();
	check(nt_confine_now(&n, &err) == CM_EUNAVAIL && n == 0, "a second filter");
}

static void a_second_filter_does_no_harm(void **state)
{
	(void)state;
	assert_int_equal(child(twice), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_of_the_list_is_refused_and_kills_nobody),
		cmocka_unit_test(without_the_filter_they_fail_for_other_reasons),
		cmocka_unit_test(no_other_program_is_started),
		cmocka_unit_test(threads_from_before_are_confined_too),
		cmocka_unit_test(ordinary_work_goes_on),
		cmocka_unit_test(a_second_filter_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
