/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor cores lose what the model of kernels/support/fp8_accumulator.h says: errors of gemm_fp8_block_steps by the
 * interval of promotion, in units of the family's tolerance, at 4096 x 4096 x 7168. One bit of accumulator more or less
 * halves or doubles them. */
#include "tests/gpu_records.h"

/* Simulated: BF16's rounding gives 0.0044 at most; cuts add 0.0004, 0.003, 0.013 and 0.33. */
static const struct {
    const char *label;
    double least, most;
} expected[] = {
    {"20_promote_32", 0.002, 0.0048},  {"21_promote_64", 0.002, 0.0052}, {"01_baseline", 0.0044, 0.0080},
    {"22_promote_256", 0.010, 0.0185}, {"23_promote_never", 0.24, 0.45},
};

int main(int argc, char **argv)
{
    (void)argc;
    gpu_required();
    int failures = 0, seen = 0;
    struct record_list list = {0};
    gpu_bench(argv[0], "--family gemm_fp8_block_steps --variant '[02][0-3]_*' --shape 4096x4096x7168 --group none",
              &list);
    for (size_t i = 0; i < list.count; i++)
        for (size_t j = 0; j < sizeof expected / sizeof *expected; j++) {
            if (!record_is(list.record[i], "variant.label", expected[j].label))
                continue;
            const double error = record_number(list.record[i], "check.max_error");
            seen++;
            if (error >= expected[j].least && error <= expected[j].most)
                continue;
            printf("FAIL: %s: error %g of tolerance, the model says %g to %g\n", expected[j].label, error,
                   expected[j].least, expected[j].most);
            failures++;
        }
    record_list_free(&list);
    if (seen != sizeof expected / sizeof *expected)
        printf("FAIL: %d records\n", seen);
    return failures || seen != sizeof expected / sizeof *expected;
}
