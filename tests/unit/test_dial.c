/* test_dial.c - a host with several addresses: each is tried in turn, none takes the time of the others, and
 * an error names them all.  The resolver is ours: the name "several" has the addresses that a test gives
 * it. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn_world.h"
#include "nt_addr.h"

#define HOST "several"
#define SOME 4

typedef int lookup(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static const char *answer[SOME + 1]; /* up to NULL */

/* Stands in place of the C library's resolver, for libuv too; that one still makes and frees each address. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
	void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
	struct addrinfo **at = found;
	lookup *real;
	int rc = 0;

	memcpy(&real, &symbol, sizeof real);
	if (strcmp(host, HOST) != 0)
		return real(host, service, hints, found);
	for (const char *const *a = answer; *a && rc == 0; a++) {
		rc = real(*a, service, hints, at);
		while (rc == 0 && *at)
			at = &(*at)->ai_next;
	}
	return rc;
}

static void answers(const char *first, const char *second, const char *third, const char *fourth)
{
	const char *const given[SOME] = { first, second, third, fourth };

	memcpy(answer, given, sizeof given);
}

/* A world that listens on 127.0.0.1, and where "several" is dialled. */
static void begin(struct world *w, char address[64])
{
	world_init(w);
	world_listen(w);
	(void)snprintf(address, 64, HOST ":%d", nt_listener_port(w->listener));
}

/* The certificate is for 127.0.0.1, not for "several": the server that was reached shows it. */
static void assert_reached(struct world *w, struct peer *p)
{
	run_until_closed(w, 2);
	assert_ended(p, CM_EPERM, "not for host \"" HOST "\"");
	assert_int_equal(w->n_refused, 1);
	cm_buf_fini(&p->got);
	world_fini(w);
}

/* Listen there with a full queue: another connection is neither refused nor accepted. */
struct full {
	int listener, waiting[4];
};

static void fill(struct full *f, const char *host, int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	assert_int_equal(inet_pton(AF_INET, host, &in.sin_addr), 1);
	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(f->listener, 0), 0);
	for (size_t i = 0; i < sizeof f->waiting / sizeof f->waiting[0]; i++) {
		f->waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(f->waiting[i], (struct sockaddr *)&in, sizeof in);
	}
}

static void drain(const struct full *f)
{
	(void)close(f->listener);
	for (size_t i = 0; i < sizeof f->waiting / sizeof f->waiting[0]; i++)
		(void)close(f->waiting[i]);
}

static void addresses_that_refuse_are_passed_over(void **state)
{
	char address[64];
	struct world w;
	struct peer c;

	(void)state;
	begin(&w, address);
	answers("::1", "127.0.0.3", "127.0.0.1", "127.0.0.4");
	dial_at(&w, &c, address);
	assert_reached(&w, &c);
}

static void an_address_that_does_not_answer_leaves_time_for_the_next(void **state)
{
	char address[64];
	struct full full;
	struct world w;
	struct peer c;

	(void)state;
	begin(&w, address);
	fill(&full, "127.0.0.2", nt_listener_port(w.listener));
	w.limits.handshake_ms = 6000; /* 2 s for each of the first two, and 2 s for the one that answers */
	answers("127.0.0.2", "127.0.0.2", "127.0.0.1", NULL);
	dial_at(&w, &c, address);
	assert_reached(&w, &c);
	drain(&full);
}

static void every_address_that_was_tried_is_named(void **state)
{
	char address[64], want[200];
	struct full full;
	struct world w;
	struct peer c;
	int port;

	(void)state;
	begin(&w, address);
	port = nt_listener_port(w.listener);
	fill(&full, "127.0.0.2", port);
	w.limits.handshake_ms = 600;
	answers("127.0.0.3", "127.0.0.2", "127.0.0.4", "127.0.0.2");
	dial_at(&w, &c, address);
	run_until_closed(&w, 1);
	(void)snprintf(want, sizeof want,
		"%s: cannot connect: 127.0.0.3:%d: connection refused; 127.0.0.2:%d: no answer; "
		"127.0.0.4:%d: connection refused; 127.0.0.2:%d: no answer",
		address, port, port, port, port);
	assert_ended(&c, CM_EUNAVAIL, want);
	drain(&full);
	world_end(&w, &c);
}

static void a_dial_that_is_closed_while_it_goes_on_to_the_next_ends_once(void **state)
{
	char address[64];
	struct full full;
	struct world w;
	struct peer c;

	(void)state;
	begin(&w, address);
	fill(&full, "127.0.0.2", nt_listener_port(w.listener));
	answers("127.0.0.3", "127.0.0.4", "127.0.0.2", NULL);
	w.limits.handshake_ms = 60000;
	/* The host is being looked up, refuses, or does not answer. */
	for (int turns = 0; turns < 8; turns++) {
		dial_at(&w, &c, address);
		for (int i = 0; i < turns; i++) {
			(void)usleep(2000);
			(void)uv_run(&w.loop, UV_RUN_NOWAIT);
		}
		nt_conn_close(c.conn, NULL);
		run_until_closed(&w, 1);
		assert_ended(&c, CM_OK, "");
		assert_int_equal(c.opens, 0);
		cm_buf_fini(&c.got);
	}
	drain(&full);
	world_fini(&w);
}

static void what_has_no_room_in_the_line_is_counted(void **state)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(7443) };
	struct nt_tried tried = { 0 };
	const char *tail = "; and 9 more";

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "2001:db8:1234:5678:9abc:def0:1234:5678", &in.sin6_addr), 1);
	for (int i = 0; i < 11; i++) {
		nt_tried_add(&tried, (struct sockaddr *)&in, "network is unreachable");
		assert_true(strlen(tried.text) < sizeof tried.text);
	}
	assert_int_equal(tried.n, 11);
	assert_int_equal(tried.unsaid, 9);
	assert_string_equal(tried.text + strlen(tried.text) - strlen(tail), tail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_that_refuse_are_passed_over),
		cmocka_unit_test(an_address_that_does_not_answer_leaves_time_for_the_next),
		cmocka_unit_test(every_address_that_was_tried_is_named),
		cmocka_unit_test(a_dial_that_is_closed_while_it_goes_on_to_the_next_ends_once),
		cmocka_unit_test(what_has_no_room_in_the_line_is_counted),
	};

	return cmocka_run_group_tests(tests, world_certs_make, world_certs_drop);
}
