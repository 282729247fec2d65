/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory level a working set on the host is served from. In work keys the first-level cache is counted as smem,
 * the other caches as l2, DRAM as hbm. */
#ifndef RIDGE_HOST_CACHE_H
#define RIDGE_HOST_CACHE_H

#include <stdint.h>

struct host_cache {
    int64_t l1_bytes;   /* data cache of one core */
    int64_t last_bytes; /* last-level caches of all CPUs this process may run on */
};

/* Of this machine: sysfs, else sysconf (whose last-level size is often wrong in virtual machines), else 32 KiB and
 * 32 MiB. Read once. */
const struct host_cache *host_cache(void);

/* The same from a copy of /sys/devices/system/cpu; fields that are not found there are left as they are. `cpus` is a
 * bit set of `bytes` bytes like cpu_set_t. */
void host_cache_read(const char *root, const void *cpus, int64_t bytes, struct host_cache *cache);

enum host_level {
    HOST_MIXED, /* near a boundary: served from two levels */
    HOST_L1,    /* the share of a thread fits half of its first-level cache */
    HOST_CACHE, /* beyond twice the first level, within half of the last */
    HOST_DRAM,  /* four times the last-level caches or more: caches that keep part of a scanned set do not count */
};

/* `bytes` are divided evenly among `threads`. */
enum host_level host_level(const struct host_cache *cache, int64_t bytes, int threads);

#endif
