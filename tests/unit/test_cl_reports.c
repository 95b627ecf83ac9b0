/* test_cl_reports.c - randomized once, the same bytes ever after: through answers, restarts and kills. */
#include "cl_stored.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void the_first_put_charges_and_opens_the_round_in_one_step(void **state)
{
	struct cl_active a = { 0 };

	(void)state;
	assert_int_equal(cl_reports_active(world.db, &a, &err), CM_ENOINPUT);
	assert_int_equal(put(0, CHUNK), CM_OK);
	assert_int_equal(put(CHUNK, CHUNK), CM_OK);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'charged'"), 1);
	assert_int_equal(cl_reports_active(world.db, &a, &err), CM_OK);
	assert_int_equal(a.sequence, 1);
	assert_false(a.whole);
	assert_int_equal(a.descriptor.len, offer.bytes.len);
	assert_memory_equal(a.descriptor.data, offer.bytes.data, offer.bytes.len);
	assert_memory_equal(a.signature, offer.signature, sizeof a.signature);
	cl_active_fini(&a);
	assert_int_equal(cl_reports_whole(world.db, &err), CM_OK);
	assert_int_equal(cl_reports_active(world.db, &a, &err), CM_OK);
	assert_true(a.whole);
	cl_active_fini(&a);
}

static void a_device_cannot_be_stored_twice_in_a_round(void **state)
{
	uint8_t before[DEVICES * 4096], after[DEVICES * 4096];

	(void)state;
	assert_true(device_len <= 4096);
	assert_int_equal(put(0, CHUNK), CM_OK);
	assert_int_equal(stored(before), CHUNK);
	/* One of the ten is stored already, so none is stored. */
	assert_int_equal(put(CHUNK - 1, CHUNK), CM_EINTERNAL);
	assert_string_equal(err.msg, "a device would have been randomized twice in one round");
	assert_int_equal(stored(after), CHUNK);
	assert_memory_equal(before, after, DEVICES * device_len);
}

static void two_rounds_cannot_be_active_at_once(void **state)
{
	(void)state;
	assert_int_equal(put(0, 1), CM_OK);
	judged.d.sequence++;
	assert_int_equal(put(1, 1), CM_EINTERNAL);
	assert_int_equal(count(DEVICES_STORED), 1);
	judged.d.sequence--;
}

static void what_is_read_back_is_what_was_stored_in_slot_order(void **state)
{
	uint8_t all[DEVICES * 4096], names[4 * PR_PSEUDONYM_LEN], sealed[4 * 4096], salt[4 * RD_SALT_LEN];
	int64_t slot[4], cursor = 0;
	size_t n, seen = 0;

	(void)state;
	assert_int_equal(put(0, CHUNK), CM_OK);
	(void)stored(all);
	do {
		assert_int_equal(
			cl_reports_next(world.db, cursor, 4, device_len, slot, names, salt, sealed, &n, &err),
			CM_OK);
		for (size_t i = 0; i < n; i++, seen++) {
			assert_true(slot[i] > cursor);
			cursor = slot[i];
			assert_int_equal(names[i * PR_PSEUDONYM_LEN], seen + 1);
			assert_memory_equal(salt + i * RD_SALT_LEN, salts + seen * RD_SALT_LEN, RD_SALT_LEN);
			assert_memory_equal(sealed + i * device_len, all + seen * device_len, device_len);
		}
	} while (n > 0);
	assert_int_equal(seen, CHUNK);
}

static void answered_devices_are_not_sent_again_after_a_restart(void **state)
{
	uint8_t names[DEVICES * PR_PSEUDONYM_LEN], *sealed = malloc(DEVICES * device_len);
	uint8_t salt[DEVICES * RD_SALT_LEN];
	const uint8_t outcome[3] = { 1, 2, 3 };
	struct cl_counts counts;
	int64_t slot[DEVICES];
	size_t n;

	(void)state;
	assert_non_null(sealed);
	assert_int_equal(put(0, CHUNK), CM_OK);
	assert_int_equal(
		cl_reports_next(world.db, 0, CHUNK, device_len, slot, names, salt, sealed, &n, &err), CM_OK);
	assert_int_equal(cl_reports_answer(world.db, slot + 2, outcome, 3, &err), CM_OK);
	assert_int_equal(cl_reports_flush(world.db, &err), CM_OK);
	cl_world_restart(&world);
	assert_int_equal(
		cl_reports_next(world.db, 0, CHUNK, device_len, slot, names, salt, sealed, &n, &err), CM_OK);
	assert_int_equal(n, CHUNK - 3);
	assert_int_equal(names[2 * PR_PSEUDONYM_LEN], 6);
	assert_int_equal(cl_reports_counts(world.db, &counts, &err), CM_OK);
	assert_int_equal(counts.total, CHUNK);
	assert_int_equal(counts.by[CL_UNANSWERED], CHUNK - 3);
	assert_int_equal(counts.by[CL_ACCEPTED] + counts.by[CL_CONFLICT] + counts.by[CL_CLOSED], 3);
	free(sealed);
}

