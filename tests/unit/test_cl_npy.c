/* test_cl_npy.c - NumPy arrays as readings: which headers are read, what a row is, and that a file may
 * shrink. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cl_npy.h"
#include "cm_buf.h"

static char path[64], other[64];

static int set_up(void **state)
{
	char *const names[2] = { path, other };

	(void)state;
	for (int i = 0; i < 2; i++) {
		int fd;

		(void)strcpy(names[i], "/tmp/tombola-npy-XXXXXX");
		fd = mkstemp(names[i]);
		if (fd < 0 || close(fd) != 0)
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path) + unlink(other);
}

/* Write a file of version 1.0 or 2.0 with that dictionary, and numbers. */
static void write_file(
	const char *name, unsigned version, const char *dictionary, const void *numbers, size_t n)
{
	uint8_t head[12] = { 0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)version, 0 };
	size_t len = strlen(dictionary), at = version == 1 ? 10 : 12;
	FILE *f = fopen(name, "wb");

	assert_non_null(f);
	if (version == 1)
		cm_put_le16(head + 8, (uint16_t)len);
	else
		cm_put_le32(head + 8, (uint32_t)len);
	assert_int_equal(fwrite(head, 1, at, f), at);
	assert_int_equal(fwrite(dictionary, 1, len, f), len);
	assert_int_equal(fwrite(numbers, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

#define F4_2X3 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n"
#define F8_2X3 "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n"

static void rows_are_read_of_both_widths_and_versions(void **state)
{
	const float four[6] = { 1, 2, 3, -4, 5.5F, FLT_MAX };
	const double eight[6] = { 1, 2, 3, -4, 5.5, (double)FLT_MAX };
	struct cl_npy *f = NULL;
	struct cm_err err = { 0 };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		write_file(path, 1 + i / 2, i % 2 ? F8_2X3 : F4_2X3, i % 2 ? (const void *)eight : four,
			i % 2 ? sizeof eight : sizeof four);
		assert_int_equal(cl_npy_open(path, 2, &f, &err), CM_OK);
		assert_memory_equal(cl_npy_row(f, 1), four + 3, 3 * sizeof *four);
		assert_memory_equal(cl_npy_row(f, 0), four, 3 * sizeof *four);
		assert_null(cl_npy_row(f, 2));
		cl_npy_close(f);
	}
}

static void other_files_are_refused(void **state)
{
	static const struct {
		const char *dictionary, *says;
	} bad[] = {
		{ "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", "<f4" },
		{ "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", "<f4 or <f8" },
		{ "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }", "<f4" },
		{ "{'descr': '|f4', 'fortran_order': False, 'shape': (2, 3), }", "<f4" },
		{ "{'fortran_order': False, 'shape': (2, 3), 'descr': '<", "<f4" },
		{ "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "C order" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", "two dimensions" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", "two dimensions" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0), }", "two dimensions" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }", "shorter" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 131072), }", "shorter" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 3), }",
			"two dimensions" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3), }", "two dimensions" },
		{ "{'descr': '<f4', 'fortran_order': False, }", "no NumPy array" },
		{ "", "no NumPy array" },
	};
	const float numbers[6] = { 0 };
	struct cl_npy *f = NULL;
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		write_file(path, 1, bad[i].dictionary, numbers, sizeof numbers);
		assert_int_equal(cl_npy_open(path, 2, &f, &err), CM_EDATA);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("%s: %s", bad[i].dictionary, err.msg);
	}
	assert_int_equal(truncate(path, 5), 0);
	assert_int_equal(cl_npy_open(path, 2, &f, &err), CM_EDATA);
	assert_int_equal(cl_npy_open("/nonexistent/x.npy", 2, &f, &err), CM_ENOINPUT);
}

