/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/inputs.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/support/mla_account.h"
#include "reports/grid.h"

enum { MOST_TOKENS = 1000000000, MOST_LAYERS = 10000 };

struct kv_cache_args {
    long tokens, layers;
    struct ridge_error error;
};

static void parse_count(struct kv_cache_args *args, const char *option, const char *text, long most, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno && *value >= 1 && *value <= most)
        return;
    if (!args->error.text[0])
        ridge_fail(&args->error, RIDGE_INVALID, "--%s=%.40s: a whole number from 1 to %ld", option, text, most);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct kv_cache_args *args = state->input;
    switch (key) {
    case 't':
        parse_count(args, "tokens", arg, MOST_TOKENS, &args->tokens);
        return 0;
    case 'l':
        parse_count(args, "layers", arg, MOST_LAYERS, &args->layers);
        return 0;
    default:
        return inputs_none(key, arg, state);
    }
}

static void cell_number(struct grid *grid, const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    grid_cell(grid, text);
}

static int print_table(const struct kv_cache_args *args, struct ridge_error *err)
{
    static const char *const title[] = {"format", "bytes", "MHA is", "GiB", "layout of a token", "source"};
    const double mha = (double)mla_format_bytes(&mla_formats[0]);
    struct grid grid = {.columns = 0};
    for (size_t i = 0; i < sizeof title / sizeof *title; i++)
        grid_column(&grid, title[i], i >= 1 && i <= 3);
    for (size_t i = 0; i < mla_format_count; i++) {
        char layout[96];
        const double bytes = (double)mla_format_bytes(&mla_formats[i]);
        mla_format_layout(&mla_formats[i], layout, sizeof layout);
        grid_cell(&grid, mla_formats[i].name);
        cell_number(&grid, "%.0f", bytes);
        cell_number(&grid, "%.4gx", mha / bytes);
        cell_number(&grid, "%.3f", mla_cache_bytes(&mla_formats[i], args->tokens, args->layers) / 0x1p30);
        grid_cell(&grid, layout);
        grid_cell(&grid, mla_formats[i].source);
    }
    printf("bytes: one token and layer; GiB: %ld tokens, %ld layers\n", args->tokens, args->layers);
    int status = grid_print(&grid, stdout, err);
    grid_free(&grid);
    return status;
}

int cmd_kv_cache(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"tokens", 't', "N", 0, "tokens of context (131072)", 0},
        {"layers", 'l', "N", 0, "layers (61)", 0},
        {0},
    };
    static const struct argp argp = {
        options,
        parse,
        NULL,
        "Prints what the key-value cache takes by format: bytes of one token and layer, and GiB of a context.\v"
        "Heads and widths are DeepSeek-V3's: 128 heads of 128, a latent of 512, 64 columns of RoPE. Its configuration "
        "has 61 layers; the published 8.72 GiB of a request of 131072 tokens in MLA BF16 correspond to 62. Pages"
        " may add padding: MODEL1 rounds a page up to a multiple of 576 bytes.",
        NULL,
        NULL,
        NULL};
    struct kv_cache_args args = {.tokens = 131072, .layers = 61};
    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return ridge_fail(err, RIDGE_INVALID, "invalid arguments");
    if (args.error.text[0])
        return ridge_fail(err, RIDGE_INVALID, "%s", args.error.text);
    return print_table(&args, err);
}
