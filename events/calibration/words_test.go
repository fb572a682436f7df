package calibration_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// tone returns a tone of half a second and an amplitude, with so many silent samples on either
// side.
func tone(amplitude float64, silent, sampleRate int) []float32 {
	x := make([]float32, 2*silent+sampleRate/2)
	for i := range sampleRate / 2 {
		x[silent+i] = float32(amplitude * math.Sin(2*math.Pi*500*float64(i)/float64(sampleRate)))
	}
	return x
}

// clipFolder writes 60 clips of two labels, with more silence and less amplitude from one to the
// next.
func clipFolder(t testing.TB) (dir string, clips []calibration.Clip) {
	dir = t.TempDir()
	for i := range 60 {
		label := []string{"low", "high"}[i%2]
		path := filepath.Join(dir, label, fmt.Sprintf("%02d.wav", i))
		testfiles.Clip(t, path, rate, tone(0.5-0.005*float64(i), 40*i, rate))
		clips = append(clips, calibration.Clip{Path: path, Label: label})
	}
	return dir, clips
}

// read returns all samples of a stream, read in blocks of a size.
func read(t testing.TB, s calibration.Stream, block int) (x []float32) {
	t.Helper()
	in := must.Get(s.Open())(t)
	defer in.Close()
	for {
		buf := make([]float32, block)
		n, err := in.Read(buf)
		x = append(x, buf[:n]...)
		if err != nil {
			must.Equal(t, fmt.Sprint(err), "EOF", "error at the end")
			return x
		}
	}
}

func clean() calibration.WordOptions {
	opt := calibration.DefaultWords(rate)
	opt.SNR = math.Inf(1)
	return opt
}

func wordStreams(t testing.TB, clips []calibration.Clip, opt calibration.WordOptions) []calibration.Stream {
	t.Helper()
	streams, skipped, err := calibration.WordStreams(context.Background(), clips, opt)
	must.Do(t, err)
	must.Equal(t, len(skipped), 0, "skipped files")
	return streams
}

func rms(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(x)))
}

// Every clip occurs once, its word is where the stream says, and gaps have the lengths that the
// options state. The samples do not depend on the blocks in which they are read.
func TestWordStreams(t *testing.T) {
	_, clips := clipFolder(t)
	opt := clean()
	opt.MinGap, opt.MaxGap = 0.2, 0.4
	streams := wordStreams(t, clips, opt)
	must.Equal(t, len(streams), 2, "streams of 60 clips")
	count := map[string]int{}
	for _, s := range streams {
		x := read(t, s, 8192)
		for _, block := range []int{1, 777} {
			if !slices.Equal(read(t, s, block), x) {
				t.Errorf("%s: other samples in blocks of %d", s.Name, block)
			}
		}
		end := int64(0)
		for _, w := range s.Words {
			count[w.Label]++
			if n := w.End - w.Onset; n < rate/2 || n > rate/2+640 || rms(x[w.Onset:w.End]) < 0.9*0.2/math.Sqrt2 {
				t.Errorf("%+v: %d samples of level %v, expected the tone of %d", w, n, rms(x[w.Onset:w.End]), rate/2)
			}
			if pause := x[end:w.Onset]; rms(pause) != 0 || len(pause) < 0.2*rate-640 || len(pause) > 0.4*rate+2*40*60 {
				t.Errorf("%d samples of level %v before %+v", len(pause), rms(pause), w)
			}
			end = w.End
		}
		if rest := len(x) - int(end); rest < rate/2 {
			t.Errorf("%d samples after the last word", rest)
		}
	}
	must.Equal(t, fmt.Sprint(count), "map[high:30 low:30]", "words")

	same := wordStreams(t, clips, opt)
	must.Equal(t, fmt.Sprint(same[1].Words), fmt.Sprint(streams[1].Words), "words of the same seed")
	opt.Seed++
	if other := wordStreams(t, clips, opt); fmt.Sprint(other[1].Words) == fmt.Sprint(streams[1].Words) {
		t.Error("the words do not depend on the seed")
	}
}

