// Package tests holds what no single package can test: the layering of the
// module, and properties that need several packages at once.
package tests
