/* SPDX-License-Identifier: Apache-2.0 */
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(struct whole_file *file)
{
    free(file->text);
    free(file->path);
    free(file->draft);
    *file = (struct whole_file){.fd = -1};
}

/* The file of this name: a link's target, so that the link stays. */
static int name_draft(struct whole_file *file, bool exists)
{
    char *target = exists ? realpath(file->path, NULL) : strdup(file->path);
    size_t bytes = target ? strlen(target) + 32 : 0;
    file->draft = target ? malloc(bytes) : NULL;
    if (!file->draft) {
        free(target);
        return -1;
    }
    snprintf(file->draft, bytes, "%s.%ld.draft", target, (long)getpid());
    free(file->path);
    file->path = target;
    return 0;
}

static int open_draft(const struct whole_file *file, const struct stat *old)
{
    if (old && access(file->path, W_OK) != 0)
        return -1;
    unlink(file->draft); /* of a program that was killed and had our number */
    int fd = open(file->draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 && old && fchmod(fd, old->st_mode & 0777) != 0) {
        close(fd);
        unlink(file->draft);
        return -1;
    }
    return fd;
}

int whole_file_open(struct whole_file *file, const char *path, struct ridge_error *err)
{
    struct stat old, link;
    const bool exists = stat(path, &old) == 0;
    const bool in_place = exists ? !S_ISREG(old.st_mode) : lstat(path, &link) == 0;
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error to report, not the end of the program */
    *file = (struct whole_file){.fd = -1, .path = strdup(path)};
    if (file->path && (in_place || name_draft(file, exists) == 0))
        file->fd = in_place ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
                            : open_draft(file, exists ? &old : NULL);
    if (file->fd >= 0)
        file->stream = open_memstream(&file->text, &file->bytes);
    if (file->stream)
        return RIDGE_OK;
    int status = ridge_fail(err, RIDGE_ENVIRONMENT, "%s: %s", path, strerror(errno));
    if (file->fd >= 0) {
        close(file->fd);
        if (file->draft)
            unlink(file->draft);
    }
    release(file);
    return status;
}

static int write_fully(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(fd, text, bytes);
        if (written < 0 && errno != EINTR)
            return -1;
        text += written > 0 ? written : 0;
        bytes -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

int whole_file_close(struct whole_file *file, int status, struct ridge_error *err)
{
    int cause = ferror(file->stream) ? ENOMEM : 0;
    if (fclose(file->stream) != 0 || (!cause && !status && write_fully(file->fd, file->text, file->bytes) != 0))
        cause = errno;
    if (close(file->fd) != 0 && !cause)
        cause = errno;
    if (!cause && !status && file->draft && rename(file->draft, file->path) != 0)
        cause = errno;
    if (file->draft && (status || cause))
        unlink(file->draft);
    if (!status && cause)
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "%s: %s", file->path, strerror(cause));
    release(file);
    return status;
}

int whole_file_write(const char *path, const void *text, size_t bytes, struct ridge_error *err)
{
    struct whole_file file;
    int status = whole_file_open(&file, path, err);
    if (status)
        return status;
    fwrite(text, 1, bytes, file.stream); /* closing tells */
    return whole_file_close(&file, RIDGE_OK, err);
}