// Noise has the level that the SNR states, white or from a background.
func TestLevels(t *testing.T) {
	_, clips := clipFolder(t)
	power := 0.0 // of a tone as recorded
	for i := range clips {
		a := 0.5 - 0.005*float64(i)
		power += a * a / 2 / float64(len(clips))
	}
	bed := calibration.Stream{Open: func() (calibration.Audio, error) { return &memory{x: tone(0.01, 0, 16000)}, nil }}
	for _, beds := range [][]calibration.Stream{nil, {bed}} {
		for _, snr := range []float64{20, 0} {
			opt := clean()
			quiet := read(t, wordStreams(t, clips, opt)[0], 4096)
			opt.SNR, opt.Noise = snr, beds
			noisy := read(t, wordStreams(t, clips, opt)[0], 1000)
			noise := make([]float32, len(noisy))
			for i := range noise {
				noise[i] = noisy[i] - quiet[i]
			}
			if got, want := rms(noise), math.Sqrt(power)*math.Pow(10, -snr/20); math.Abs(got/want-1) > 0.07 { // the word of a clip has 20 ms more on either side
				t.Errorf("%d beds, %v dB: noise of level %v, expected %v", len(beds), snr, got, want)
			}
		}
	}
}

// Clips at another rate are converted, and their words are where they would be.
func TestResampledWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.wav")
	testfiles.Clip(t, path, 44100, tone(0.3, 44100, 44100))
	s := wordStreams(t, []calibration.Clip{{Path: path, Label: "low"}}, clean())[0]
	x, w := read(t, s, 4096), s.Words[0]
	if n := w.End - w.Onset; n < rate/2 || n > rate/2+660 || math.Abs(rms(x[w.Onset:w.End])-0.3/math.Sqrt2) > 0.02 {
		t.Errorf("%+v of level %v, expected half a second", w, rms(x[w.Onset:w.End]))
	}
}

func TestWordStreamErrors(t *testing.T) {
	dir := t.TempDir()
	good, empty, text, long := filepath.Join(dir, "good.wav"), filepath.Join(dir, "empty.wav"), filepath.Join(dir, "text.wav"), filepath.Join(dir, "long.wav")
	testfiles.Clip(t, good, rate, tone(0.3, 10, rate))
	testfiles.Clip(t, empty, rate, nil)
	testfiles.Clip(t, long, rate, make([]float32, 61*rate))
	must.Do(t, os.WriteFile(text, []byte("no audio"), 0o666))
	missing := filepath.Join(dir, "missing.wav")
	ctx := context.Background()
	clips := []calibration.Clip{{Path: good, Label: "low"}}
	for path, want := range map[string]string{empty: "empty.wav: it has no samples", text: "text.wav: ", long: "long.wav: longer than 60 s, expected a clip of one word", missing: "missing.wav"} {
		bad := append([]calibration.Clip{{Path: path, Label: "low"}}, clips...)
		_, _, err := calibration.WordStreams(ctx, bad, clean())
		must.Fail(t, err, "calibration: ", want)
		opt := clean()
		opt.SkipBroken = true
		streams, skipped, err := calibration.WordStreams(ctx, bad, opt)
		must.Do(t, err)
		if len(streams) != 1 || len(streams[0].Words) != 1 || len(skipped) != 1 || !strings.Contains(skipped[0].Error(), want) {
			t.Errorf("%d streams, skipped %v; expected one word and %q", len(streams), skipped, want)
		}
		_, _, err = calibration.WordStreams(ctx, bad[:1], opt)
		must.Fail(t, err, "none of 1 clips")
	}
	cancelled, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("enough"))
	_, _, err := calibration.WordStreams(cancelled, clips, clean())
	must.Fail(t, err, "enough")

	s := wordStreams(t, clips, clean())[0]
	testfiles.Clip(t, good, rate, tone(0.3, 20, rate))
	must.Reject(s.Open())(t, "the file has changed")

	opt := clean()
	opt.SNR, opt.Noise = 10, []calibration.Stream{{Name: "bed", Open: func() (calibration.Audio, error) { return &memory{x: make([]float32, 100)}, nil }}}
	must.Reject(wordStreams(t, clips, opt)[0].Open())(t, "bed: silence", calibration.ErrSilence)
	opt.Noise[0].Open = func() (calibration.Audio, error) { return &memory{err: errors.New("torn")}, nil }
	must.Reject(wordStreams(t, clips, opt)[0].Open())(t, "torn")
}

// background returns the streams of a folder or file.
func background(t testing.TB, path string, skipBroken bool) []calibration.Stream {
	t.Helper()
	streams, _, err := calibration.BackgroundStreams(path, rate, skipBroken, audio.Options{})
	must.Do(t, err)
	return streams
}