static void a_restarted_client_leaves_stored_devices_out_of_the_batch(void **state)
{
	struct cl_batch *b = cl_batch_new(0, 0, 1);
	size_t n;

	(void)state;
	assert_int_equal(put(0, CHUNK), CM_OK);
	cl_world_restart(&world);
	assert_int_equal(cl_reports_taken(world.db, b, &err), CM_OK);
	for (unsigned i = 0; i < DEVICES; i++) {
		struct cl_entry e = device(i);

		assert_int_equal(cl_batch_list(b, e.pseudonym, &err), CM_OK);
		assert_int_equal(cl_batch_add(b, &world.rng, e.pseudonym, &e.value, &err), CM_OK);
	}
	assert_int_equal(cl_batch_complete(b, &judged.d.query, &world.rng, &err), CM_OK);
	for (const struct cl_entry *e = cl_batch_entries(b, &n); n > 0; n--)
		assert_true(e[n - 1].pseudonym[0] > CHUNK);
	(void)cl_batch_entries(b, &n);
	assert_int_equal(n, DEVICES - CHUNK);
	cl_batch_free(b);
}

/* Is the beginning of any of the first CHUNK devices' bytes in the database or its log? */
static bool in_files(const uint8_t *all)
{
	size_t n, m;
	uint8_t *db = cl_world_file(&world, "client.db", &n);
	uint8_t *wal = cl_world_file(&world, "client.db-wal", &m);
	bool found = false;

	assert_non_null(db);
	for (unsigned i = 0; i < CHUNK; i++)
		found = found || memmem(db, n, all + i * device_len, 32) ||
			(wal && memmem(wal, m, all + i * device_len, 32));
	free(db);
	free(wal);
	return found;
}

static void erasing_leaves_no_sealed_byte_in_any_file_and_keeps_the_ledger(void **state)
{
	uint8_t all[DEVICES * 4096];
	struct cl_active a = { 0 };
	uint64_t last = 9;

	(void)state;
	assert_int_equal(put(0, CHUNK), CM_OK);
	(void)stored(all);
	assert_true(in_files(all));
	assert_int_equal(cl_reports_erase(world.db, &judged.d, CL_WORLD_NOW, &err), CM_OK);
	assert_false(in_files(all));
	cl_world_restart(&world);
	assert_false(in_files(all));
	assert_int_equal(cl_reports_active(world.db, &a, &err), CM_ENOINPUT);
	assert_int_equal(cl_ledger_last(world.db, &last, &err), CM_OK);
	assert_int_equal(last, 1);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'charged'"), 1);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'over'"), 1);
}

/* ---- kills ---- */

/* In a child: step 2k stores chunk k, step 2k+1 "sends" it by writing what the store gives to fd; it kills
 * itself within step `last` at a moment of its own choosing.  Devices that are stored already are not
 * encoded. */
static void child(unsigned last, int fd)
{
	struct cl_batch *b;
	const struct cl_entry *e;
	struct cl_opening o;
	size_t n;

	cl_world_restart(&world);
	b = cl_batch_new(0, 0, 1);
	if (cl_reports_taken(world.db, b, &err) != CM_OK)
		_exit(1);
	for (unsigned i = 0; i < DEVICES; i++) {
		struct cl_entry d = device(i);

		if (cl_batch_list(b, d.pseudonym, &err) != CM_OK ||
			cl_batch_add(b, &world.rng, d.pseudonym, &d.value, &err) != CM_OK)
			_exit(1);
	}
	if (cl_batch_complete(b, &judged.d.query, &world.rng, &err) != CM_OK)
		_exit(1);
	e = cl_batch_entries(b, &n);
	o = opening();
	for (unsigned step = 0; step <= last && n > 0; step += 2) {
		size_t part = n < CHUNK ? n : CHUNK;
		uint8_t *sealed = malloc(part * device_len);

		if (step == last)
			(void)raise(SIGKILL);
		if (!sealed || cl_encode(&judged.d, e, part, &world.rng, sealed, &err) != CM_OK)
			_exit(1);
		if (cl_reports_put(world.db, &o, e, part, salts, sealed, device_len, CL_WORLD_NOW, &err) !=
			CM_OK)
			_exit(1);
		if (step + 1 == last)
			(void)raise(SIGKILL);
		for (size_t i = 0; i < part; i++)
			if (write(fd, e[i].pseudonym, 1) != 1 ||
				write(fd, sealed + i * device_len, device_len) != (ssize_t)device_len)
				_exit(1);
		free(sealed);
		e += part;
		n -= part;
	}
	(void)raise(SIGKILL);
}

