// Package asm generates the assembly of internal/vek. It is a module of its own and nothing imports it.
//
// A family (families.go) is one generator function and gives three files in internal/vek: NAME_amd64.s;
// NAME_amd64.go, which declares the assembly and switches between it and the plain Go; and NAME_noasm.go for builds
// without assembly. A generator is written once for all levels against the words of vec.go, and the plain-Go
// reference (nameGeneric in internal/vek) carries the formula.
//
// The test writes the files when told to, and otherwise fails where they differ from what it would write:
//
//	go test -run Generated -write
package asm
