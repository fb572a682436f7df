package studio

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/recordings"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// detector describes a trained detector. It is kept in .studio/HASH.json.
type detector struct {
	Hash    string    `json:"hash"`   // SHA-256 of the model file
	Labels  []string  `json:"labels"` // the words
	From    string    `json:"from"`
	Made    time.Time `json:"made"`
	Seconds float64   `json:"seconds"` // of loading, training and measuring
	Steps   int       `json:"steps"`
	Words   []tally   `json:"words"` // all clips, by label
	Worst   []worst   `json:"worst"`

	Validation tally `json:"validation"` // clips that were held out of training
	Training   tally `json:"training"`   // clips that it was trained on

	Threshold   float64         `json:"threshold"`
	Calibration *operatingPoint `json:"calibration"` // null: no background to choose the threshold with
	Command     string          `json:"command"`     // streams the microphone
}

// tally counts clips that got the right label.
type tally struct {
	Right int `json:"right"`
	Total int `json:"total"`
}

// worst is a clip that has a wrong label, or is close to one.
type worst struct {
	Folder     string  `json:"folder"`
	Clip       string  `json:"clip"`
	Found      string  `json:"found"`      // label; "none" if no word reaches the threshold for clips
	Peak       float64 `json:"peak"`       // largest posterior of the right label
	Validation bool    `json:"validation"` // held out of training
	margin     float64 // of the right label over the others and over the threshold
}

// Clips in detector.Worst have a smaller margin than smallMargin, which for a wrong label is
// negative. There are at most maxWorst.
const (
	smallMargin = 0.2
	maxWorst    = 8
)

// operatingPoint is how the threshold was chosen.
type operatingPoint struct {
	Words       int     `json:"words"` // in streams mixed from all clips
	Missed      int     `json:"missed"`
	FalseAlarms int     `json:"falseAlarms"`
	Minutes     float64 `json:"minutes"` // of background and other sounds
}

// measure chooses the threshold of a trained model, if there are background or other sounds, stores
// it in the model, and classifies all clips.
func (p *project) measure(ctx context.Context, m *model.Model, all *sounds, workers int) (*detector, error) {
	d := &detector{Labels: all.train.Labels}
	m.Meta.Detection = nil
	err := cool(ctx, m, all.validation.Words, workers)
	if err != nil {
		return nil, err
	}
	if d.Calibration, err = p.calibrate(ctx, m, all, workers); err != nil {
		return nil, err
	}
	d.Threshold, d.Command = events.DefaultsFor(m).Threshold, command(runtime.GOOS, p.modelPath())
	return d, d.classify(ctx, m, all, workers)
}

// temperatures are divisors of a network's outputs. Larger ones would bring words below the
// threshold.
var temperatures = []float32{1, 1.2, 1.4, 1.7, 2, 2.4}

// cool divides the network's outputs by a temperature (Guo et al., 2017), because a network is too
// sure of clips like those that trained it. Of those with which no fewer of the n clips get the
// right label, it chooses the one whose mean confidence in the labels that it found is closest to
// the accuracy by the rule of succession: (right + 1)/(n + 2).
func cool(ctx context.Context, m *model.Model, clips []recordings.Clip, workers int) error {
	weights, bias := slices.Clone(m.Weights.DecoderWeight), slices.Clone(m.Weights.DecoderBias)
	divide := func(by float32) {
		for i, v := range weights {
			m.Weights.DecoderWeight[i] = v / by
		}
		for i, v := range bias {
			m.Weights.DecoderBias[i] = v / by
		}
	}
	chosen, smallest, most := float32(1), math.Inf(1), 0
	for _, t := range temperatures {
		divide(t)
		classified, err := task.Classify(ctx, m, clips, workers)
		if err != nil {
			return err
		}
		right, words, confidence := 0, 0.0, 0.0
		for i, c := range classified {
			if c.Found == clips[i].Label {
				right++
			}
			if m.Meta.Labels[c.Found] != events.None {
				words, confidence = words+1, confidence+float64(c.Peaks[c.Found])
			}
		}
		if most = max(most, right); right < most || words == 0 {
			break
		}
		if off := math.Abs(confidence/words - float64(right+1)/float64(len(clips)+2)); off < smallest {
			chosen, smallest = t, off
		}
	}
	divide(chosen)
	return nil
}

