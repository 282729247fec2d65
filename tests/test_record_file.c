/* SPDX-License-Identifier: Apache-2.0 */
/* Record files: writing, reading, and everything that can be wrong with them. */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "bench/record.h"

static char folder[] = "/tmp/ridge-record-XXXXXX";
static char file[256], minimal[2048], full[4096];

static void read_text(const char *path, char *text, size_t bytes)
{
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    size_t length = fread(text, 1, bytes - 1, in);
    text[length] = '\0';
    fclose(in);
}

static void write_text(const char *text)
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static int make_folder(void **state)
{
    (void)state;
    const char *source = getenv("RIDGE_SOURCE");
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof file, "%s/records.jsonl", folder);
    snprintf(full, sizeof full, "%s/tests/fixtures/record_minimal.jsonl", source ? source : ".");
    read_text(full, minimal, sizeof minimal);
    snprintf(full, sizeof full, "%s/tests/fixtures/record_full.jsonl", source ? source : ".");
    read_text(full, full, sizeof full);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

static int count(void *ctx, const json_t *record, long line, struct ridge_error *err)
{
    (void)record;
    (void)err;
    long *lines = ctx;
    (*lines)++;
    assert_int_equal(line, *lines);
    return RIDGE_OK;
}

/* Reads `text` as a file: the number of records, with *partial; or -1 and the message. */
static long read_back(const char *text, bool *partial, struct ridge_error *err)
{
    long lines = 0;
    write_text(text);
    return records_read(file, count, &lines, partial, err) ? -1 : lines;
}

static void a_record_comes_back_as_it_was(void **state)
{
    (void)state;
    struct record_writer writer;
    struct record_list list;
    struct ridge_error err = {""};
    char text[8192];
    json_t *record = json_loads(full, 0, NULL);
    json_object_set_new(record, "x_unknown", json_pack("{s:f}", "figure", 0.1)); /* unknown keys are kept */
    unlink(file);
    for (int run = 0; run < 2; run++) { /* the second run appends */
        assert_int_equal(record_writer_open(&writer, file, &err), RIDGE_OK);
        assert_int_equal(record_writer_append(&writer, record, &err), RIDGE_OK);
        record_writer_close(&writer);
    }
    read_text(file, text, sizeof text);
    assert_non_null(strstr(text, "{\"figure\":0.1}"));
    assert_int_equal(strncmp(text, "{\"schema\":", 10), 0);
    const char *const paths[] = {file, file};
    if (record_list_read(&list, paths, 2, &err))
        fail_msg("%s", err.text);
    assert_int_equal(list.count, 4);
    assert_string_equal(list.notes, "");
    for (size_t i = 0; i < list.count; i++)
        assert_true(json_equal(list.record[i], record));
    record_list_free(&list);
    assert_int_equal(list.count, 0);
    json_decref(record);
}

static void a_partial_last_line_is_reported_not_fatal(void **state)
{
    (void)state;
    char text[4096];
    bool partial;
    struct ridge_error err = {""};
    size_t whole = strlen(minimal) - 1;
    for (size_t cut = 1; cut < whole; cut += 7) {
        snprintf(text, sizeof text, "%s%.*s", minimal, (int)cut, minimal);
        if (read_back(text, &partial, &err) != 1)
            fail_msg("cut at %zu: %s", cut, err.text);
        assert_true(partial);
    }
    struct record_list list;
    const char *const paths[] = {file};
    assert_int_equal(record_list_read(&list, paths, 1, &err), RIDGE_OK);
    assert_int_equal(list.count, 1);
    assert_non_null(strstr(list.notes, file));
    assert_non_null(strstr(list.notes, "partial"));
    record_list_free(&list);

    snprintf(text, sizeof text, "%s%.*s", minimal, (int)whole, minimal); /* only the newline is missing */
    assert_int_equal(read_back(text, &partial, &err), 2);
    assert_false(partial);
    assert_int_equal(read_back("", &partial, &err), 0);
    assert_false(partial);
}

static void expect_error(const char *text, const char *where, const char *what)
{
    struct ridge_error err = {""};
    bool partial;
    if (read_back(text, &partial, &err) != -1 || !strstr(err.text, what) || !strstr(err.text, where) ||
        !strstr(err.text, file))
        fail_msg("\"%.40s...\" gave \"%s\", expected \"%s\" at \"%s\"", text, err.text, what, where);
}

