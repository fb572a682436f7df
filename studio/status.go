package studio

// status is what changes while the page is open. The page asks for it again and again.
type status struct {
	Version  int64     `json:"version"`
	Sounds   int64     `json:"sounds"` // version of the recordings
	Training training  `json:"training"`
	Detector *detector `json:"detector"` // null: none was trained
}

// The states of a training run.
const (
	idle      = ""
	loading   = "loading"
	learning  = "training"
	measuring = "measuring"
	done      = "done"
	cancelled = "cancelled"
	failed    = "failed"
)

// training is the training run in progress, or the last one of this process.
type training struct {
	State   string   `json:"state"`
	Step    int      `json:"step"`
	Steps   int      `json:"steps"`
	Loss    float64  `json:"loss"`           // mean over the current epoch
	Curve   []epoch  `json:"curve"`          // complete epochs
	Seconds float64  `json:"seconds"`        // since the beginning
	Left    *float64 `json:"left,omitempty"` // seconds until the end, estimated
	Notes   []string `json:"notes,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// epoch is a point of the loss curve.
type epoch struct {
	Step       int     `json:"step"`
	Training   float64 `json:"training"`   // mean loss
	Validation float64 `json:"validation"` // loss on streams of the clips that are held out
	Accuracy   float64 `json:"accuracy"`   // fraction of the frames of these streams with the right label
}

func (p *project) update(change func(*status)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.status)
	p.status.Version++
}

// soundsChanged records that recordings were added or removed.
func (p *project) soundsChanged() {
	p.update(func(s *status) { s.Sounds++ })
}
