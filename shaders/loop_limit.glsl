// The limit on loop passes of one invocation. The including file declares the query.

#ifndef CLEARANCE_LOOP_LIMIT_GLSL
#define CLEARANCE_LOOP_LIMIT_GLSL

// loopsCompleted reports whether all loops of the invocation ran to their ends. Some drivers end the loops of an
// invocation after a fixed number of passes in total, without an error. In that state this loop ends before its first
// pass. Its bound depends on the query, so that a compiler cannot evaluate it.
bool loopsCompleted() {
    uint bound = min(query.loop_limit, 4u), n = 0u;
    while (n < bound) n++;
    return n == bound;
}

#endif