// Background joins the files of a folder, converts them, and leaves out broken ones if it is told
// to.
func TestBackground(t *testing.T) {
	dir := t.TempDir()
	testfiles.Clip(t, filepath.Join(dir, "b", "1.wav"), rate, tone(0.2, 0, rate))
	testfiles.Clip(t, filepath.Join(dir, "a.WAV"), 2*rate, tone(0.1, 0, 2*rate))
	testfiles.Clip(t, filepath.Join(dir, ".hidden", "1.wav"), rate, tone(0.2, 0, rate))
	must.Do(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o666))
	must.Do(t, os.Rename(filepath.Join(dir, "b", "1.wav"), filepath.Join(dir, "b", "1"))) // recognised by its content
	streams, ignored, err := calibration.BackgroundStreams(dir, rate, false, audio.Options{})
	must.Do(t, err)
	want := []string{filepath.Join(dir, ".hidden") + ": hidden", filepath.Join(dir, "notes.txt") + ": not in a known format of sound"}
	must.Equal(t, fmt.Sprint(ignored), fmt.Sprint(want), "ignored files")
	must.Equal(t, len(streams), 1, "streams of two short files")
	must.Equal(t, streams[0].Background, dir, "background")
	x := read(t, streams[0], 1000)
	must.Equal(t, len(x), rate, "samples of two files of half a second")
	for i, want := range []float64{0.1, 0.2} {
		if got := rms(x[i*rate/2:][:rate/2]); math.Abs(got-want/math.Sqrt2) > 0.01*want {
			t.Errorf("file %d: level %v of a tone of amplitude %v", i, got, want)
		}
	}
	broken := filepath.Join(dir, "b", "0.wav")
	file := must.Get(os.ReadFile(filepath.Join(dir, "b", "1")))(t)
	must.Do(t, os.WriteFile(broken, file[:44+2000], 0o666))
	must.Do(t, os.WriteFile(filepath.Join(dir, "b", "00.wav"), []byte("no audio"), 0o666))
	in := must.Get(background(t, dir, false)[0].Open())(t)
	defer in.Close()
	for err := error(nil); err == nil; {
		if _, err = in.Read(make([]float32, 1000)); err != nil {
			must.Fail(t, err, broken)
		}
	}
	words := stream("", isolated(map[string][]float64{"low": {1}}))
	m := measure(t, append(background(t, dir, true), words), options(t))
	must.Equal(t, len(m.Skipped), 2, "skipped files")
	must.Fail(t, m.Skipped[0], "0.wav: ", "truncated")
	must.Fail(t, m.Skipped[1], "00.wav: ")
	if got, want := 3600*m.Points[0].All().Hours, 1+1000./rate; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v s of background, expected %v with the part of the broken file", got, want)
	}
	must.Equal(t, len(background(t, broken, false)), 1, "streams of a file")
	_, _, err = calibration.BackgroundStreams(filepath.Join(dir, "none"), rate, false, audio.Options{})
	must.Fail(t, err, "none")
	_, _, err = calibration.BackgroundStreams(t.TempDir(), rate, false, audio.Options{})
	must.Fail(t, err, "contains no recordings")
}

// Files in every format of package audio are read.
func TestFormats(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"mono.flac", "mono.mp3", "mono.ogg", "stereo.ogg"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), must.Get(os.ReadFile(filepath.Join("..", "..", "audio", "testdata", name)))(t), 0o666))
	}
	testfiles.Clip(t, filepath.Join(dir, "x.wav"), rate, tone(0.3, 0, rate))
	want := 0
	for _, path := range must.Get(filepath.Glob(filepath.Join(dir, "*")))(t) {
		want += len(must.Get(audio.ReadMono(path, rate))(t))
	}
	got := len(read(t, background(t, dir, false)[0], 4096))
	if got < want-10 || got > want+10 || want < rate {
		t.Errorf("%d samples, expected about %d", got, want)
	}
}

// Long files have streams of their own.
func TestBackgroundStreams(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		testfiles.Clip(t, filepath.Join(dir, fmt.Sprintf("%d.wav", i)), rate, make([]float32, 1_200_000))
	}
	streams := background(t, dir, false)
	must.Equal(t, len(streams), 2, "streams of four files of 2.4 MB")
	must.Equal(t, streams[1].Name, filepath.Join(dir, "2.wav"), "name of the second")
}
