package dataset

// RecordedRate returns the sampling rate in Hz at which a task's data is published, or 0 where it has none.
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

// Rates of the recordings.
const (
	fsddRate   = 8000
	speechRate = 16000
)
