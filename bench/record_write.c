/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memrchr */
#include "bench/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"

/* Creates the folders above a file; errors show when the file is opened. */
static void make_parents(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
    if (folder)
        folder_make(folder);
    free(folder);
}

static int write_fully(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) { /* a short write to a file is a full disk or a size limit, and the next one says which */
        ssize_t written = write(fd, text, bytes);
        if (written < 0 && errno != EINTR)
            return -1;
        text += written > 0 ? written : 0;
        bytes -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* Offset of the byte after the last newline of the first `size` bytes; -1 on a read error. */
static off_t last_line_start(int fd, off_t size)
{
    char block[4096];
    for (off_t end = size; end > 0;) {
        off_t start = end > (off_t)sizeof block ? end - (off_t)sizeof block : 0;
        if (pread(fd, block, (size_t)(end - start), start) != end - start)
            return -1;
        const char *newline = memrchr(block, '\n', (size_t)(end - start));
        if (newline)
            return start + (newline - block) + 1;
        end = start;
    }
    return 0;
}

static const char opening[] = "{\"schema\""; /* of every record */

/* A file that does not begin like a record is somebody's text. */
static int refuse_other_files(const struct record_writer *writer, struct ridge_error *err)
{
    char text[sizeof opening];
    ssize_t bytes = pread(writer->fd, text, sizeof opening - 1, 0);
    if (bytes < 0)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "%s: cannot be read: %s", writer->path, strerror(errno));
    if (memcmp(text, opening, (size_t)bytes) != 0)
        return ridge_fail(err, RIDGE_INVALID, "%s: is not a file of records; nothing was written to it", writer->path);
    return RIDGE_OK;
}

/* A file that does not end in a newline: a whole record gets its newline, one that an earlier stop cut short is
 * removed (appending to it would spoil the next one), and anything else is not ours to touch. */
static int mend_last_line(const struct record_writer *writer, off_t size, struct ridge_error *err)
{
    off_t start = last_line_start(writer->fd, size);
    if (start == size)
        return RIDGE_OK;
    size_t bytes = start < 0 ? 0 : (size_t)(size - start);
    char *text = malloc(bytes + 1);
    int status = RIDGE_OK;
    if (!text || start < 0 || pread(writer->fd, text, bytes, start) != (ssize_t)bytes) {
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "%s: cannot read its last line: %s", writer->path, strerror(errno));
        goto out;
    }
    json_t *record = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    bool whole = record && record_validate(record, NULL) == RIDGE_OK;
    bool cut = !record && memcmp(text, opening, bytes < sizeof opening - 1 ? bytes : sizeof opening - 1) == 0;
    json_decref(record);
    if (!whole && !cut)
        status =
            ridge_fail(err, RIDGE_INVALID, "%s: does not end in a record; nothing was written to it", writer->path);
    else if (whole ? write_fully(writer->fd, "\n", 1) : ftruncate(writer->fd, start))
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "%s: %s", writer->path, strerror(errno));
out:
    free(text);
    return status;
}

int record_writer_open(struct record_writer *writer, const char *path, struct ridge_error *err)
{
    struct stat file;
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error to report, not the end of the program */
    if (strcmp(path, "-") == 0)
        path = "/dev/stdout";
    make_parents(path);
    writer->path = strdup(path);
    writer->fd = writer->path ? open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    int status = RIDGE_OK;
    if (writer->fd >= 0)
        flock(writer->fd, LOCK_EX); /* another run's record may be on its way; where locks are missing, go on */
    if (writer->fd < 0 || fstat(writer->fd, &file))
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "%s: cannot write records there: %s", path, strerror(errno));
    else if (S_ISREG(file.st_mode) && file.st_size > 0)
        status = refuse_other_files(writer, err);
    if (!status && S_ISREG(file.st_mode) && file.st_size > 0)
        status = mend_last_line(writer, file.st_size, err);
    if (status)
        record_writer_close(writer);
    else
        flock(writer->fd, LOCK_UN);
    return status;
}

char *record_line(const json_t *record)
{
    char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(15));
    size_t bytes = text ? strlen(text) : 0;
    char *line = text ? realloc(text, bytes + 2) : NULL;
    if (!line) {
        free(text);
        return NULL;
    }
    memcpy(line + bytes, "\n", 2);
    return line;
}

int record_writer_append(struct record_writer *writer, const json_t *record, struct ridge_error *err)
{
    struct stat before;
    struct ridge_error reason;
    if (record_validate(record, &reason)) /* a file with one such record could not be read again */
        return ridge_fail(err, RIDGE_INVALID, "%s: not written, the record is not valid: %s", writer->path,
                          reason.text);
    char *text = record_line(record);
    if (!text)
        return ridge_fail(err, RIDGE_INVALID, "%s: the record cannot be written as JSON", writer->path);
    int status = RIDGE_OK;
    flock(writer->fd, LOCK_EX); /* what a full disk cuts off must be this record and not another run's */
    bool regular = fstat(writer->fd, &before) == 0 && S_ISREG(before.st_mode);
    if (write_fully(writer->fd, text, strlen(text))) {
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "%s: cannot write the record: %s", writer->path, strerror(errno));
        if (regular && ftruncate(writer->fd, before.st_size))
            ridge_fail(err, status, "%s: the disk is full, and the last line is partial", writer->path);
    }
    flock(writer->fd, LOCK_UN);
    free(text);
    return status;
}

void record_writer_close(struct record_writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    free(writer->path);
    *writer = (struct record_writer){.fd = -1};
}
