package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/synth"
)

// A voice of espeak-ng is an accent of English and a variant, which changes formants, pitch, breath
// and the synthesiser. No accent or variant is in both splits, and related variants are in the same
// split. Variants that clip or imitate robots are in neither.
var (
	accents = map[string][]string{
		Train: {"en-us", "en-gb", "en-gb-scotland", "en-gb-x-gbclan", "en-029"},
		Test:  {"en-us-nyc", "en-gb-x-rp", "en-gb-x-gbcwmd"},
	}
	variants = map[string][]string{
		Train: {
			"", "m1", "m2", "m3", "m4", "m5", "m6", "f1", "f2", "f3", "f5", "klatt", "klatt2", "klatt3", "croak", "whisper",
			"Alex", "Alicia", "Andy", "Annie", "Denis", "Hugo", "Henrique", "Diogo", "Lee", "Mario", "Michael", "Mike", "Nguyen",
			"aunty", "belinda", "linda", "boris", "david", "edward", "grandma", "grandpa", "gustave", "kaukovalta", "max",
			"marcelo", "michel", "travis", "zac",
		},
		Test: {
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

	other *synthesizer // speaks instead of espeak-ng; nil: espeak-ng
}

// synthesizer is a voice of a program other than espeak-ng, which uses pitch and speed, or speed
// only.
type synthesizer struct {
	program, voice string
	arguments      func(v voice, name, text string) []string // it also reads the text from standard input
	file           string                                    // must exist; "": the voice is part of the program
}

// synthesizers speak only training clips.
var synthesizers = []synthesizer{
	{"flite", "awb", flite, ""}, {"flite", "kal16", flite, ""}, {"flite", "rms", flite, ""}, {"flite", "slt", flite, ""},
	{"text2wave", "cmu_us_slt_arctic_hts", festival, "/usr/share/festival/voices/us/cmu_us_slt_arctic_hts"},
	{"text2wave", "kal_diphone", festival, "/usr/share/festival/voices/english/kal_diphone"},
}

// ownSpeed is the speed of the voices of synthesizers, in words per minute.
const ownSpeed = 165

func flite(v voice, name, text string) []string {
	return []string{"-voice", name, "--setf", fmt.Sprintf("duration_stretch=%.2f", ownSpeed/float64(v.speed)),
		"--setf", fmt.Sprint("int_f0_target_mean=", 75+3*v.pitch/2), "-t", text, "-o", "/dev/stdout"}
}

// festival sets the speed twice: voices of diphones read Duration_Stretch, those of HTS their own
// parameter.
func festival(v voice, name, _ string) []string {
	speed := float64(v.speed) / ownSpeed
	return []string{"-eval", "(voice_" + name + ")", "-eval", fmt.Sprintf("(Parameter.set 'Duration_Stretch %.2f)", 1/speed),
		"-eval", fmt.Sprintf(`(if (symbol-bound? 'hts_engine_params) (set! hts_engine_params (append hts_engine_params (list (list "-r" %.2f)))))`, speed)}
}

// piper is a voice of piper, an ONNX file that arguments captures.
func piper(file string) *synthesizer {
	name := strings.TrimSuffix(filepath.Base(file), ".onnx")
	return &synthesizer{"piper", name, func(v voice, _, _ string) []string {
		return []string{"-m", file, "-f", "-", "--length_scale", fmt.Sprintf("%.2f", ownSpeed/float64(v.speed))}
	}, file}
}

// others returns the synthesizers for a split: those that are installed, and the voices of piper.
func (o Options) others() (list []*synthesizer, err error) {
	if o.Piper != "" && o.Split == Train {
		files, err := os.ReadDir(o.Piper)
		for _, f := range files {
			if filepath.Ext(f.Name()) == ".onnx" {
				list = append(list, piper(filepath.Join(o.Piper, f.Name())))
			}
		}
		if err == nil && len(list) == 0 {
			err = errors.New("no voices (*.onnx)")
		}
		if err == nil {
			_, err = exec.LookPath("piper")
		}
		if err != nil {
			return nil, fmt.Errorf("piper, folder %q: %w", o.Piper, err)
		}
	}
	for i := range synthesizers {
		s := &synthesizers[i]
		_, err := exec.LookPath(s.program)
		if err == nil && s.file != "" {
			_, err = os.Stat(s.file)
		}
		if err == nil && o.Split == Train {
			list = append(list, s)
		}
	}
	return list, nil
}

func (v voice) name() string {
	switch {
	case v.other != nil:
		return v.other.program + "+" + v.other.voice
	case v.variant == "":
		return v.accent
	}
	return v.accent + "+" + v.variant
}

// voice draws a voice of the split with its pitch and level, and a speed from a range.
func (o Options) voice(s *synth.Synth, slowest, fastest float64) voice {
	a, v := accents[o.Split], variants[o.Split]
	return voice{
		accent:  a[s.Below(len(a))],
		variant: v[s.Below(len(v))],
		pitch:   int(s.Between(25, 80)),
		speed:   int(s.Between(slowest, fastest)),
		level:   int(s.Between(25, 90)),
	}
}

const program = "espeak-ng"

// installed returns an error unless espeak-ng is installed.
func installed() error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s 1.51 or later is required, which has all voices (Debian: apt install %s): %w", program, program, err)
	}
	return nil
}

// arguments returns the arguments of espeak-ng, which reads a text from standard input and writes a
// WAV file to standard output.
func (v voice) arguments() []string {
	return []string{"--stdin", "--stdout", "-z", "-b", "1", "-v", v.name(),
		"-p", strconv.Itoa(v.pitch), "-s", strconv.Itoa(v.speed), "-a", strconv.Itoa(v.level)}
}

// speak returns a text as sound, without the silence before and after it.
func (v voice) speak(ctx context.Context, text string) ([]float32, error) {
	cmd := exec.CommandContext(ctx, program, v.arguments()...)
	if v.other != nil {
		cmd = exec.CommandContext(ctx, v.other.program, v.other.arguments(v, v.other.voice, text)...)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", cmd, err, bytes.TrimSpace(stderr.Bytes()))
	}
	x, err := decode(stdout.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s, text %q: %w", v.name(), text, err)
	}
	return x, nil
}

// decode trims a WAV file and converts it to the rate.
func decode(wav []byte) ([]float32, error) {
	r, err := audio.OpenWAV(bytes.NewReader(wav))
	if err != nil {
		return nil, err
	}
	x, err := r.ReadMono(r.Format.SampleRate, len(wav)) // there are fewer samples
	if err != nil {
		return nil, err
	}
	if x = trim(x, r.Format.SampleRate); len(x) == 0 {
		return nil, errors.New("no sound, expected speech")
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
