/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of other people's records do not command a terminal, nor end a line of a table: not as values, not as keys,
 * not in messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/printable.h"
#include "bench/record.h"

static char file[] = "/tmp/ridge-printable-XXXXXX";
static json_t *record;

static int make_record(void **state)
{
    (void)state;
    const char *source = getenv("RIDGE_SOURCE");
    char path[4096];
    const int fd = mkstemp(file);
    if (fd < 0)
        return -1;
    close(fd);
    snprintf(path, sizeof path, "%s/tests/fixtures/record_minimal.jsonl", source ? source : ".");
    record = json_load_file(path, 0, NULL);
    return record ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    json_decref(record);
    return unlink(file);
}

static int keep(void *ctx, const json_t *read, long line, struct ridge_error *err)
{
    (void)line;
    (void)err;
    *(json_t **)ctx = json_incref((json_t *)read);
    return RIDGE_OK;
}

static void text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *printable;
    } cases[] = {
        {"", ""},
        {"NVIDIA H200", "NVIDIA H200"},
        {"\x1b[31mred", " [31mred"},
        {"a\nb\tc\rd\x7f", "a b c d "},
        {"\xc2\x9b"
         "31m",
         "  31m"},
        {"\xc2\xa0\xc3\xa9\xe2\x82\xac", "\xc2\xa0\xc3\xa9\xe2\x82\xac"},
        {"\xc2", "\xc2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char copy[64];
        snprintf(copy, sizeof copy, "%s", cases[i].text);
        assert_int_equal(text_has_controls(copy), strcmp(cases[i].text, cases[i].printable) != 0);
        text_make_printable(copy);
        assert_string_equal(copy, cases[i].printable);
        assert_false(text_has_controls(copy));
    }
}

static void values(void **state)
{
    (void)state;
    struct ridge_error err = {""};
    json_t *with = json_deep_copy(record), *back = NULL;
    json_object_set_new(json_object_get(with, "device"), "name", json_string("a\x1b[2Jb\nc"));
    json_object_set_new(with, "unknown", json_pack("[s, {s:s}]", "\t", "b", "\r"));
    assert_int_equal(json_dump_file(with, file, JSON_COMPACT), 0);
    assert_int_equal(records_read(file, keep, &back, NULL, &err), RIDGE_OK);
    const json_t *unknown = json_object_get(back, "unknown");
    assert_string_equal(record_string(back, "device.name"), "a [2Jb c");
    assert_string_equal(json_string_value(json_array_get(unknown, 0)), " ");
    assert_string_equal(record_string(json_array_get(unknown, 1), "b"), " ");
    json_decref(back);
    json_decref(with);
}

static void refused(const char *says)
{
    struct ridge_error err = {""};
    json_t *back = NULL;
    assert_int_equal(records_read(file, keep, &back, NULL, &err), RIDGE_INVALID);
    if (!strstr(err.text, says) || text_has_controls(err.text))
        fail_msg("\"%s\" instead of \"%s\"", err.text, says);
}

static void keys(void **state)
{
    (void)state;
    static const char *const places[] = {"shape", "device", "work"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        json_t *with = json_deep_copy(record);
        json_object_set_new(json_object_get(with, places[i]), "m\x1b[2J", json_integer(1));
        assert_int_equal(record_validate(with, NULL), RIDGE_INVALID);
        assert_int_equal(json_dump_file(with, file, JSON_COMPACT), 0);
        refused(":1: a key has a control character");
        json_decref(with);
    }
}

static void messages(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"{\"schema\":\"\\u001b[2J\"}\n", "schema \" [2J\""},
        {"{\"schema\": \x1b[2J}\n", "not a record"},
        {"{\"schema\": x\x1b[2J}\n", "not a record"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *out = fopen(file, "w");
        assert_non_null(out);
        fputs(cases[i].line, out);
        fclose(out);
        refused(cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text),
        cmocka_unit_test(values),
        cmocka_unit_test(keys),
        cmocka_unit_test(messages),
    };
    return cmocka_run_group_tests(tests, make_record, remove_file);
}
