//go:build !race

package must

// RaceEnabled reports the race detector.
const RaceEnabled = false
