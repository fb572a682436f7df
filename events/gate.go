package events

import "math"

// The gate's constants. Levels are those of frames of 10 ms, in decibels relative to full scale.
const (
	openAbove    = 8.0   // dB over the background at which a sound begins
	closeBelow   = 4.0   // dB over the background below which it has ended
	openFrames   = 3     // frames in a row that open the gate
	hangFrames   = 18    // frames in a row that close it; pauses inside a word are shorter
	minLevel     = -65.0 // softer frames count as this level
	initialFloor = -52.0 // the background's level at first: a quiet background
	fallFrames   = 3.0   // time constant with which the background follows a softer frame
	riseFrames   = 40.0  // and a louder one
)

// gate tells sound from background by its level. Its fields have fixed sizes because snapshots
// store them unchanged.
type gate struct {
	Floor float64 // dB, the background's level
	Open  bool
	Run   int32 // frames in a row that count towards opening, or towards closing
}

func newGate() gate { return gate{Floor: initialFloor} }

// step takes a frame's level and reports whether the gate opened or closed at this frame; the sound
// began or ended openFrames or hangFrames before, this frame included. The background follows
// softer frames always. It follows louder ones below the level that opens the gate while the gate
// is closed, and all louder ones while it is open and the sound counts as background.
func (g *gate) step(level float64, background bool) (opened, closed bool) {
	level = max(level, minLevel)
	soft, needed := level < g.Floor+openAbove, int32(openFrames)
	if g.Open {
		soft, needed = level < g.Floor+closeBelow, hangFrames
	}
	switch {
	case level < g.Floor:
		g.Floor += (level - g.Floor) / fallFrames
	case !g.Open && soft || g.Open && background:
		g.Floor += (level - g.Floor) / riseFrames
	}
	if soft != g.Open {
		g.Run = 0
		return false, false
	}
	if g.Run++; g.Run < needed {
		return false, false
	}
	g.Run, g.Open = 0, !g.Open
	return g.Open, !g.Open
}

// levelOf returns a frame's level around its mean, in decibels relative to full scale.
func levelOf(x []float32) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	n := float64(len(x))
	return 10 * math.Log10(max(squares/n-sum/n*(sum/n), 1e-12))
}
