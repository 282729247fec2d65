/* SPDX-License-Identifier: Apache-2.0 */
/* Status of library functions: 0, or one of the exit codes below with a message in *err.
 * Only main prints and exits. */
#ifndef RIDGE_ERROR_H
#define RIDGE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum ridge_status {
    RIDGE_OK = 0,
    RIDGE_REGRESSION = 1,   /* a regression, or a check that failed */
    RIDGE_INVALID = 2,      /* usage or invalid input */
    RIDGE_INCONCLUSIVE = 3,
    RIDGE_ENVIRONMENT = 4,  /* the environment is not comparable or lacks something required, or the run was interrupted */
};

struct ridge_error {
    char text[512];
};

/* Formats *err (which may be NULL) and returns status, so that `return ridge_fail(...)` reads well. */
int ridge_fail(struct ridge_error *err, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif

#endif
