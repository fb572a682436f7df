//go:build race

package dataset

// raceEnabled: under the race detector a sync.Pool drops some of its contents on purpose.
const raceEnabled = true