// calibrate chooses the threshold and stores it in the model. The result is nil if there are no
// background and other sounds, or if none of them can be read.
func (p *project) calibrate(ctx context.Context, m *model.Model, all *sounds, workers int) (*operatingPoint, error) {
	var quiet []calibration.Stream // background and other sounds
	var noise []calibration.Stream
	list, err := p.folders()
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if f.Kind == word || f.Count == 0 {
			continue
		}
		streams, _, err := calibration.BackgroundStreams(filepath.Join(p.dir, f.Name), rate, true, audio.Options{FFmpeg: true})
		if err != nil {
			return nil, err
		}
		quiet = append(quiet, streams...)
		if f.Kind == background {
			noise = append(noise, streams...)
		}
	}
	if len(quiet) == 0 {
		return nil, nil
	}
	var clips []calibration.Clip
	for _, c := range slices.Concat(all.train.Words, all.validation.Words) {
		clips = append(clips, calibration.Clip{Path: c.Path, Label: all.train.Labels[c.Label]})
	}
	mix := calibration.DefaultWords(rate)
	mix.Noise, mix.Seed, mix.SkipBroken, mix.Workers = noise, 1, true, workers
	opt := calibration.Defaults(events.DefaultsFor(m))
	opt.Workers = workers
	mixed := func() (*calibration.Measurement, error) {
		words, _, err := calibration.WordStreams(ctx, clips, mix)
		if err != nil {
			return nil, err
		}
		return calibration.Measure(ctx, m, append(words, quiet...), opt)
	}
	measured, err := mixed()
	if errors.Is(err, calibration.ErrSilence) {
		mix.Noise = nil // white noise
		measured, err = mixed()
	}
	if err != nil {
		return nil, err
	}
	best := measured.Balanced()
	pool := best.All()
	if pool.Hours == 0 {
		return nil, nil
	}
	m.Meta.Detection = best.Detection()
	return &operatingPoint{Words: best.Words, Missed: best.Missed(), FalseAlarms: pool.FalseAlarms, Minutes: 60 * pool.Hours}, nil
}

// classify counts the clips that get the right label, each alone, and lists the worst ones.
func (d *detector) classify(ctx context.Context, m *model.Model, all *sounds, workers int) error {
	clips := slices.Concat(all.train.Words, all.validation.Words)
	classified, err := task.Classify(ctx, m, clips, workers)
	if err != nil {
		return err
	}
	d.Words = make([]tally, len(d.Labels))
	for i, c := range clips {
		found, heldOut := classified[i], i >= len(all.train.Words)
		counts := []*tally{&d.Training, &d.Words[c.Label]}
		if heldOut {
			counts[0] = &d.Validation
		}
		for _, n := range counts {
			n.Total++
			if found.Found == c.Label {
				n.Right++
			}
		}
		folder, name := filepath.Split(c.Path)
		d.Worst = append(d.Worst, worst{
			Folder: filepath.Base(folder), Clip: name, Found: m.Meta.Labels[found.Found], Validation: heldOut,
			Peak: float64(found.Peaks[c.Label]), margin: float64(found.Margin),
		})
	}
	d.Worst = worstOf(d.Worst)
	return nil
}

// worstOf returns the clips with a small margin, the worst first.
func worstOf(clips []worst) []worst {
	list := slices.DeleteFunc(clips, func(w worst) bool { return w.margin >= smallMargin })
	slices.SortStableFunc(list, func(a, b worst) int { return cmp.Compare(a.margin, b.margin) })
	return list[:min(len(list), maxWorst)]
}

// command returns the command line that streams the microphone to a model (docs/stream.md).
func command(system, path string) string {
	record := "arecord -q -t raw -f S16_LE -r 16000 -c 1"
	quoted := "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	switch system {
	case "darwin":
		record = "rec -q -t raw -r 16000 -c 1 -b 16 -e signed -"
	case "windows":
		record, quoted = "sox -q -t waveaudio default -t raw -r 16000 -c 1 -b 16 -e signed -", `"`+path+`"`
	}
	return record + " | s4d-fast stream " + quoted + " --format s16le --live"
}

// The files of the page in a project. Readers of the task audio skip hidden folders.
const (
	modelFile    = "model.safetensors"
	previousFile = "previous.safetensors"
	stateFolder  = ".studio"
	maxModel     = 1 << 30 // bytes
	maxDetector  = 1 << 20 // bytes of a description
)

// describing returns the name of the description of the model with a hash.
func describing(hash string) string { return stateFolder + "/" + hash + ".json" }

// save writes the description of a model, and then the model. The model before it is kept as
// previousFile. After an error or a crash, the project has one of the two, with its description.
func (p *project) save(m *model.Model, d *detector) error {
	previous, old, err := p.modelFile()
	if err == nil {
		err = p.write(previousFile, bytes.NewReader(previous))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var file bytes.Buffer
	if _, err := m.WriteTo(&file); err != nil {
		return err
	}
	d.Hash = fmt.Sprintf("%x", sha256.Sum256(file.Bytes()))
	text, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		return err
	}
	if err := p.disk.MkdirAll(stateFolder, 0o700); err != nil {
		return err
	}
	if err := p.write(describing(d.Hash), bytes.NewReader(append(text, '\n'))); err != nil {
		return err
	}
	err = p.write(modelFile, &file)
	if err == nil && previous != nil && old != d.Hash {
		_ = p.remove(describing(old)) // only a waste of space
	}
	return err
}

// loadDetector reads the description of the model, if there is a model.
func (p *project) loadDetector() error {
	p.status.Version = time.Now().UnixMilli() // of an earlier process: smaller
	_, hash, err := p.modelFile()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := p.disk.ReadFile(describing(hash), maxDetector)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no results of this %s: train again", stateFolder, modelFile)
	}
	if err != nil {
		return err
	}
	d := new(detector)
	if err := json.Unmarshal(text, d); err != nil {
		return fmt.Errorf("%s: %w", describing(hash), err)
	}
	d.Command = command(runtime.GOOS, p.modelPath()) // the folder may have been moved
	p.status.Detector = d
	return nil
}
