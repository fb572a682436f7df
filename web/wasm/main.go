//go:build js && wasm

// Command wasm is the recogniser for browsers and Node. recognizer.js loads it and describes the
// objects that it creates.
//
// A Go function cannot throw a JavaScript error. A function that fails therefore returns an object
// with the field error, and recognizer.js throws it. If the output of a network is not finite, the
// field events contains the events before that output.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall/js"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

func main() {
	names := []any{}
	for _, name := range pretrained.Names() {
		names = append(names, name)
	}
	js.Global().Call("s4dFastReady", map[string]any{
		"level": level.Current(),
		"names": names,
		"open":  function(open),
	})
	select {} // the functions run while this goroutine waits
}

// function returns a function of JavaScript. A panic is an error too.
func function(f func(args []js.Value) (any, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) (result any) {
		defer func() {
			if v := recover(); v != nil {
				result = map[string]any{"error": fmt.Sprint(v)}
			}
		}()
		v, err := f(args)
		if err != nil {
			return map[string]any{"error": err.Error(), "events": v}
		}
		return v
	})
}

// open creates a detector. The arguments are the name of a built-in model or the bytes of a model
// file, and an object with options.
func open(args []js.Value) (any, error) {
	if len(args) != 2 || args[1].Type() != js.TypeObject {
		return nil, errors.New("open: expected a model and options")
	}
	m, err := read(args[0])
	if err != nil {
		return nil, err
	}
	opt, inputRate, err := options(events.DefaultsFor(m), args[1])
	if err != nil {
		return nil, err
	}
	r, err := events.New(m, opt)
	if err != nil {
		return nil, err
	}
	s, err := r.NewStream(float64(inputRate))
	if err != nil {
		return nil, err
	}
	d := &detector{Stream: s}
	labels := []any{}
	for _, label := range m.Meta.Labels {
		labels = append(labels, label)
	}
	functions := []js.Func{function(d.process), function(d.flush), function(d.probabilities)}
	object := map[string]any{
		"rate": s.SampleRate(), "labels": labels, "threshold": opt.Threshold,
		"process": functions[0], "flush": functions[1], "posterior": functions[2],
	}
	var release js.Func
	release = function(func([]js.Value) (any, error) {
		for _, f := range append(functions, release) {
			f.Release()
		}
		functions = nil
		return nil, nil
	})
	object["close"] = release
	return object, nil
}

// maxFile is the largest model file in bytes. The memory of WebAssembly ends at 4 GiB.
const maxFile = 1 << 28

func read(source js.Value) (*model.Model, error) {
	if source.Type() == js.TypeString {
		return pretrained.Load(source.String())
	}
	if !source.InstanceOf(js.Global().Get("Uint8Array")) {
		return nil, errors.New("model: expected the name of a built-in model, or the bytes of a model file in a Uint8Array")
	}
	size := source.Length()
	if size > maxFile {
		return nil, fmt.Errorf("model: file of %d bytes, expected at most %d", size, maxFile)
	}
	file := make([]byte, size)
	js.CopyBytesToGo(file, source)
	return model.Read(bytes.NewReader(file))
}

// options returns the options with the fields of an object, and the rate of the audio; 0: that of
// the model.
func options(opt events.Options, o js.Value) (_ events.Options, inputRate int, err error) {
	fields := []struct {
		name  string
		whole bool
		set   func(v float64)
	}{
		{"threshold", false, func(v float64) { opt = opt.WithThreshold(v) }}, // first, because it also sets offThreshold
		{"offThreshold", false, func(v float64) { opt.OffThreshold = v }},
		{"refractory", false, func(v float64) { opt.Refractory = v }},
		{"smoothing", false, func(v float64) { opt.Smoothing = v }},
		{"confirm", true, func(v float64) { opt.Confirm = int(v) }},
		{"inputRate", true, func(v float64) { inputRate = int(v) }},
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	given := js.Global().Get("Object").Call("keys", o)
	for i := range given.Length() {
		if name := given.Index(i).String(); !slices.Contains(names, name) {
			return opt, 0, fmt.Errorf("option %.80q: expected one of: %s", name, strings.Join(names, ", "))
		}
	}
	for _, f := range fields {
		v := o.Get(f.name)
		if v.IsUndefined() {
			continue
		}
		if v.Type() != js.TypeNumber {
			return opt, 0, fmt.Errorf("option %s: a value of type %v, expected a number", f.name, v.Type())
		}
		n := v.Float()
		if f.whole && !(n == math.Trunc(n) && n >= 1 && n <= math.MaxInt32) {
			return opt, 0, fmt.Errorf("option %s: %v, expected a whole number of 1 to %d", f.name, n, math.MaxInt32)
		}
		f.set(n)
	}
	return opt, inputRate, nil
}

// detector is the state of a signal.
type detector struct {
	*events.Stream
	samples []float32
}

// blockBytes is the size of a block of samples. The memory of WebAssembly never shrinks.
const blockBytes = 4 << 14

// process takes the bytes of float32 samples and returns the events that have ended. If the output
// of the network is not finite, the rest of the samples is not processed.
func (d *detector) process(args []js.Value) (any, error) {
	found := []any{}
	for at, n := 0, args[0].Length()&^3; at < n; at += blockBytes {
		some, err := d.block(args[0].Call("subarray", at, min(at+blockBytes, n)))
		found = append(found, list(some)...)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// block processes the bytes of at most blockBytes.
func (d *detector) block(source js.Value) ([]events.Event, error) {
	n := source.Length() / 4
	d.samples = slices.Grow(d.samples[:0], n)[:n]
	js.CopyBytesToGo(unsafe.Slice((*byte)(unsafe.Pointer(&d.samples[0])), 4*n), source)
	return d.Process(d.samples)
}

// flush ends the signal.
func (d *detector) flush([]js.Value) (any, error) {
	last, err := d.Flush()
	return list(last), err
}

// probabilities returns the posteriors of the last evaluation, or null.
func (d *detector) probabilities([]js.Value) (any, error) {
	p := d.Posterior()
	if p == nil {
		return nil, nil
	}
	values := make([]any, len(p))
	for i, v := range p {
		values[i] = v
	}
	return values, nil
}

func list(found []events.Event) []any {
	objects := make([]any, len(found))
	for i, e := range found {
		objects[i] = map[string]any{"onset": e.Onset, "end": e.End, "label": e.Label, "confidence": e.Confidence}
	}
	return objects
}
