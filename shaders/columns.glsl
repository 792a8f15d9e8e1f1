// Where the columns stand in the output, see Columns in package layout. The including file declares the query.

#ifndef CLEARANCE_COLUMNS_GLSL
#define CLEARANCE_COLUMNS_GLSL

bool hasColumn(uint column) { return (query.columns >> column & 1u) != 0u; }

// columnWords returns the number of words that a row of a column takes.
uint columnWords(uint column) {
    bool isDouble = (query.flags & FLAG_DOUBLE) != 0u && (REAL_COLUMNS >> column & 1u) != 0u;
    return isDouble ? 2u * COLUMN_WIDTHS[column] : COLUMN_WIDTHS[column];
}

// columnAt returns the first word of a column.
uint columnAt(uint column) {
    uint before = 0u;
    for (uint c = 0u; c < column; c++)
        if (hasColumn(c)) before += columnWords(c);
    return before * (query.rows + (query.rows & 1u));
}

#endif
