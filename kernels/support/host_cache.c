/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "kernels/support/host_cache.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_INDEX = 8 };

static bool read_line(const char *root, int cpu, int index, const char *file, char *text, int bytes)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/cpu%d/cache/index%d/%s", root, cpu, index, file);
    FILE *stream = fopen(path, "r");
    if (!stream)
        return false;
    const bool found = fgets(text, bytes, stream) != NULL;
    fclose(stream);
    return found;
}

/* "32K", "1024K", "36M" */
static int64_t parse_size(const char *text)
{
    char *unit;
    const long long value = strtoll(text, &unit, 10);
    return value << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0);
}

static bool has_cpu(const void *cpus, int64_t bytes, int cpu)
{
    return cpu / 8 < bytes && ((const unsigned char *)cpus)[cpu / 8] >> cpu % 8 & 1;
}

/* The highest data or unified cache of a CPU; its first-level size goes to *l1_bytes. False if there is none. */
static bool last_cache(const char *root, int cpu, int64_t *l1_bytes, int64_t *size, int *first_cpu)
{
    int highest = 0;
    for (int index = 0; index < MAX_INDEX; index++) {
        char level[16], type[32], text[32], shared[256];
        if (!read_line(root, cpu, index, "level", level, sizeof level) ||
            !read_line(root, cpu, index, "type", type, sizeof type) || strncmp(type, "Instruction", 11) == 0 ||
            !read_line(root, cpu, index, "size", text, sizeof text) ||
            !read_line(root, cpu, index, "shared_cpu_list", shared, sizeof shared))
            continue;
        if (atoi(level) == 1)
            *l1_bytes = parse_size(text);
        if (atoi(level) <= highest)
            continue;
        highest = atoi(level);
        *size = parse_size(text);
        *first_cpu = atoi(shared);
    }
    return highest > 0;
}

void host_cache_read(const char *root, const void *cpus, int64_t bytes, struct host_cache *cache)
{
    unsigned char *seen = calloc((size_t)bytes + 1, 1); /* caches by the first CPU that shares them */
    int64_t total = 0;
    for (int cpu = 0; seen && cpu < bytes * 8; cpu++) {
        int64_t size = 0;
        int first = 0;
        if (!has_cpu(cpus, bytes, cpu) || !last_cache(root, cpu, &cache->l1_bytes, &size, &first) || first < 0 ||
            first >= bytes * 8 || has_cpu(seen, bytes, first))
            continue;
        seen[first / 8] |= (unsigned char)(1 << first % 8);
        total += size;
    }
    if (total > 0)
        cache->last_bytes = total;
    free(seen);
}

static struct host_cache found;

static void find(void)
{
    const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    found.l1_bytes = l1 > 0 ? l1 : 32 << 10;
    found.last_bytes = l3 > 0 ? l3 : 32 << 20;
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        host_cache_read("/sys/devices/system/cpu", &cpus, sizeof cpus, &found);
}

const struct host_cache *host_cache(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return &found;
}

enum host_level host_level(const struct host_cache *cache, int64_t bytes, int threads)
{
    if (bytes >= 4 * cache->last_bytes)
        return HOST_DRAM;
    if (bytes / threads <= cache->l1_bytes / 2)
        return HOST_L1;
    if (bytes / threads >= 2 * cache->l1_bytes && bytes <= cache->last_bytes / 2)
        return HOST_CACHE;
    return HOST_MIXED;
}
