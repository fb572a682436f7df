//go:build race

package must

// RaceEnabled reports the race detector, under which a sync.Pool drops some of its contents on
// purpose.
const RaceEnabled = true
