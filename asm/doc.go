// Package asm generates the assembly of internal/vek. It is a module of its own and nothing imports
// it.
//
// A family (families.go) is one generator function. It writes up to five files in internal/vek:
// for amd64 and for arm64 the assembly NAME_ARCH.s and NAME_ARCH.go, which declares the assembly
// and switches between it and plain Go; and NAME_noasm.go for builds without assembly. A
// generator is written once for all levels, in the vocabulary of vec.go, loops.go, arith.go,
// complex.go and double.go. The comment of the plain Go function (nameGeneric in internal/vek)
// states the formula. That of a generated function names its generator. avo prints the assembly
// of amd64. For arm64, lower.go translates avo's instructions on 128-bit vectors.
//
// The test fails if the files differ from what the generators write. With a flag it writes them:
//
//	go test -run Generated -write
package asm
