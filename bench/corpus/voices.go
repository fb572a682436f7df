package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
)

// The sets of voices and noises.
const (
	train = "train"
	test  = "test"
)

// A voice of espeak-ng is an accent of English and a variant, which changes formants, pitch, breath
// and the synthesiser. No accent or variant is in both sets, and related variants are in the same
// set. Variants that clip or imitate robots are in neither.
var (
	accents = map[string][]string{
		train: {"en-us", "en-gb", "en-gb-scotland", "en-gb-x-gbclan", "en-029"},
		test:  {"en-us-nyc", "en-gb-x-rp", "en-gb-x-gbcwmd"},
	}
	variants = map[string][]string{
		train: {
			"", "m1", "m2", "m3", "m4", "m5", "m6", "f1", "f2", "f3", "f5", "klatt", "klatt2", "klatt3", "croak", "whisper",
			"Alex", "Alicia", "Andy", "Annie", "Denis", "Hugo", "Henrique", "Diogo", "Lee", "Mario", "Michael", "Mike", "Nguyen",
			"aunty", "belinda", "linda", "boris", "david", "edward", "grandma", "grandpa", "gustave", "kaukovalta", "max",
			"marcelo", "michel", "travis", "zac",
		},
		test: {
			"m7", "m8", "f4", "klatt4", "klatt5", "whisperf", "anika", "Andrea", "adam", "benjamin", "miguel",
			"norbert", "pablo", "quincy", "rob", "robert", "shelby", "steph", "victor",
		},
	}
)

// voice has the settings of espeak-ng.
type voice struct {
	accent, variant string
	pitch           int // 0 … 99; 50 is the voice's own pitch
	speed           int // words per minute
	level           int // 0 … 200; 100 is the voice's own level
}

func (v voice) name() string {
	if v.variant == "" {
		return v.accent
	}
	return v.accent + "+" + v.variant
}

// voice draws a voice of the set with its pitch and level, and a speed from a range.
func (o options) voice(d *dice, slowest, fastest float64) voice {
	a, v := accents[o.set], variants[o.set]
	return voice{
		accent:  a[d.below(len(a))],
		variant: v[d.below(len(v))],
		pitch:   int(d.between(25, 80)),
		speed:   int(d.between(slowest, fastest)),
		level:   int(d.between(25, 90)),
	}
}

const program = "espeak-ng"

// findVoices returns an error unless espeak-ng is installed and has all voices of the set. The
// check is needed because espeak-ng silently replaces a voice that does not exist.
func (o options) findVoices(ctx context.Context) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is not installed (Debian: apt install %s): %w", program, program, err)
	}
	have := map[string]bool{"": true}
	for _, kind := range []string{"en", "variant"} {
		out, err := espeak(ctx, "", "--voices="+kind)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(out)) {
			for field := range strings.FieldsSeq(line) {
				have[strings.TrimPrefix(field, "!v/")] = true
			}
		}
	}
	var missing []string
	for _, v := range slices.Concat(accents[o.set], variants[o.set]) {
		if !have[v] {
			missing = append(missing, v)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s has no voice %s; expected the voices of version 1.51", program, strings.Join(missing, ", "))
	}
	return nil
}

// espeak runs espeak-ng with a text on standard input and returns its standard output.
func espeak(ctx context.Context, text string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// speak returns a text as sound at a sampling rate in Hz, without the silence before and after it.
func (v voice) speak(ctx context.Context, text string, rate int) ([]float32, error) {
	wav, err := espeak(ctx, text, "--stdin", "--stdout", "-z", "-b", "1", "-v", v.name(),
		"-p", strconv.Itoa(v.pitch), "-s", strconv.Itoa(v.speed), "-a", strconv.Itoa(v.level))
	if err != nil {
		return nil, err
	}
	x, err := decode(wav, rate)
	if err != nil {
		return nil, fmt.Errorf("%s -v %s, text %q: %w", program, v.name(), text, err)
	}
	return x, nil
}

// decode converts a WAV file of one channel to a rate in Hz and trims it.
func decode(wav []byte, rate int) ([]float32, error) {
	r, err := audio.NewWAVReader(bytes.NewReader(wav))
	if err != nil {
		return nil, err
	}
	if r.Format.Channels != 1 {
		return nil, fmt.Errorf("%d channels, expected 1", r.Format.Channels)
	}
	x := make([]float32, len(wav)) // more than there are samples
	n := 0
	for err == nil {
		var read int
		read, err = r.Read(x[n:])
		n += read
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	x = x[:n]
	if x = trim(x, r.Format.SampleRate); len(x) == 0 {
		return nil, errors.New("no sound, expected speech")
	}
	if r.Format.SampleRate == rate {
		return x, nil
	}
	c, err := audio.NewResampler(r.Format.SampleRate, rate)
	if err != nil {
		return nil, err
	}
	return c.Flush(c.Process(nil, x)), nil
}

// trim removes samples more than 50 dB below the peak from both ends of x, but leaves 20 ms of
// them.
func trim(x []float32, rate int) []float32 {
	var peak float32
	for _, v := range x {
		peak = max(peak, v, -v)
	}
	loud := func(v float32) bool { return max(v, -v) > peak/316 }
	first := slices.IndexFunc(x, loud)
	if first < 0 {
		return nil
	}
	last := len(x) - 1
	for !loud(x[last]) {
		last--
	}
	margin := rate / 50
	return x[max(0, first-margin):min(len(x), last+1+margin)]
}