static void errors_name_file_line_and_key(void **state)
{
    (void)state;
    char text[8192], changed[4096];
    snprintf(text, sizeof text, "%snot json\n%s", minimal, minimal);
    expect_error(text, ".jsonl:2: ", "not a record");
    snprintf(text, sizeof text, "%s%.300s\n%s", minimal, minimal, minimal); /* cut, but not the last line */
    expect_error(text, ".jsonl:2: ", "not a record");
    expect_error("half a word", ".jsonl:1: ", "not a record: begins with byte 0x68");
    expect_error("\n", ".jsonl:1: ", "not a record: an empty line");
    expect_error("\x1f\x8b\x08", ".jsonl:1: ", "not a record: compressed by gzip");
    expect_error("\xef\xbb\xbf{}", ".jsonl:1: ", "not a record: begins with byte 0xef");
    snprintf(text, sizeof text, "%s[1]\n", minimal);
    expect_error(text, ".jsonl:2: ", "not a record: begins with byte 0x5b");

    snprintf(text, sizeof text, "%s{\"schema\":\"ridgeline.record/1\",\"a\":{\"b\":1,\"b\":2}}", minimal);
    expect_error(text, ".jsonl:2: ", "duplicate object key"); /* even without a newline */

    snprintf(changed, sizeof changed, "{\"schema\":\"ridgeline.record/7\"}\n");
    snprintf(text, sizeof text, "%s%s", minimal, changed);
    expect_error(text, ".jsonl:2: ", "\"ridgeline.record/7\"");

    strcpy(changed, minimal);
    memcpy(strstr(changed, "\"uuid\""), "\"UUID\"", 6);
    snprintf(text, sizeof text, "%s%s%s", minimal, minimal, changed);
    expect_error(text, ".jsonl:3: ", "missing key \"device.uuid\"");

    expect_error(" \tx", ".jsonl:1: ", "not a record: begins with byte 0x78");

    struct ridge_error err = {""};
    assert_int_equal(records_read("/nonexistent/r.jsonl", count, NULL, NULL, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "/nonexistent/r.jsonl: No such file"));
    assert_int_equal(records_read(folder, count, NULL, NULL, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "directory"));
}

static int stop_at_two(void *ctx, const json_t *record, long line, struct ridge_error *err)
{
    (void)ctx;
    (void)record;
    return line == 2 ? ridge_fail(err, RIDGE_INCONCLUSIVE, "enough") : RIDGE_OK;
}

static void a_reader_may_stop(void **state)
{
    (void)state;
    char text[8192];
    struct ridge_error err = {""};
    snprintf(text, sizeof text, "%s%s%s", minimal, minimal, minimal);
    write_text(text);
    assert_int_equal(records_read(file, stop_at_two, NULL, NULL, &err), RIDGE_INCONCLUSIVE);
    assert_string_equal(err.text, "enough");
}

static void appending_mends_the_last_line(void **state)
{
    (void)state;
    struct record_writer writer;
    struct ridge_error err = {""};
    char text[8192];
    bool partial;
    long lines = 0;
    json_t *record = json_loads(minimal, 0, NULL);
    for (int cut = 1; cut < (int)strlen(minimal); cut += 50) { /* an earlier run was stopped while it wrote */
        snprintf(text, sizeof text, "%s%.*s", minimal, cut, minimal);
        write_text(text);
        if (record_writer_open(&writer, file, &err))
            fail_msg("%s", err.text);
        assert_int_equal(record_writer_append(&writer, record, &err), RIDGE_OK);
        record_writer_close(&writer);
        lines = 0;
        assert_int_equal(records_read(file, count, &lines, &partial, &err), RIDGE_OK);
        assert_int_equal(lines, 2);
    }
    snprintf(text, sizeof text, "%.*s", (int)strlen(minimal) - 1, minimal); /* a whole record without its newline */
    write_text(text);
    assert_int_equal(record_writer_open(&writer, file, &err), RIDGE_OK);
    assert_int_equal(record_writer_append(&writer, record, &err), RIDGE_OK);
    record_writer_close(&writer);
    lines = 0;
    assert_int_equal(records_read(file, count, &lines, &partial, &err), RIDGE_OK);
    assert_int_equal(lines, 2);

    write_text("a letter to somebody");
    assert_int_equal(record_writer_open(&writer, file, &err), RIDGE_INVALID);
    assert_int_equal(writer.fd, -1);
    read_text(file, text, sizeof text);
    assert_string_equal(text, "a letter to somebody");
    json_decref(record);
}

static void folders_are_made_and_refusals_say_why(void **state)
{
    (void)state;
    struct record_writer writer;
    struct ridge_error err = {""};
    char path[512];
    snprintf(path, sizeof path, "%s/a/b/r.jsonl", folder);
    assert_int_equal(record_writer_open(&writer, path, &err), RIDGE_OK);
    record_writer_close(&writer);
    assert_int_equal(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);

    assert_int_equal(record_writer_open(&writer, "/proc/ridge/r.jsonl", &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "/proc/ridge/r.jsonl: cannot write records there: No such file"));
    write_text("");
    snprintf(path, sizeof path, "%s/r.jsonl", file); /* below a regular file, where not even root can write */
    assert_int_equal(record_writer_open(&writer, path, &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "Not a directory"));
    assert_int_equal(record_writer_open(&writer, folder, &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "Is a directory"));
}

