package cluster

import (
	"encoding/json"
	"fmt"
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
	Result string `json:"result,omitempty"` // of the last validation; "": none
}

// maxReport bounds the bytes of a report.
const maxReport = 4 << 10

func parseReport(text []byte) (r report, err error) {
	if len(text) > maxReport {
		return r, fmt.Errorf("cluster: report of %d bytes, expected at most %d", len(text), maxReport)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("cluster: report: %w", err)
	}
	if min(r.Run, r.Step, r.Steps, r.Epoch, r.Epochs) < 0 {
		return r, fmt.Errorf("cluster: report: run %d, step %d of %d, epoch %d of %d, expected no negative number", r.Run, r.Step, r.Steps, r.Epoch, r.Epochs)
	}
	return r, nil
}

// every is the least time between two reports of a run.
const every = time.Second

// progress publishes the progress of a run, and passes it on.
type progress struct {
	train.Reporter // may be nil
	run            *run
	log            train.Reporter // to the log of the run
	now            report         // the last one
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
	p.now.Step, p.now.Result = m.Step, m.Validation()
	p.send()
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
	p.now.Step, p.now.Steps, p.now.Epoch, p.now.Epochs = now.Step, now.Steps, now.Epoch, now.Epochs
	if always || time.Since(r.told) >= every {
		p.send()
	}
}

func (p *progress) send() {
	r := p.run
	r.told = time.Now()
	p.now.Run, p.now.Worker = r.job.Run, r.Name
	if text, err := json.Marshal(p.now); err == nil {
		_ = r.store.nc.Publish(progressOf+r.job.Sweep, text)
	}
}
