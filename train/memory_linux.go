package train

import "syscall"

// physicalMemory returns the machine's memory in bytes, 0 where it is not known.
func physicalMemory() float64 {
	var s syscall.Sysinfo_t
	if syscall.Sysinfo(&s) != nil {
		return 0
	}
	return float64(s.Totalram) * float64(s.Unit)
}
