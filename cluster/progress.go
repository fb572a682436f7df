package cluster

import (
	"encoding/json"
	"time"

	"github.com/s4d-fast/s4d-fast/train"
)

// report is a message about the progress of a run. Reports may be lost.
type report struct {
	Run    int    `json:"run"`
	Worker string `json:"worker"`
	Step   int    `json:"step"`
	Steps  int    `json:"steps"`
	Epoch  int    `json:"epoch"`
	Epochs int    `json:"epochs"`
}

// every is the least time between two reports of a run.
const every = time.Second

// progress publishes the progress of a run, and passes it on.
type progress struct {
	train.Reporter // may be nil
	run            *run
	log            train.Reporter // to the log of the run
}

func (p *progress) Begin(now train.Progress) {
	p.publish(now, true)
	if p.Reporter != nil {
		p.Reporter.Begin(now)
	}
}

func (p *progress) Step(now train.Progress) {
	p.publish(now, false)
	if p.Reporter != nil {
		p.Reporter.Step(now)
	}
}

func (p *progress) Epoch(m train.Metrics, better bool) {
	p.log.Epoch(m, better)
	if p.Reporter != nil {
		p.Reporter.Epoch(m, better)
	}
}

func (p *progress) End() {
	if p.Reporter != nil {
		p.Reporter.End()
	}
}

func (p *progress) publish(now train.Progress, always bool) {
	r := p.run
	r.alive()
	if !always && time.Since(r.told) < every {
		return
	}
	r.told = time.Now()
	text, err := json.Marshal(report{Run: r.job.Run, Worker: r.Name, Step: now.Step, Steps: now.Steps, Epoch: now.Epoch, Epochs: now.Epochs})
	if err == nil {
		_ = r.store.nc.Publish(progressOf+r.job.Sweep, text)
	}
}
