/* SPDX-License-Identifier: Apache-2.0 */
/* Build tool: keep_operands OBJECT... changes two hints in machine code for sm_90, and nothing that it computes.
 *
 * Of every two FFMA that follow each other ptxas 13.0 lets one yield to another warp, if the kernel has WGMMAs and a
 * sum stays in its register. What yields cannot keep an operand for the next instruction, so that every second FFMA
 * reads three registers and takes two clocks. Here seven of eight keep the second factor where the next one has the
 * same, and the eighth yields.
 *
 * An instruction has 128 bits. As nvdisasm shows them, and as Jia, Maggioni, Staiger and Scarpazza found them for Volta
 * (arXiv 1804.06826, 2.1): bits 0-15 operation and predicate, 16-23 destination, 24-31, 32-39 and 64-71 sources, 109
 * does not yield, 122-124 sources that are kept. */
#include "cmake/fatbin.h"

#include <stdbool.h>

enum { APART = 8 };
static const uint64_t stays = 1ull << 45, keeps = 1ull << 59;

struct instruction {
    uint64_t low, high;
};

static bool is_ffma(const struct instruction *at)
{
    return (at->low & 0xffff) == 0x7223; /* of registers, always executed */
}

static unsigned factor_of(const struct instruction *at)
{
    return at->low >> 32 & 0xff;
}

static bool may_keep(const struct instruction *at)
{
    return is_ffma(at) && is_ffma(at + 1) && factor_of(at) == factor_of(at + 1) &&
           (at->low >> 16 & 0xff) != factor_of(at);
}

struct changes {
    int kept, altered;
};

static void change_section(void *context, const char *name, const Elf64_Shdr *header, char *bytes)
{
    struct changes *changes = context;
    struct instruction *at = (struct instruction *)bytes, *last = at + header->sh_size / sizeof *at - 1;
    if (strncmp(name, ".text.", 6) != 0 || header->sh_size < 2 * sizeof *at)
        return;
    for (int run = 1; at < last; at++) {
        const uint64_t before = at->high;
        if (!may_keep(at)) {
            run = 1;
            continue;
        }
        if (run++ % APART == 0) {
            at->high &= ~(stays | keeps);
        } else {
            at->high |= stays | keeps;
            changes->kept++;
        }
        changes->altered += at->high != before;
    }
}

static void change_code(void *context, char *code, size_t bytes)
{
    if (bytes >= sizeof(Elf64_Ehdr) && memcmp(code, ELFMAG, SELFMAG) == 0)
        elf_sections(code, change_section, context);
}

static void change_fatbin(void *context, const char *name, const Elf64_Shdr *header, char *bytes)
{
    if (strcmp(name, ".nv_fatbin") == 0)
        fatbin_entries(bytes, header->sh_size, FATBIN_ELF, change_code, context);
}

/* By another file: a compiler cache may have linked to this one. */
static int replace(const char *path, const char *data, size_t bytes)
{
    char other[4096];
    if (snprintf(other, sizeof other, "%s.kept", path) >= (int)sizeof other)
        return 1;
    FILE *file = fopen(other, "wb");
    if (!file)
        return 1;
    const bool written = fwrite(data, 1, bytes, file) == bytes;
    return fclose(file) || !written || rename(other, path);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct changes changes = {0, 0};
        size_t bytes;
        char *object = elf_read(argv[i], &bytes);
        if (object)
            elf_sections(object, change_fatbin, &changes);
        const char *fault = !object             ? "not an ELF object"
                            : changes.kept == 0 ? "no FFMA can keep an operand"
                            : changes.altered > 0 && replace(argv[i], object, bytes) != 0 ? "cannot be written"
                                                                                          : NULL;
        free(object);
        if (fault) {
            fprintf(stderr, "keep_operands: %s: %s\n", argv[i], fault);
            return 1;
        }
    }
    return 0;
}
