/* SPDX-License-Identifier: Apache-2.0 */
/* Cache detection, the mapping of working sets to memory levels, and the references of the host ceilings. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/support/host_cache.h"
#include "kernels/support/host_stream.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_ceiling_host_read, ridge_family_ceiling_host_copy,
    ridge_family_ceiling_host_triad, ridge_family_ceiling_host_fma;

static char root[] = "/tmp/ridge-cpus-XXXXXX";

static void write_cache(int cpu, int index, const char *level, const char *type, const char *size, const char *shared)
{
    char path[256];
    const char *const files[] = {"level", "type", "size", "shared_cpu_list"};
    const char *const values[] = {level, type, size, shared};
    snprintf(path, sizeof path, "%s/cpu%d", root, cpu);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/cpu%d/cache", root, cpu);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/cpu%d/cache/index%d", root, cpu, index);
    mkdir(path, 0700);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/cpu%d/cache/index%d/%s", root, cpu, index, files[i]);
        FILE *stream = fopen(path, "w");
        assert_non_null(stream);
        fprintf(stream, "%s\n", values[i]);
        fclose(stream);
    }
}

/* Four CPUs, two last-level caches of 36 MiB shared by two each; CPU 3 may not be used. */
static void caches_from_sysfs(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(root));
    for (int cpu = 0; cpu < 4; cpu++) {
        write_cache(cpu, 0, "1", "Data", "48K", "0");
        write_cache(cpu, 1, "1", "Instruction", "64K", "0");
        write_cache(cpu, 2, "2", "Unified", "2048K", "0");
        write_cache(cpu, 3, "3", "Unified", "36M", cpu < 2 ? "0-1" : "2-3");
    }
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    CPU_SET(1, &cpus);
    struct host_cache cache = {1, 2};
    host_cache_read(root, &cpus, sizeof cpus, &cache);
    assert_int_equal(cache.l1_bytes, 48 << 10);
    assert_int_equal(cache.last_bytes, 36 << 20);
    CPU_SET(2, &cpus);
    host_cache_read(root, &cpus, sizeof cpus, &cache);
    assert_int_equal(cache.last_bytes, 72 << 20);
    host_cache_read("/nonexistent", &cpus, sizeof cpus, &cache);
    assert_int_equal(cache.l1_bytes, 48 << 10);
    assert_int_equal(cache.last_bytes, 72 << 20);
}

static int remove_tree(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

static void this_machine_has_caches(void **state)
{
    (void)state;
    assert_in_range(host_cache()->l1_bytes, 4 << 10, 4 << 20);
    assert_true(host_cache()->last_bytes >= host_cache()->l1_bytes);
}

static void levels_of_working_sets(void **state)
{
    (void)state;
    const struct host_cache cache = {32 << 10, 32 << 20};
    assert_int_equal(host_level(&cache, 16 << 10, 1), HOST_L1);
    assert_int_equal(host_level(&cache, 24 << 10, 1), HOST_MIXED);
    assert_int_equal(host_level(&cache, 24 << 10, 2), HOST_L1);
    assert_int_equal(host_level(&cache, 64 << 10, 1), HOST_CACHE);
    assert_int_equal(host_level(&cache, 64 << 10, 2), HOST_MIXED);
    assert_int_equal(host_level(&cache, 16 << 20, 1), HOST_CACHE);
    assert_int_equal(host_level(&cache, 64 << 20, 1), HOST_MIXED);
    assert_int_equal(host_level(&cache, 128 << 20, 1), HOST_DRAM);
    assert_int_equal(host_level(&cache, 128 << 20, 100000), HOST_DRAM);
}

static void work_follows_the_level(void **state)
{
    (void)state;
    const int64_t dram[] = {8 * host_cache()->last_bytes / 24 * 24, 3}, small[] = {48, 5};
    struct ridge_work work = {0};
    ridge_family_ceiling_host_copy.work(dram, &work);
    assert_true(work.bytes_hbm_read == 1.5 * (double)dram[0] && work.bytes_hbm_write == work.bytes_hbm_read);
    assert_true(work.bytes_l2 == 0 && work.bytes_smem == 0);
    work = (struct ridge_work){0};
    ridge_family_ceiling_host_triad.work(dram, &work);
    assert_true(work.bytes_hbm_read == 2 * (double)dram[0] && work.bytes_hbm_write == (double)dram[0]);
    assert_true(work.flop_fp32 == (double)dram[0] / 12 * 2 * 3);
    work = (struct ridge_work){0};
    ridge_family_ceiling_host_read.work(small, &work);
    assert_true(work.bytes_smem == 240 && work.bytes_hbm_read == 0 && work.bytes_l2 == 0);
}

static void threads_share_every_element_once(void **state)
{
    (void)state;
    for (int64_t count = 1; count < 200; count += 7) {
        int seen[200] = {0};
#pragma omp parallel num_threads(3)
        {
            int64_t first, end;
            host_stream_part(count, &first, &end);
            for (int64_t i = first; i < end; i++) {
#pragma omp atomic
                seen[i]++;
            }
        }
        for (int64_t i = 0; i < count; i++)
            assert_int_equal(seen[i], 1);
    }
}

static void values_by_hand(void **state)
{
    (void)state;
    const int64_t twice[] = {16, 2}, triad[] = {12, 1};
    uint32_t words[] = {0xffffffff, 2, 0x80000000, 3};
    float b[] = {2}, c[] = {-5};
    double ref[4], mag[4];
    ridge_family_ceiling_host_read.reference(twice, (void *[]){words, NULL}, (double *[]){ref}, (double *[]){mag});
    assert_true(ref[0] == 8 && mag[0] == 0);
    ridge_family_ceiling_host_copy.reference(twice, (void *[]){words, NULL}, (double *[]){ref}, (double *[]){mag});
    assert_true(ref[0] == 4294967295.0 && ref[1] == 2);
    ridge_family_ceiling_host_triad.reference(triad, (void *[]){b, c, NULL}, (double *[]){ref}, (double *[]){mag});
    assert_true(ref[0] == -13 && mag[0] == 17);
}

/* The closed form of the multiply-add ceiling against its recurrence; one step less is outside the tolerance. */
static void fma_recurrence(void **state)
{
    (void)state;
    const struct ridge_family *family = &ridge_family_ceiling_host_fma;
    const int64_t dim[] = {100};
    struct family_case c;
    case_open(&c, family, dim, 0, NULL);
    const float *x = c.buffer[0];
    float *out = c.buffer[1];
    for (int steps = 99; steps <= 100; steps++) {
        for (int64_t i = 0; i < c.count[1]; i++) {
            double value = x[i];
            for (int s = 0; s < steps; s++)
                value = value * (1 - 0x1p-10) + 0x1p-10;
            out[i] = (float)value;
        }
        assert_int_equal(case_max_error(&c) <= 1, steps == 100);
    }
    case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(caches_from_sysfs, remove_tree),
        cmocka_unit_test(this_machine_has_caches),
        cmocka_unit_test(levels_of_working_sets),
        cmocka_unit_test(work_follows_the_level),
        cmocka_unit_test(threads_share_every_element_once),
        cmocka_unit_test(values_by_hand),
        cmocka_unit_test(fma_recurrence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
