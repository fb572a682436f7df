package events

// segment is the state of a decision since the gate opened or, for a model that labels every frame,
// since the signal began. Its fields have fixed sizes because snapshots store them unchanged.
type segment struct {
	Onset      int64   // first sample of the sound, or of the signal
	Frames     int64   // since the gate opened
	Leader     int32   // label with the largest posterior, if that reaches the threshold, or −1
	Run        int32   // evaluations in a row with this leader
	Since      int64   // position of the first of them
	Led        int64   // Since when the last event began
	Active     bool    // an event is in progress
	Label      int32   // its label
	Begin      int64   // its onset; afterwards that of the last event
	Confidence float64 // the largest posterior of its label
	Events     int64   // begun in this segment
	Ended      int64   // end of the last event
	Apart      bool    // all labels have been below the off-threshold since the event's label last led
	Sure       int64   // Frames at the last evaluation that had a leader or an event
	Background bool    // the sound has had no label for so long that it counts as background
}

// Durations in seconds.
const (
	// A sound that the model labels none counts as background after noneDuration. A sound without a
	// leader does after unsureDuration, since a model need not have the label none.
	noneDuration   = 0.6
	unsureDuration = 3

	promptOnset = 0.6 // if a label leads within this time, the onset of its word is that of the sound
	onsetDelay  = 0.3 // otherwise, from the onset of a word to the first evaluation with its label

	tailDuration = 0.2 // in training, frames have the label of a word until this time after its end
)
