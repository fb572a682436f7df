// Package neon encodes the arm64 vector instructions that Go's assembler does not know. The
// encodings are tested against a disassembler.
package neon
