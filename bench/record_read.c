/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/printable.h"

/* What a line that is no object is; Jansson would quote its bytes, a compressed file's among them. */
static int no_object(const char *path, const char *text, size_t bytes, long line, struct ridge_error *err)
{
    if (bytes == 0)
        return ridge_fail(err, RIDGE_INVALID, "%s:%ld: not a record: an empty line", path, line);
    if (bytes > 1 && memcmp(text, "\x1f\x8b", 2) == 0)
        return ridge_fail(err, RIDGE_INVALID, "%s:%ld: not a record: compressed by gzip; read zcat's output with -",
                          path, line);
    return ridge_fail(err, RIDGE_INVALID, "%s:%ld: not a record: begins with byte 0x%02x, a record with '{'", path,
                      line, (unsigned char)text[strspn(text, " \t\r")]);
}

/* Strings come from other machines, and go to terminals and into tables. (Keys: record_validate.) */
static void make_printable(json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;
    if (json_is_string(value) && text_has_controls(json_string_value(value)))
        text_make_printable((char *)json_string_value(value)); /* as long as before */
    json_object_foreach(value, key, member) make_printable(member);
    json_array_foreach(value, i, member) make_printable(member);
}

/* One line, without its newline. A line that is cut short and is the last one sets *partial. */
static int read_line(const char *path, const char *text, size_t bytes, bool ended, long line, record_each each,
                     void *ctx, bool *partial, struct ridge_error *err)
{
    struct ridge_error reason;
    json_error_t at;
    const size_t spaces = strspn(text, " \t\r");
    if (spaces >= bytes || text[spaces] != '{')
        return no_object(path, text, spaces >= bytes ? 0 : bytes, line, err);
    json_t *record = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &at);
    if (!record) {
        if (!ended && text[0] == '{' && json_error_code(&at) != json_error_duplicate_key) {
            *partial = true;
            return RIDGE_OK;
        }
        text_make_printable(at.text);
        return ridge_fail(err, RIDGE_INVALID, "%s:%ld: not a record: %s (column %d)", path, line, at.text, at.column);
    }
    int status = record_validate(record, &reason);
    if (status) {
        text_make_printable(reason.text); /* it may quote the record */
        ridge_fail(err, status, "%s:%ld: %s", path, line, reason.text);
    } else {
        make_printable(record);
        status = each(ctx, record, line, err);
    }
    json_decref(record);
    return status;
}

int records_read(const char *path, record_each each, void *ctx, bool *partial, struct ridge_error *err)
{
    bool cut = false, standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "r");
    if (!file)
        return ridge_fail(err, RIDGE_INVALID, "%s: %s", path, strerror(errno));
    char *text = NULL;
    size_t capacity = 0;
    ssize_t bytes;
    int status = RIDGE_OK;
    for (long line = 1; !status && (bytes = getline(&text, &capacity, file)) > 0; line++) {
        bool ended = text[bytes - 1] == '\n';
        status = read_line(path, text, (size_t)bytes - ended, ended, line, each, ctx, &cut, err);
    }
    if (!status && !feof(file)) /* an error, or no memory for a line */
        status = ridge_fail(err, RIDGE_INVALID, "%s: %s", path, strerror(errno));
    free(text);
    if (!standard)
        fclose(file);
    if (partial)
        *partial = cut;
    return status;
}

struct collector {
    struct record_list *list;
    size_t capacity;
};

static int collect(void *ctx, const json_t *record, long line, struct ridge_error *err)
{
    (void)line;
    struct collector *to = ctx;
    struct record_list *list = to->list;
    if (list->count == to->capacity) {
        size_t capacity = to->capacity ? 2 * to->capacity : 64;
        json_t **grown = realloc(list->record, capacity * sizeof *grown);
        if (!grown)
            return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory after %zu records", list->count);
        list->record = grown;
        to->capacity = capacity;
    }
    list->record[list->count++] = json_incref((json_t *)record);
    return RIDGE_OK;
}

int record_list_read(struct record_list *list, const char *const *path, size_t paths, struct ridge_error *err)
{
    *list = (struct record_list){.count = 0};
    struct collector to = {.list = list};
    for (size_t i = 0; i < paths; i++) {
        bool partial;
        int status = records_read(path[i], collect, &to, &partial, err);
        if (status) {
            record_list_free(list);
            return status;
        }
        if (partial) {
            size_t used = strlen(list->notes);
            snprintf(list->notes + used, sizeof list->notes - used,
                     "%s%s: the last line is partial (an interrupted run) and was left out", used ? "\n" : "", path[i]);
        }
    }
    return RIDGE_OK;
}

void record_list_free(struct record_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        json_decref(list->record[i]);
    free(list->record);
    *list = (struct record_list){.count = 0};
}
