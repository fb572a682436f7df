//go:build !amd64 || purego

package vek

func assemblyLevels() []Level { return nil }