static void bytes_that_left_before_any_kill_are_the_bytes_stored_after_it(void **state)
{
	uint8_t sent[DEVICES * 4096] = { 0 }, all[DEVICES * 4096], *one = malloc(device_len);
	unsigned left[DEVICES] = { 0 };

	(void)state;
	assert_non_null(one);
	/* Seven lives, each ended one step later than the one before. */
	for (unsigned life = 0; life < 7; life++) {
		int pipes[2], status = 0;
		uint8_t name;
		pid_t pid;

		assert_int_equal(pipe(pipes), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			child(life, pipes[1]);
		(void)close(pipes[1]);
		while (read(pipes[0], &name, 1) == 1) {
			size_t got = 0;

			while (got < device_len) {
				ssize_t r = read(pipes[0], one + got, device_len - got);

				assert_true(r > 0);
				got += (size_t)r;
			}
			/* Each device leaves at most once here: a second randomization would show. */
			assert_int_equal(left[name - 1]++, 0);
			memcpy(sent + (name - 1u) * device_len, one, device_len);
		}
		(void)close(pipes[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		cl_world_restart(&world);
		(void)stored(all);
		for (unsigned i = 0; i < DEVICES; i++)
			if (left[i] > 0)
				assert_memory_equal(all + i * device_len, sent + i * device_len, device_len);
		assert_true(count("SELECT count(*) FROM ledger WHERE kind = 'charged'") <= 1);
	}
	assert_int_equal(stored(all), DEVICES);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'charged'"), 1);
	free(one);
}

static void a_kill_between_charge_and_bytes_leaves_both_or_neither(void **state)
{
	(void)state;
	/* The writer dies at a random moment; whatever is found, charged equals stored. */
	for (unsigned trial = 0; trial < 20; trial++) {
		int status = 0;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			cl_world_restart(&world);
			for (;;) {
				if (put(0, CHUNK) != CM_OK ||
					db_run(world.db->sql,
						"BEGIN; DELETE FROM reports; DELETE FROM active;"
						"DROP TRIGGER ledger_delete; DELETE FROM ledger WHERE kind = "
						"'charged';"
						"CREATE TRIGGER ledger_delete BEFORE DELETE ON ledger BEGIN "
						"SELECT"
						" RAISE(ABORT, 'append-only'); END; COMMIT",
						&err) != CM_OK)
					_exit(1);
			}
		}
		(void)usleep(3000 + 1700 * trial);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		cl_world_restart(&world);
		assert_int_equal(count(DEVICES_STORED),
			CHUNK * count("SELECT count(*) FROM ledger WHERE kind = 'charged'"));
		assert_int_equal(count("SELECT count(*) FROM active"),
			count("SELECT count(*) FROM ledger WHERE kind = 'charged'"));
		if (count("SELECT count(*) FROM active") > 0)
			assert_int_equal(
				db_run(world.db->sql,
					"BEGIN; DELETE FROM reports; DELETE FROM active;"
					"DROP TRIGGER ledger_delete; DELETE FROM ledger WHERE kind = "
					"'charged';"
					"CREATE TRIGGER ledger_delete BEFORE DELETE ON ledger BEGIN SELECT"
					" RAISE(ABORT, 'append-only'); END; COMMIT",
					&err),
				CM_OK);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_first_put_charges_and_opens_the_round_in_one_step),
		TEST(a_device_cannot_be_stored_twice_in_a_round),
		TEST(two_rounds_cannot_be_active_at_once),
		TEST(what_is_read_back_is_what_was_stored_in_slot_order),
		TEST(answered_devices_are_not_sent_again_after_a_restart),
		TEST(a_restarted_client_leaves_stored_devices_out_of_the_batch),
		TEST(erasing_leaves_no_sealed_byte_in_any_file_and_keeps_the_ledger),
		TEST(bytes_that_left_before_any_kill_are_the_bytes_stored_after_it),
		TEST(a_kill_between_charge_and_bytes_leaves_both_or_neither),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
