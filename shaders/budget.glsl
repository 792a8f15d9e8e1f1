// The budget of loop passes of one invocation. The including file declares the query.

#ifndef CLEARANCE_BUDGET_GLSL
#define CLEARANCE_BUDGET_GLSL

// whole reports whether all loops ran to their ends. A driver that ends the loops of an
// invocation after so many passes in sum and says nothing ends this one at its first. The
// bound is none that a compiler knows.
bool whole() {
    uint bound = min(query.scan_budget, 4u), n = 0u;
    while (n < bound) n++;
    return n == bound;
}

#endif
