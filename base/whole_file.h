/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that are replaced when whole: a stop or a full disk leaves the old file, or none. */
#ifndef RIDGE_WHOLE_FILE_H
#define RIDGE_WHOLE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Stays where it is while it is open. */
struct whole_file {
    FILE *stream; /* into memory */
    char *text;
    size_t bytes;
    int fd;
    char *path, *draft; /* draft NULL: not a regular file, written in place */
};

/* RIDGE_ENVIRONMENT naming path and cause. */
int whole_file_open(struct whole_file *file, const char *path, struct ridge_error *err);

/* With `status` RIDGE_OK the file gets what was written to the stream, else it stays as it was. Returns `status`, or
 * RIDGE_ENVIRONMENT when not all could be written. */
int whole_file_close(struct whole_file *file, int status, struct ridge_error *err);

int whole_file_write(const char *path, const void *text, size_t bytes, struct ridge_error *err);

#endif
