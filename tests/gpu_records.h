/* SPDX-License-Identifier: Apache-2.0 */
/* GPU tests run the program itself and read its records. */
#ifndef RIDGE_GPU_RECORDS_H
#define RIDGE_GPU_RECORDS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/device.h"
#include "bench/record.h"

enum { SKIPPED = 77 };

/* $RIDGE, or ridge in the folder above this test's. */
static inline const char *gpu_ridge(const char *self)
{
    static char path[4096];
    const char *given = getenv("RIDGE");
    const char *slash = strrchr(self, '/');
    if (given)
        return given;
    snprintf(path, sizeof path, "%.*s/../ridge", slash ? (int)(slash - self) : 1, slash ? self : ".");
    return path;
}

/* Exits with 77 and the reason where there is no GPU. */
static inline void gpu_required(void)
{
    struct device_info info;
    struct timer_quality timer;
    struct ridge_error reason;
    if (device_cuda.open(&info, &timer, &reason) != RIDGE_OK) {
        printf("skipped: %s\n", reason.text);
        exit(SKIPPED);
    }
    device_cuda.close();
}

/* Runs `ridge bench --device cuda ARGUMENTS` and reads its records; exits with 1 when it fails. */
static inline void gpu_bench(const char *self, const char *arguments, struct record_list *list)
{
    char path[] = "/tmp/ridge-gpu-XXXXXX", command[8192];
    struct ridge_error err = {""};
    int fd = mkstemp(path);
    if (fd < 0)
        exit(1);
    close(fd);
    snprintf(command, sizeof command, "%s bench --device cuda %s --json %s", gpu_ridge(self), arguments, path);
    int code = system(command);
    const char *paths[] = {path};
    if (code != 0 || record_list_read(list, paths, 1, &err) != RIDGE_OK || list->count == 0) {
        printf("FAIL: %s: exit %d %s\n", command, code, err.text);
        unlink(path);
        exit(1);
    }
    unlink(path);
}

#endif
