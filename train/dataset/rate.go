package dataset

// RecordedRate returns the sampling rate in Hz at which the data of a task is published, or 0 if it
// has none.
func RecordedRate(task string) float64 {
	switch task {
	case "fsdd", "digits":
		return fsddRate
	case "speech-commands":
		return speechRate
	case "delay":
		return delayRate
	}
	return 0
}

// Sampling rates of the recordings in Hz.
const (
	fsddRate   = 8000
	speechRate = 16000
)
