//go:build !purego

package vek

// assemblyLevels lists the level that every arm64 processor has.
func assemblyLevels() []Level { return []Level{NEON} }
