//go:build !linux

package train

// physicalMemory returns the machine's memory in bytes, 0 where it is not known.
func physicalMemory() float64 { return 0 }