static void labels_are_whole_numbers(void **state)
{
	const int64_t i8[3] = { 7, -1, INT64_MAX };
	const uint8_t u1[3] = { 0, 255, 9 };
	const double f8[3] = { 3, 2.5, NAN };
	struct cl_npy *f = NULL;
	struct cm_err err = { 0 };

	(void)state;
	write_file(path, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", i8, sizeof i8);
	assert_int_equal(cl_npy_open(path, 1, &f, &err), CM_OK);
	assert_string_equal(cl_npy_label(f, 0), "7");
	assert_null(cl_npy_label(f, 1));
	assert_string_equal(cl_npy_label(f, 2), "9223372036854775807");
	cl_npy_close(f);
	write_file(path, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", u1, sizeof u1);
	assert_int_equal(cl_npy_open(path, 1, &f, &err), CM_OK);
	assert_string_equal(cl_npy_label(f, 1), "255");
	cl_npy_close(f);
	write_file(path, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", f8, sizeof f8);
	assert_int_equal(cl_npy_open(path, 1, &f, &err), CM_OK);
	assert_string_equal(cl_npy_label(f, 0), "3");
	assert_null(cl_npy_label(f, 1));
	assert_null(cl_npy_label(f, 2));
	cl_npy_close(f);
}

/* ---- a whole file ---- */

struct seen {
	unsigned rows, bad;
	float first[4];
	char label[4][8], text[4][32];
	off_t cut; /* where the file is cut after the first row was read; 0: it is not cut */
};

static enum cm_rc on_row(void *user, const struct cl_row *row, struct cm_err *err)
{
	struct seen *s = user;
	unsigned i = s->rows++;

	(void)err;
	assert_true(row->by_number && row->line == i + 1 && i < 4);
	s->bad += row->why != NULL;
	s->first[i] = row->number ? row->number[0] : NAN;
	(void)snprintf(s->label[i], sizeof s->label[i], "%s", row->text[1] ? row->text[1] : "-");
	(void)snprintf(s->text[i], sizeof s->text[i], "%s", row->text[0] ? row->text[0] : "-");
	if (s->cut > 0 && i == 0)
		assert_int_equal(truncate(path, s->cut), 0);
	return CM_OK;
}

static const char *const fields[2] = { "x", "y" };

static void a_bad_row_is_its_devices_alone(void **state)
{
	const float x[12] = { 1, 2, 3, NAN, 5, 6, 7, 8, INFINITY, 10, 11, 12 };
	const int32_t y[4] = { 0, 1, 2, -3 };
	struct seen s = { 0 };
	struct cl_reader_conf conf = {
		.name = "x", .field = fields, .fields = 2, .numbers = true, .on_row = on_row, .user = &s
	};
	struct cm_err err = { 0 };

	(void)state;
	write_file(path, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }", x, sizeof x);
	write_file(other, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }", y, sizeof y);
	assert_int_equal(cl_npy_file(path, other, &conf, &err), CM_OK);
	assert_int_equal(s.rows, 4);
	assert_int_equal(s.bad, 2);
	assert_true(s.first[0] == 1 && isnan(s.first[1]) && isnan(s.first[2]) && s.first[3] == 10);
	assert_string_equal(s.label[0], "0");
	assert_string_equal(s.label[2], "2");
	assert_string_equal(s.label[3], "-");
	/* They are texts where no map wants numbers. */
	conf.numbers = false;
	s = (struct seen){ 0 };
	assert_int_equal(cl_npy_file(path, NULL, &conf, &err), CM_OK);
	assert_string_equal(s.text[0], "1 2 3 ");
	assert_string_equal(s.text[1], "-");
	/* Labels of other rows. */
	write_file(other, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", y, sizeof y);
	assert_int_equal(cl_npy_file(path, other, &conf, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "another number of rows"));
}

/* Two rows are read at a time: of the two at the cut only the first is whole. */
static void a_file_that_shrinks_spoils_what_it_lost(void **state)
{
	enum { WIDTH = 8192 };
	static const char dictionary[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8192), }";
	static float x[4 * WIDTH];
	struct seen s = { .cut = 10 + (off_t)sizeof dictionary - 1 + (off_t)(3 * WIDTH * sizeof *x) + 14 };
	const struct cl_reader_conf conf = {
		.name = "x", .field = fields, .fields = 2, .numbers = true, .on_row = on_row, .user = &s
	};
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		x[i * WIDTH] = (float)(i + 1);
	write_file(path, 1, dictionary, x, sizeof x);
	assert_int_equal(cl_npy_file(path, NULL, &conf, &err), CM_OK);
	assert_int_equal(s.rows, 4);
	assert_int_equal(s.bad, 1);
	assert_true(s.first[0] == 1 && s.first[1] == 2 && s.first[2] == 3 && isnan(s.first[3]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_read_of_both_widths_and_versions),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(labels_are_whole_numbers),
		cmocka_unit_test(a_bad_row_is_its_devices_alone),
		cmocka_unit_test(a_file_that_shrinks_spoils_what_it_lost),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
