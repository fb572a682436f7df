//go:build race

package dataset

// raceEnabled reports the race detector, under which a sync.Pool drops some of its contents on
// purpose.
const raceEnabled = true
