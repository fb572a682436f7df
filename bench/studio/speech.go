package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

const rate = 16000 // Hz

// Each part of the trial has its own stream of random numbers.
const (
	ofTraining = iota
	ofTests
	ofSpeech
	ofMoreSpeech
	ofNoise
)

// speak returns spoken text.
func speak(ctx context.Context, text, voice string, pitch, speed int) ([]float32, error) {
	cmd := exec.CommandContext(ctx, "espeak-ng", "--stdin", "--stdout", "-z", "-v", voice, "-p", strconv.Itoa(pitch), "-s", strconv.Itoa(speed), "-a", "60")
	cmd.Stdin = strings.NewReader(text)
	wav, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("espeak-ng -v %s: %w", voice, err)
	}
	r, err := audio.NewWAVReader(bytes.NewReader(wav))
	if err != nil {
		return nil, err
	}
	c, err := audio.NewResampler(r.Format.SampleRate, rate)
	if err != nil {
		return nil, err
	}
	x := make([]float32, 0, len(wav)/2)
	block := make([]float32, 4096)
	for {
		n, err := r.Read(block)
		x = append(x, block[:n]...)
		if errors.Is(err, io.EOF) {
			return c.Flush(c.Process(nil, x)), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// utterances returns n utterances of a word in the voices in turn. Pitch, speed and melody differ.
func (o options) utterances(ctx context.Context, word string, index, n, purpose int) ([][]float32, error) {
	var list [][]float32
	for i := range n {
		d := random.New(o.seed, random.Noise, purpose, index*1000+i)
		mood := []string{"", ".", "?", "!"}[int(4*d.Float64(0))]
		x, err := speak(ctx, word+mood, o.voices[i%len(o.voices)], 35+int(30*d.Float64(1)), 120+int(70*d.Float64(2)))
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// noise returns quiet noise of a room.
func (o options) noise(seconds float64) []float32 {
	d := random.New(o.seed, random.Noise, ofNoise, 0)
	x := make([]float32, int(seconds*rate))
	state := 0.0
	for i := range x {
		state = 0.9*state + 0.002*d.Normal(uint64(i))
		x[i] = float32(state)
	}
	return x
}

// strangers are voices of speech without the words.
var strangers = []string{"en-us+m7", "en-gb-scotland+f4", "en-029+m1", "en-gb-x-rp+f5", "en-us+f3", "en-gb+m5"}

// speech returns so many minutes of sentences without the words, by other voices.
func (o options) speech(ctx context.Context, purpose int) ([]float32, error) {
	var x []float32
	for i := 0; len(x) < int(o.minutes*60*rate); i++ {
		d := random.New(o.seed, random.Noise, purpose, i)
		var text strings.Builder
		for k := range 12 {
			text.WriteString(common[int(float64(len(common))*d.Float64(uint64(k)))] + " ")
		}
		s, err := speak(ctx, text.String(), strangers[i%len(strangers)], 35+int(30*d.Float64(20)), 130+int(60*d.Float64(21)))
		if err != nil {
			return nil, err
		}
		x = append(append(x, s...), make([]float32, rate/2)...)
	}
	return x, nil
}

// common are words of everyday speech. Some share sounds with the words of the trial.
var common = strings.Fields(`the of and to in that it was for with his they have from this not but what all were when we there can
your which their said if do will each about how up out them then she many some so these would other into has more her two
like him see time could no make than first been its who now people my made over did down only way find use may water long
little very after words called just where most know get through back much before go good new write our used me man too any
day same right look think also around another came come work three word must because does part even place well such here
take why things help put years different away again off went old number great tell men say small every found still between
name should home big give air line set own under read last never us left end along while might next sound below saw
something thought both few those always looked show large often together asked house world going want school important until
form food keep children feet land side without boy once animals life enough took sometimes four head above kind began almost
live page got earth need far hand high year mother light parts country father let night following picture being study second
eyes soon times story boys since white days ever paper hard near sentence better best across during today others however
sure means knew try told young miles sun ways thing whole hear example heard several change answer room sea against top
turned learn point city play toward five using himself usually money seen car morning given lumber tarmac rabbit illumine
target vector visit limbo carve exhibit human moment zebra little market rapid`)
