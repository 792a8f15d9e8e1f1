//go:build cgo

#define MANIFOLD lanes_manifold_portable
#include "manifold.h"
