/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: one JSON object a line, schema "ridgeline.record/1" (bench/record.schema.json, docs/record.md).
 * The only interface between bench/ and everything after it, and the only bench/ header that roofline/ and
 * reports/ include. A record in memory is the JSON object; fields are read by path ("time.median_ns").
 */
#ifndef RIDGE_RECORD_H
#define RIDGE_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define RIDGE_RECORD_SCHEMA "ridgeline.record/1"

/* Field access by dotted path. Missing or of another type: NULL, NaN, false. Strings are borrowed. */
const json_t *record_get(const json_t *record, const char *path);
const char *record_string(const json_t *record, const char *path);
double record_number(const json_t *record, const char *path);
bool record_is(const json_t *record, const char *path, const char *value);

/* Sets a dotted path, creating objects on the way; steals `value` (a NULL value is stored as JSON null). */
void record_set(json_t *record, const char *path, json_t *value);
void record_set_number(json_t *record, const char *path, double value); /* NaN and infinities become null */
void record_set_string(json_t *record, const char *path, const char *value); /* NULL becomes null */

/* A JSON string; text that is not UTF-8 has its foreign bytes replaced. */
json_t *record_text(const char *text);

/* time.samples_ns as a new array; the caller frees. NULL and *n = 0 if there are none. */
double *record_samples(const json_t *record, size_t *n);

/* Pairing key "variant | shape | modes", e.g. "gemm_f32_02_smem_tile m=4096,n=4096,k=4096 cache=cold,...".
 * Malloced. Two records with one key measure the same thing; the device is not part of it. */
char *record_key(const json_t *record);

/* Required keys, their types, and the schema name. *err names the key. */
int record_validate(const json_t *record, struct ridge_error *err);

/* Appending writer. One record is one write(2) of one line to a file opened for append, so that a stop at any
 * point leaves at most one partial last line. RIDGE_ENVIRONMENT for a folder that is not writable or a full disk,
 * naming path and cause. Several programs may append to one file. */
struct record_writer {
    int fd;
    char *path;
};
/* "-" is standard output. */
int record_writer_open(struct record_writer *writer, const char *path, struct ridge_error *err);
/* What is written of a record, newline included. Malloced; NULL where it cannot be written as JSON. */
char *record_line(const json_t *record);
/* RIDGE_INVALID and nothing written where a reader would refuse the record. */
int record_writer_append(struct record_writer *writer, const json_t *record, struct ridge_error *err);
void record_writer_close(struct record_writer *writer);

/* Reader. Calls `each` for every record (borrowed; json_incref to keep). A partial last line is not an error:
 * *partial tells. Anything else that is wrong (not JSON, duplicate keys, other schema version, missing required
 * key) is RIDGE_INVALID naming file, line and key. Lines may be any length. path "-" is standard input. */
typedef int (*record_each)(void *ctx, const json_t *record, long line, struct ridge_error *err);
int records_read(const char *path, record_each each, void *ctx, bool *partial, struct ridge_error *err);

/* All records of the files in order, with a note for each partial last line in `notes`. */
struct record_list {
    json_t **record; /* owned references */
    size_t count;
    char notes[512]; /* "" or what a reader should be told */
};
int record_list_read(struct record_list *list, const char *const *path, size_t paths, struct ridge_error *err);
void record_list_free(struct record_list *list);

#endif
