//go:build !purego && !linux

package vek

func matrixUnits() bool { return false }
