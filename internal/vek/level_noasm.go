//go:build (!amd64 && !arm64) || purego

package vek

func assemblyLevels() []Level { return nil }
