// Package doccheck tests that the repository's documents agree with its code: references to
// sections of docs/maths.md resolve, ARCHITECTURE.md's table lists the imports that exist, and
// files and tests that a document names exist. It also limits the width of comments, and finds code
// that writes files without package atomicfile.
package doccheck
