package events

// segment is what is known of the sound since the gate opened, and for a model that labels every
// frame, of the signal. Its fields have fixed sizes because snapshots store them unchanged.
type segment struct {
	Onset      int64   // first sample of the sound, or of the signal
	Frames     int64   // since the gate opened
	Leader     int32   // label with the largest posterior, if that reaches the threshold, or −1
	Run        int32   // evaluations in a row with this leader
	Since      int64   // position of the first of them
	Led        int64   // Since when the last event began
	Active     bool    // an event is under way
	Label      int32   // its label
	Begin      int64   // its onset; afterwards that of the last event
	Confidence float64 // the largest posterior of its label
	Events     int64   // begun in this segment
	Ended      int64   // end of the last event
	Apart      bool    // no label was probable after that of the event under way
	Sure       int64   // Frames at the last evaluation that had a leader or an event
	Background bool    // the sound has lasted so long without a label that it counts as background
}

// Durations in seconds.
const (
	// A sound that the model labels none counts as background after noneDuration. A sound without a
	// leader does after unsureDuration, since a model need not have the label none.
	noneDuration   = 0.6
	unsureDuration = 3

	promptOnset = 0.6 // a leader found within this time is the sound's beginning
	onsetDelay  = 0.3 // from a word's onset to its first leading evaluation, later in a sound

	tailDuration = 0.2 // by which the label of a frame outlasts its word in training
)
