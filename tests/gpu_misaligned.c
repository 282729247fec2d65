/* SPDX-License-Identifier: Apache-2.0 */
/* Setup of every GEMM variant that copies by tensor maps refuses an operand off 16 bytes, by name, and of those with
 * block scales one with too few of them; nothing runs. */
#include "bench/registry.h"
#include "tests/gpu_records.h"

/* Buffers that all of these variants read by tensor copies, or that hold scales, and what setup calls them. */
enum { COPIED = 1, SCALES = 2 };
static const struct {
    const char *families;
    int64_t dim[RIDGE_MAX_AXES];
    int buffer;
    const char *name;
    int kind;
} operands[] = {
    {"gemm_bf16|gemm_fp8_tensor|gemm_fp8_block", {128, 128, 128}, 0, "a", COPIED},
    {"gemm_bf16|gemm_fp8_tensor|gemm_fp8_block", {128, 128, 128}, 1, "b", COPIED},
    {"gemm_fp8_block", {128, 128, 128}, 2, "scale_a", COPIED | SCALES},
    {"gemm_fp8_block", {128, 128, 128}, 3, "scale_b", SCALES},
    {"gemm_fp8_block_1d1d", {128, 128, 128}, 0, "a", COPIED},
    {"gemm_fp8_block_1d1d", {128, 128, 128}, 1, "b", COPIED},
    {"gemm_fp8_block_1d1d", {128, 128, 128}, 2, "scale_a", COPIED | SCALES},
    {"gemm_fp8_block_1d1d", {128, 128, 128}, 3, "scale_b", COPIED | SCALES},
    {"gemm_grouped_contiguous|gemm_grouped_masked", {2, 64, 128, 128, 128}, 0, "a", COPIED},
    {"gemm_grouped_contiguous|gemm_grouped_masked", {2, 64, 128, 128, 128}, 1, "b", COPIED},
    {"gemm_grouped_contiguous|gemm_grouped_masked", {2, 64, 128, 128, 128}, 2, "scale_a", COPIED | SCALES},
    {"gemm_grouped_contiguous|gemm_grouped_masked", {2, 64, 128, 128, 128}, 3, "scale_b", SCALES},
    {"gemm_grouped_contiguous|gemm_grouped_masked", {2, 64, 128, 128, 128}, 5, "d", COPIED},
};

/* `off`: the operand is, else its buffer is empty. */
static int refused(const struct ridge_entry *entry, const struct ridge_device *device, char *memory, size_t operand,
                   bool off)
{
    const int64_t *dim = operands[operand].dim;
    const int buffer = operands[operand].buffer;
    const char *const says = off ? "8 bytes beyond a multiple of 16" : ": 0 rows of ";
    char message[256] = "", name[16];
    size_t bytes[RIDGE_MAX_BUFFERS];
    void *place[RIDGE_MAX_BUFFERS], *state = NULL;
    for (int i = 0; i < RIDGE_MAX_BUFFERS; i++) {
        place[i] = memory + i * (1 << 20) + (off && i == buffer ? 8 : 0);
        bytes[i] = !off && i == buffer ? 0 : 1 << 20;
    }
    snprintf(name, sizeof name, "%s%s", operands[operand].name, off ? ": address" : ":");
    struct ridge_call call = {.dim = dim,
                              .buffer = place,
                              .buffer_bytes = bytes,
                              .workspace = memory,
                              .stream = device_cuda.stream(),
                              .device = device,
                              .error = message,
                              .error_bytes = sizeof message};
    const int status = entry->variant->setup(&call, &state);
    if (status && !state && strstr(message, name) && strstr(message, says))
        return 0;
    printf("FAIL: %s_%s with buffer %d %s: setup returns %d, \"%s\"\n", entry->family, entry->label, buffer,
           off ? "off 16 bytes" : "empty", status, message);
    return 1;
}

int main(void)
{
    struct registry registry;
    struct device_info info;
    struct timer_quality timer;
    struct ridge_error err;
    void *memory;
    int failed = 0, asked = 0;
    gpu_required();
    if (device_cuda.open(&info, &timer, &err) || registry_open(&registry, &err) ||
        device_cuda.alloc(&memory, (RIDGE_MAX_BUFFERS + 1) << 20, &err)) {
        printf("FAIL: %s\n", err.text);
        return 1;
    }
    for (int i = 0; i < registry.count; i++)
        for (size_t j = 0; j < sizeof operands / sizeof *operands; j++) {
            const struct ridge_entry *entry = registry.entry[i];
            if (!registry_match(entry, operands[j].families, NULL) || entry->variant->min_cc < 90 ||
                entry->label[0] == '9' || !entry->variant->setup)
                continue;
            for (int kind = COPIED; kind <= SCALES; kind++) {
                if (!(operands[j].kind & kind))
                    continue;
                asked++;
                failed += refused(entry, &info.device, memory, j, kind == COPIED);
            }
        }
    printf("%d of %d refused\n", asked - failed, asked);
    return failed || asked == 0;
}
