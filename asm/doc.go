// Package asm generates the assembly of internal/vek. It is a module of its own and nothing imports it.
//
// A family (families.go) is one generator function and gives five files in internal/vek: for amd64 and arm64 each
// NAME_ARCH.s, and NAME_ARCH.go, which declares the assembly and switches between it and the plain Go; and
// NAME_noasm.go for builds without assembly. A generator is written once for all levels against the words of
// vec.go, and the plain-Go reference (nameGeneric in internal/vek) carries the formula. avo writes amd64's text; for
// arm64 lower.go turns avo's instructions on 128-bit vectors into those that do the same.
//
// The test writes the files when told to, and otherwise fails where they differ from what it would write:
//
//	go test -run Generated -write
package asm
