// Package doccheck tests that the repository's documents agree with its code: that every reference to
// a section of docs/maths.md resolves, and that ARCHITECTURE.md's table lists the imports that exist.
package doccheck
