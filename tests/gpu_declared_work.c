/* SPDX-License-Identifier: Apache-2.0 */
/* Declared work against counted: tensor FLOPs to the last unit; DRAM bytes of cold streaming kernels within 3 %;
 * coldness verified. */
#include <math.h>

#include "tests/gpu_records.h"

static int failures;

static double counted(const json_t *record, const char *metric)
{
    const json_t *value = json_object_get(record_get(record, "counters.values"), metric);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void within(const json_t *record, const char *what, double declared, double got, double share)
{
    if (fabs(got / declared - 1) <= share)
        return;
    printf("FAIL: %s %s: %s: declared %.0f, counted %.0f\n", record_string(record, "variant.name"),
           record_string(record, "shape.name"), what, declared, got);
    failures++;
}

static void check_streaming(const char *self)
{
    struct record_list list = {0};
    gpu_bench(self, "--family 'ceiling_hbm_*' --shape 4GiB --shape 4294967296", &list);
    for (size_t i = 0; i < list.count; i++) {
        const json_t *record = list.record[i];
        double read = record_number(record, "work.useful.bytes_hbm_read");
        double written = record_number(record, "work.useful.bytes_hbm_write");
        if (read > 1e9)
            within(record, "DRAM bytes read", read, counted(record, "dram__bytes_read.sum"), 0.03);
        if (written > 1e9)
            within(record, "DRAM bytes written", written, counted(record, "dram__bytes_write.sum"), 0.03);
        if (read > 1e9 && !record_is(record, "mode.cache.verified", "verified")) {
            printf("FAIL: %s: not verified cold: %s\n", record_string(record, "variant.name"),
                   record_string(record, "mode.cache.evidence"));
            failures++;
        }
    }
    record_list_free(&list);
}

static void check_tensor(const char *self)
{
    struct record_list list = {0};
    gpu_bench(self, "--family 'ceiling_wgmma_*'", &list);
    for (size_t i = 0; i < list.count; i++) {
        const json_t *record = list.record[i];
        double bf16 = record_number(record, "work.issued.flop_bf16"), fp8 = record_number(record, "work.issued.flop_fp8");
        if (!record_is(record, "status", "ok"))
            continue;
        if (bf16 > 0)
            within(record, "BF16 FLOP", bf16,
                   counted(record, "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum"), 0);
        if (fp8 > 0)
            within(record, "FP8 FLOP", fp8, counted(record, "sm__ops_path_tensor_src_fp8_sparsity_off.sum"), 0);
    }
    record_list_free(&list);
}

int main(int argc, char **argv)
{
    (void)argc;
    gpu_required();
    check_streaming(argv[0]);
    check_tensor(argv[0]);
    return failures ? 1 : 0;
}
