/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_TIME_H
#define RIDGE_TIME_H

#include <time.h>

static inline double time_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

#endif
