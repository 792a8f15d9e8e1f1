// What Go and the kernels of rows share, see rows.h. Arrays are arguments: this holds no pointers.

#ifndef CLR_ROWS_API_H
#define CLR_ROWS_API_H

#include <stdint.h>

#define CLR_LANES 8   // boxes of a block
#define CLR_BLOCK 48  // numbers of a block: lower x, y, z, upper x, y, z of CLR_LANES boxes
#define CLR_LEVELS 10 // of a hierarchy of 2^28 boxes
#define CLR_SORTED 64 // longer rows are left as they were found
#define CLR_SPARE 16  // numbers behind the end of an array that a kernel may read and write

typedef struct {
    int64_t first[CLR_LEVELS]; // block of each level, from the boxes up
    int64_t levels;
    int64_t leaf, end;         // leaves to process; leaf is advanced
    int64_t used, room;        // numbers of rows that are used, and that there is room for without CLR_SPARE
    int64_t leaves;            // room of near, next and lanes each, without CLR_SPARE
    int64_t need, need_leaves; // numbers of rows, or leaves, for lack of which a kernel stopped; else 0
} clr_rows;

// A kernel appends to rows, for each box of the leaves, the boxes of higher index that it meets, ascending unless there
// are more than CLR_SORTED. last has the largest index of a box in each leaf. length receives the length of the row of
// each box. near, next and lanes are scratch.
#define CLR_ROWS_FUNCTION(name)                                                                          \
    void name(clr_rows *c, const double *blocks, const int32_t *ids, const int32_t *last, int32_t *near, \
              int32_t *next, int32_t *lanes, int32_t *rows, int64_t *length)
CLR_ROWS_FUNCTION(clr_rows_avx512);
CLR_ROWS_FUNCTION(clr_rows_avx2);
CLR_ROWS_FUNCTION(clr_rows_portable);

#endif
