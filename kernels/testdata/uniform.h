// The random numbers of the programs beside this file: the same ones in every run.

#include <stdint.h>

static uint64_t state = 1;
static double uniform(void) { // in (−1, 1)
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)state / 9223372036854775808.0;
}
