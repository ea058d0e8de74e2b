/* What the processor can do: asked once, when the library is loaded. */
#include "kernels.h"

#if defined(__x86_64__)

#include <cpuid.h>

bool has_avx2 = false;

/* Not by __builtin_cpu_supports: it needs a part of the compiler's library that zig leaves out. */
__attribute__((constructor)) static void look(void)
{
    unsigned a, b, c, d, saved, unused;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
        return;
    __asm__("xgetbv" : "=a"(saved), "=d"(unused) : "c"(0));
    if ((saved & 6) != 6) /* the system keeps the halves of the wide registers */
        return;
    has_avx2 = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}

#endif
