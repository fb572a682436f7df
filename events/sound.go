package events

import (
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// sound is the network's state for one sound, which begins when a gate opens.
type sound struct {
	*Recognizer
	stream    *recurrent.Stream
	logits    []float32 // the stream's last output
	posterior []float32 // of logits, after evaluate
	best      int       // the most probable label
}

func newSound(r *Recognizer) sound {
	return sound{Recognizer: r, stream: r.net.NewStream(), posterior: make([]float32, len(r.labels))}
}

// start resets the network and processes the samples before a new sound.
func (s *sound) start(past []float32) {
	s.stream.Reset()
	if len(past) > 0 {
		s.stream.Process(past, len(past))
	}
}

// process takes a frame.
func (s *sound) process(x []float32) { s.logits = s.stream.Process(x, len(x)) }

// evaluate computes the posterior. An output that is not finite is an error.
func (s *sound) evaluate(position int64) error {
	if err := s.checkLogits(s.logits, position); err != nil {
		return err
	}
	s.posterior = model.Posterior(s.posterior, s.logits)
	s.best = model.ArgMax(s.logits)
	return nil
}
