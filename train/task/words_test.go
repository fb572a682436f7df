package task

import (
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
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// beep writes a recording of 0.6 s with a tone of 0.2 s and returns its folder's name.
func beep(t *testing.T, path string, rate int, hz float64) {
	t.Helper()
	x := make([]float32, rate*6/10)
	for i := rate / 5; i < rate*2/5; i++ {
		x[i] = float32(0.3 * math.Sin(2*math.Pi*hz*float64(i)/float64(rate)))
	}
	testfiles.Clip(t, path, rate, x)
}

// beeps writes two words of ten recordings by five speakers each, another word and background, and
// returns the folder.
func beeps(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 10 {
		beep(t, filepath.Join(dir, "low", fmt.Sprintf("s%d_%d.wav", i/2, i)), 8000, 500+5*float64(i))
		beep(t, filepath.Join(dir, "high", fmt.Sprintf("s%d_%d.wav", i/2, i)), 8000, 1500+5*float64(i))
	}
	beep(t, filepath.Join(dir, "_other", "s9_1.wav"), 8000, 900)
	beep(t, filepath.Join(dir, "_background_noise_", "hum.wav"), 16000, 60)
	return dir
}

// loadSet loads a task's data with the values of keys in [data].
func loadSet(t *testing.T, name, dir, split string, set ...string) (*dataset.Dataset, error) {
	t.Helper()
	tk := must.Get(Lookup(name))(t)
	cfg := tk.Preset()
	cfg.SetDir(dir)
	if name == "audio" {
		set = append([]string{"validation=0.4"}, set...) // there are few files
	}
	for _, s := range set {
		must.Do(t, cfg.Set("data."+s))
	}
	if err := tk.Resolve(&cfg); err != nil {
		return nil, err
	}
	src := From(cfg)
	src.Split = split
	return tk.Load(t.Context(), src)
}

func paths(clips []recordings.Clip) (names []string) {
	for _, c := range clips {
		names = append(names, filepath.Base(c.Path))
	}
	return names
}

// The task audio makes streams of the recordings of a folder and of the folders in its options.
func TestAudio(t *testing.T) {
	dir, more := beeps(t), t.TempDir()
	for _, path := range []string{"words/low/m.wav", "words/unknown/u.wav", "speech/a/s.wav", "sounds/b.wav"} {
		beep(t, filepath.Join(more, path), 8000, 700)
	}
	for i := range 8 {
		beep(t, filepath.Join(more, "speech", fmt.Sprintf("s%d_x.wav", i)), 8000, 700+float64(i))
	}
	d, err := loadSet(t, "audio", dir, "", "rate=8000", `group_by='^s[0-9]'`, "streams=20", "seconds=1.5", "snr=[10, 20]", "bands=20",
		fmt.Sprintf("words=[%q]", filepath.Join(more, "words")), fmt.Sprintf("other=[%q]", filepath.Join(more, "speech")),
		fmt.Sprintf("background=[%q]", filepath.Join(more, "sounds")))
	must.Do(t, err)
	if !slices.Equal(d.Labels, []string{"high", "low", "none"}) || d.Channels != 20 || d.MaxLen != 75 || d.SampleRate != 8000 || !d.Framewise() || len(d.Mean) != 20 {
		t.Errorf("%+v", d.Info)
	}
	trained, held := d.Train.(*recordings.StreamSet).Sounds(), d.Val.(*recordings.StreamSet).Sounds()
	must.Equal(t, d.Train.Len(), 20, "training streams")
	must.Equal(t, len(trained.Words)+len(held.Words), 21, "words")
	if len(held.Words) != 8 { // two of five speakers
		t.Errorf("validation words %q", paths(held.Words))
	}
	for _, a := range paths(held.Words) {
		for _, b := range paths(trained.Words) {
			if a[:2] == b[:2] {
				t.Errorf("the speaker of %s and %s is in both splits", a, b)
			}
		}
	}
	if i := slices.Index(paths(trained.Words), "m.wav"); i < 0 || trained.Words[i].Label != 1 {
		t.Errorf("words of data.words: %q", paths(trained.Words))
	}
	if got := paths(trained.Other); len(got)+len(held.Other) != 10 || len(got) < 3 || len(held.Other) < 3 {
		t.Errorf("other speech %q, and %q for validation", got, paths(held.Other))
	}
	if got := paths(trained.Background); !slices.Contains(got, "b.wav") || len(got)+len(held.Background) != 2 {
		t.Errorf("background %q, and %q for validation", got, paths(held.Background))
	}
	m := &model.Model{Meta: model.Meta{SampleRate: 8000, Recordings: d.Recordings}}
	streams, _, err := calibration.BackgroundStreams(dir, 8000, false, audio.Options{})
	must.Do(t, err)
	var own []string
	for _, c := range slices.Concat(trained.Words, trained.Other, trained.Background) {
		if strings.HasPrefix(c.Path, dir) {
			own = append(own, c.Path)
		}
	}
	slices.Sort(own)
	must.Equal(t, fmt.Sprint(must.Get(calibration.Trained(t.Context(), m, streams, 0))(t)), fmt.Sprint(own), "recordings that calibration recognises")
	val, err := loadSet(t, "audio", dir, "val", "rate=8000")
	must.Do(t, err)
	if val.Train != nil || val.Val == nil || val.Mean != nil || val.MaxLen != 200 {
		t.Errorf("split val: training set %v, validation set %v, %+v", val.Train, val.Val, val.Info)
	}
}

// A list makes a test set.
func TestAudioTestSplit(t *testing.T) {
	dir := beeps(t)
	testfiles.Write(t, filepath.Join(dir, "validation_list.txt"), "low/s0_0.wav\nhigh/s0_0.wav\n")
	testfiles.Write(t, filepath.Join(dir, "testing_list.txt"), "low/s1_2.wav\nhigh/s1_2.wav\n")
	whole, err := loadSet(t, "audio", dir, "", "rate=8000", "streams=4", "seconds=1")
	must.Do(t, err)
	testfiles.Write(t, filepath.Join(dir, "low", "s2_0.wav"), "broken") // for training, so that the others do not read it
	val, err := loadSet(t, "audio", dir, "val", "rate=8000", "streams=4", "seconds=1")
	must.Do(t, err)
	must.Equal(t, val.Val.Len(), whole.Val.Len(), "validation streams")
	var a, b dataset.Example
	must.Do(t, val.Val.Example(&a, 0, 0))
	must.Do(t, whole.Val.Example(&b, 0, 0))
	if !slices.Equal(a.X, b.X) {
		t.Error("the validation streams depend on the split that is loaded")
	}
	_, err = loadSet(t, "audio", dir, "train", "rate=8000")
	must.Fail(t, err, "s2_0.wav")
	beep(t, filepath.Join(dir, "low", "s2_0.wav"), 8000, 400)
	for _, split := range []string{"", "test"} {
		d, err := loadSet(t, "audio", dir, split, "rate=8000", "streams=4", "seconds=1")
		must.Do(t, err)
		if got := paths(d.Test.(*recordings.StreamSet).Sounds().Words); !slices.Equal(got, []string{"s1_2.wav", "s1_2.wav"}) {
			t.Errorf("split %q: test words %q", split, got)
		}
		if (d.Train == nil) != (split == "test") || (d.Val == nil) != (split == "test") {
			t.Errorf("split %q: training set %v, validation set %v", split, d.Train, d.Val)
		}
	}
}

// Errors of options name the key, errors of files the file.
func TestAudioErrors(t *testing.T) {
	dir := beeps(t)
	for set, want := range map[string]string{
		"rate=-1":        "--rate -1 Hz",
		"validation=1.0": "data.validation 1",
		"group_by='('":   "--group-by: error parsing regexp",
		"snr=[5]":        "data.snr [5]: expected two numbers",
		"snr=[9, 5]":     "SNR 9 … 5, expected the lower bound first",
		"seconds=-2.0":   "length in seconds -2",
		"bands=100000":   "bands 100000",
		"streams=-1":     "data.streams, data.seconds, data.snr, data.bands: stream options: streams -1",
		"channel=-3":     "data.channel -3",
	} {
		_, err := loadSet(t, "audio", dir, "", set)
		must.Fail(t, err, train.ErrConfig, want, `task "audio"`)
	}
	_, err := loadSet(t, "audio", dir, "", fmt.Sprintf("words=[%q]", dir+"x"))
	must.Fail(t, err, train.ErrData, "data.words", dir+"x: ")
	empty := t.TempDir()
	_, err = loadSet(t, "audio", dir, "", fmt.Sprintf("words=[%q]", empty))
	must.Fail(t, err, train.ErrData, "data.words", empty+" has no folder with the name of a word")
	for _, option := range []string{"words", "other", "background"} {
		_, err = loadSet(t, "audio", dir, "", fmt.Sprintf("%s=[%q]", option, dir+"x"))
		must.Fail(t, err, train.ErrData, "--"+option+" (data."+option+"): ", dir+"x: ")
		if strings.Contains(err.Error(), "DIR/WORD/*") {
			t.Errorf("the error has the hint for --data: %v", err)
		}
	}
	_, err = loadSet(t, "audio", t.TempDir(), "")
	must.Fail(t, err, train.ErrData, "DIR/WORD/*")

	testfiles.Write(t, filepath.Join(dir, "low", "broken.wav"), "RIFF")
	_, err = loadSet(t, "audio", dir, "")
	must.Fail(t, err, train.ErrData, "broken.wav")
	d, err := loadSet(t, "audio", dir, "", "skip_broken=true", "streams=4", "seconds=1")
	must.Do(t, err)
	if len(d.Notes) != 2 || !strings.Contains(d.Notes[1], "broken.wav") {
		t.Errorf("notes %q", d.Notes)
	}
}

// The option channel selects a channel of every recording; without it, channels that cancel are
// noted.
func TestAudioChannel(t *testing.T) {
	dir := beeps(t)
	x := must.Get(audio.ReadMono(filepath.Join(dir, "low", "s0_0.wav"), 8000))(t)
	opposed := slices.Clone(x)
	for i := range opposed {
		opposed[i] *= -1
	}
	for _, name := range []string{"s0_0.wav", "s1_2.wav"} {
		testfiles.Stereo(t, filepath.Join(dir, "low", name), 8000, x, opposed)
	}
	_, err := loadSet(t, "audio", dir, "", "streams=4", "seconds=1")
	must.Fail(t, err, train.ErrData, "all samples are zero in the mean of 2 channels; --channel N reads one")
	d := must.Get(loadSet(t, "audio", dir, "", "streams=4", "seconds=1", "skip_broken=true"))(t)
	must.Equal(t, len(d.Notes), 1+2*2, "notes %q", d.Notes) // the first: few recordings for validation
	_, err = loadSet(t, "audio", dir, "", "streams=4", "seconds=1", "channel=1")
	must.Fail(t, err, train.ErrData, "no channel 1: the recording has 1") // the others
	for _, name := range []string{"low", "high", "_other", "_background_noise_"} {
		for _, path := range must.Get(filepath.Glob(filepath.Join(dir, name, "*.wav")))(t) {
			testfiles.Stereo(t, path, 8000, x, opposed)
		}
	}
	d = must.Get(loadSet(t, "audio", dir, "", "streams=4", "seconds=1", "channel=1"))(t)
	must.Equal(t, len(d.Notes), 1, "notes %q", d.Notes)
}

// The options of a run that starts from a model must select the model's filter bank.
func TestAudioCheckFrom(t *testing.T) {
	tk := must.Get(Lookup("audio"))(t)
	bank := recordings.DefaultStreams(8000).Filterbank
	m := &model.Model{Meta: model.Meta{Filterbank: &bank}}
	cfg := tk.Preset()
	must.Fail(t, tk.CheckFrom(cfg, m), train.ErrConfig, "--rate is 16000 Hz", "pass --rate 8000")
	must.Do(t, cfg.Set("data.rate=8000"))
	must.Do(t, tk.CheckFrom(cfg, m))
	bank.Bands += 4
	must.Fail(t, tk.CheckFrom(cfg, m), train.ErrConfig, fmt.Sprintf("pass --set data.bands=%d", bank.Bands))
	must.Do(t, tk.CheckFrom(cfg, &model.Model{}))
	fsdd := must.Get(Lookup("fsdd"))(t)
	must.Do(t, fsdd.CheckFrom(fsdd.Preset(), m))
}

// With labels, as for an evaluation, the folder may lack classes but not have others.
func TestAudioLabels(t *testing.T) {
	dir := beeps(t)
	must.Do(t, os.RemoveAll(filepath.Join(dir, "high")))
	tk := must.Get(Lookup("audio"))(t)
	cfg := tk.Preset()
	cfg.SetDir(dir)
	must.Do(t, cfg.Set("data.rate=8000"))
	src := From(cfg)
	src.Model = &model.Model{Meta: model.Meta{Labels: []string{"high", "low", "none"}}}
	for _, split := range []string{"val", "train", "all"} {
		src.Split = split
		d := must.Get(tk.Load(t.Context(), src))(t)
		must.Equal(t, strings.Join(d.Labels, " "), "high low none", "labels of split %s", split)
		var e dataset.Example
		var seen [3]bool
		set := must.Get(d.Split(split))(t)
		for i := range 10 {
			must.Do(t, set.Example(&e, i, 0))
			for _, label := range e.Labels {
				if label >= 0 { // −1: not scored
					seen[label] = true
				}
			}
		}
		must.Equal(t, seen, [3]bool{false, true, true}, "labels of frames in split %s", split)
	}
	src.Split = "test"
	must.Reject(tk.Load(t.Context(), src))(t, train.ErrData, `the split "test" has no recordings of words`)
	src.Model.Meta.Labels = []string{"high", "lo", "none"}
	must.Reject(tk.Load(t.Context(), src))(t, train.ErrData, `class "low"`, `["high" "lo"]`)
}

// The task digits makes streams of the layout of fsdd.
func TestDigitStreams(t *testing.T) {
	dir, more := t.TempDir(), t.TempDir()
	for digit := range 10 {
		for _, index := range []int{0, 5, 10, 11} {
			beep(t, filepath.Join(dir, fmt.Sprintf("%d_jo_%d.wav", digit, index)), 8000, 400+200*float64(digit))
		}
	}
	beep(t, filepath.Join(more, "words", "seven", "a.wav"), 16000, 1800)
	beep(t, filepath.Join(more, "speech", "b.wav"), 16000, 350)
	d, err := loadSet(t, "digits", dir, "", "streams=10", fmt.Sprintf("words=[%q]", filepath.Join(more, "words")), fmt.Sprintf("other=[%q]", filepath.Join(more, "speech")))
	must.Do(t, err)
	if !slices.Equal(d.Labels, append(fsddLabels(), "none")) || d.Channels != 40 || d.SampleRate != 8000 || !d.Framewise() || d.Train.Len() != 10 {
		t.Errorf("%d training streams, %+v", d.Train.Len(), d.Info)
	}
	sounds := d.Train.(*recordings.StreamSet).Sounds()
	if len(sounds.Words) != 21 || sounds.Words[20].Label != 7 || len(sounds.Other) != 1 || len(d.Val.(*recordings.StreamSet).Sounds().Words) != 10 || d.Test == nil {
		t.Errorf("training words %q, other %q, test set %v", paths(sounds.Words), paths(sounds.Other), d.Test)
	}
	_, err = loadSet(t, "digits", dir, "", "snr=[1]")
	must.Fail(t, err, train.ErrConfig, "data.snr [1]")
	beep(t, filepath.Join(more, "empty", "word", "a.wav"), 8000, 500)
	_, err = loadSet(t, "digits", dir, "", fmt.Sprintf("words=[%q]", filepath.Join(more, "empty")))
	must.Fail(t, err, train.ErrData, "no folder with the name of a word, such as "+filepath.Join(more, "empty", "0"))
}

// A detector of one word learns the folders of other words as other speech, and hears more of it.
func TestWake(t *testing.T) {
	dir := beeps(t)
	d := must.Get(loadSet(t, "audio", dir, "", "wake=low"))(t)
	set := d.Train.(*recordings.StreamSet)
	val := d.Val.(*recordings.StreamSet).Sounds()
	must.Equal(t, strings.Join(d.Labels, ","), "low,none", "labels")
	must.Equal(t, len(set.Sounds().Other)+len(val.Other), 11, "other recordings")
	if o := set.Options(); o.OtherShare != wakeShare || o.WordlessShare != wakeShare {
		t.Errorf("shares of other speech %v and %v, expected %v", o.OtherShare, o.WordlessShare, wakeShare)
	}
	const note = "neither other speech nor background for validation"
	must.Equal(t, strings.Contains(fmt.Sprint(d.Notes), note), false, "note on the threshold")
	for _, name := range []string{"high", "_other", "_background_noise_"} {
		must.Do(t, os.RemoveAll(filepath.Join(dir, name)))
	}
	d = must.Get(loadSet(t, "audio", dir, "", "wake=low"))(t)
	must.Equal(t, strings.Contains(fmt.Sprint(d.Notes), note), true, "note on the threshold without other sounds")
}

// An epoch has two streams for each clip, more for few clips, and a stream for three of many.
func TestStreamsOfAnEpoch(t *testing.T) {
	for clips, want := range map[int]int{10: 640, 1000: 2000, 5000: 4800, 18000: 6000} {
		opt := must.Get(MixOptions{}.streams(16000, Source{}, clips, 0))(t)
		must.Equal(t, opt.Streams, want, "streams for %d clips", clips)
	}
}