static void a_full_disk_is_said(void **state)
{
    (void)state;
    struct record_writer writer;
    struct ridge_error err = {""};
    json_t *record = json_loads(minimal, 0, NULL);
    assert_int_equal(record_writer_open(&writer, "/dev/full", &err), RIDGE_OK);
    assert_int_equal(record_writer_append(&writer, record, &err), RIDGE_ENVIRONMENT);
    assert_string_equal(err.text, "/dev/full: cannot write the record: No space left on device");
    record_writer_close(&writer);

    /* A disk that fills in the middle of a line, here by a limit on the file's size: earlier records stay whole. */
    struct rlimit before, small;
    bool partial = true;
    long lines = 0;
    unlink(file);
    assert_int_equal(record_writer_open(&writer, file, &err), RIDGE_OK);
    assert_int_equal(record_writer_append(&writer, record, &err), RIDGE_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = strlen(minimal) + 100;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(record_writer_append(&writer, record, &err), RIDGE_ENVIRONMENT);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(err.text, file));
    record_writer_close(&writer);
    assert_int_equal(records_read(file, count, &lines, &partial, &err), RIDGE_OK);
    assert_int_equal(lines, 1);
    assert_false(partial);
    json_decref(record);
}

static void what_no_reader_would_take_is_not_written(void **state)
{
    (void)state;
    struct record_writer writer;
    struct ridge_error err = {""};
    struct stat info;
    json_t *record = json_loads(minimal, 0, NULL);
    record_set(record, "variant.idea", NULL);
    unlink(file);
    assert_int_equal(record_writer_open(&writer, file, &err), RIDGE_OK);
    assert_int_equal(record_writer_append(&writer, record, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "variant.idea"));
    record_set_string(record, "variant.idea", "foreign \xff\xe9"); /* not UTF-8, which JSON needs */
    assert_true(record_is(record, "variant.idea", "foreign ??"));
    assert_int_equal(record_writer_append(&writer, record, &err), RIDGE_OK);
    record_writer_close(&writer);
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(record_writer_open(&writer, "", &err), RIDGE_ENVIRONMENT);
    json_decref(record);
}

static void a_line_may_be_long(void **state)
{
    (void)state;
    struct record_writer writer;
    struct ridge_error err = {""};
    struct record_list list;
    json_t *record = json_loads(full, 0, NULL), *samples = json_array();
    for (int i = 0; i < 300000; i++)
        json_array_append_new(samples, json_real(1000.25 + i));
    record_set(record, "time.samples_ns", samples);
    unlink(file);
    assert_int_equal(record_writer_open(&writer, file, &err), RIDGE_OK);
    assert_int_equal(record_writer_append(&writer, record, &err), RIDGE_OK);
    record_writer_close(&writer);
    assert_int_equal(record_list_read(&list, (const char *const[]){file}, 1, &err), RIDGE_OK);
    assert_int_equal(list.count, 1);
    assert_true(json_equal(list.record[0], record));
    record_list_free(&list);
    json_decref(record);
}

#ifdef __SANITIZE_ADDRESS__
enum { MANY = 20000 };
#else
enum { MANY = 100000 }; /* 100 MB */
#endif

static void *feed(void *ctx)
{
    FILE *out = fdopen(*(int *)ctx, "w");
    for (int i = 0; i < MANY; i++)
        fputs(minimal, out);
    fclose(out);
    return NULL;
}

/* Through a pipe, so that a reader which needs the whole file, or keeps what it has read, shows. */
static void many_lines_in_bounded_memory(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    pthread_t thread;
    long lines = 0;
    bool partial;
    struct ridge_error err = {""};
    struct rusage before, after;
    assert_int_equal(pipe(ends), 0);
    getrusage(RUSAGE_SELF, &before);
    assert_int_equal(pthread_create(&thread, NULL, feed, &ends[1]), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    int status = records_read(path, count, &lines, &partial, &err);
    close(ends[0]);
    pthread_join(thread, NULL);
    getrusage(RUSAGE_SELF, &after);
    if (status)
        fail_msg("%s", err.text);
    assert_int_equal(lines, MANY);
    assert_false(partial);
#ifndef __SANITIZE_ADDRESS__
    if (after.ru_maxrss - before.ru_maxrss > 8 * 1024)
        fail_msg("reading took %ld KiB of memory", after.ru_maxrss - before.ru_maxrss);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_lines_in_bounded_memory), /* first: it looks at the peak of memory */
        cmocka_unit_test(a_record_comes_back_as_it_was),
        cmocka_unit_test(a_partial_last_line_is_reported_not_fatal),
        cmocka_unit_test(errors_name_file_line_and_key),
        cmocka_unit_test(a_reader_may_stop),
        cmocka_unit_test(appending_mends_the_last_line),
        cmocka_unit_test(folders_are_made_and_refusals_say_why),
        cmocka_unit_test(a_full_disk_is_said),
        cmocka_unit_test(what_no_reader_would_take_is_not_written),
        cmocka_unit_test(a_line_may_be_long),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
