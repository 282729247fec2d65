/* SPDX-License-Identifier: Apache-2.0 */
/* Declared work against what the counters saw, a line for each family and quantity. */
#include "reports/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "bench/record.h"

static const struct {
    const char *quantity, *key, *metric[2]; /* the metrics add up */
} kinds[] = {
    {"DRAM bytes read", "bytes_hbm_read", {"dram__bytes_read.sum"}},
    {"DRAM bytes written", "bytes_hbm_write", {"dram__bytes_write.sum"}},
    {"L2 bytes", "bytes_l2", {"lts__t_bytes.sum"}},
    {"tensor BF16, FP16",
     "flop_bf16",
     {"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum",
      "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum"}},
    {"tensor FP8", "flop_fp8", {"sm__ops_path_tensor_src_fp8_sparsity_off.sum"}},
};

/* Counted over declared; NaN without either. */
static double ratio_of(const struct report_row *row, size_t kind)
{
    const double declared = work_number(record_get(row->record, "work.issued"), kinds[kind].key);
    const json_t *values = record_get(row->record, "counters.values");
    if (!(declared > 0) || !json_is_number(json_object_get(values, kinds[kind].metric[0])))
        return NAN;
    double counted = 0;
    for (int i = 0; i < 2 && kinds[kind].metric[i]; i++)
        counted += json_number_value(json_object_get(values, kinds[kind].metric[i]));
    return counted / declared;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rows of one family; `ratio` has room for as many numbers. */
static void family_lines(struct grid *grid, const struct report_row *row, size_t rows, double *ratio)
{
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        const struct report_row *farthest = NULL;
        double distance = -1;
        size_t count = 0;
        for (size_t i = 0; i < rows; i++) {
            const double value = ratio_of(&row[i], kind);
            if (isnan(value))
                continue;
            ratio[count++] = value;
            if (fabs(log(value)) > distance) {
                distance = fabs(log(value));
                farthest = &row[i];
            }
        }
        if (!farthest)
            continue;
        qsort(ratio, count, sizeof *ratio, by_value);
        grid_cell(grid, row->family);
        grid_cell(grid, kinds[kind].quantity);
        grid_cell(grid, text_of("%zu", count).s);
        grid_cell(grid, text_of("%.4f", ratio[0]).s);
        grid_cell(grid, text_of("%.4f", stats_quantile(ratio, count, 0.5)).s);
        grid_cell(grid, text_of("%.4f", ratio[count - 1]).s);
        grid_cell(grid, text_of("%s %s", farthest->label, farthest->shape).s);
    }
}

struct grid table_counted(const struct report_device *device)
{
    struct grid grid = {0};
    double *ratio = malloc((device->rows + 1) * sizeof *ratio);
    grid_column(&grid, "family", false);
    grid_column(&grid, "quantity", false);
    grid_column(&grid, "records", true);
    grid_column(&grid, "counted / declared: least", true);
    grid_column(&grid, "median", true);
    grid_column(&grid, "most", true);
    grid_column(&grid, "farthest from 1", false);
    for (size_t begin = 0, end; ratio && begin < device->rows; begin = end) {
        for (end = begin + 1; end < device->rows && strcmp(device->row[end].family, device->row[begin].family) == 0;)
            end++;
        family_lines(&grid, &device->row[begin], end - begin, ratio);
    }
    free(ratio);
    return grid;
}
