package recordings

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Streams of real digits have every label, and the rule keeps most of a trimmed recording.
func TestRealStreams(t *testing.T) {
	root := os.Getenv("S4D_DATA")
	if root == "" {
		t.Skip("S4D_DATA is not set: it names a folder that holds fsdd")
	}
	files, err := filepath.Glob(filepath.Join(root, "fsdd", "recordings", "*.wav"))
	must.Do(t, err)
	if len(files) == 0 {
		t.Skip("S4D_DATA holds no fsdd/recordings")
	}
	var sounds Sounds
	sounds.SampleRate = 8000
	for digit := range 10 {
		sounds.Labels = append(sounds.Labels, strconv.Itoa(digit))
	}
	for _, path := range files {
		x, format, err := audio.ReadWAVFile(path)
		must.Do(t, err)
		must.Equal(t, format.SampleRate, 8000, "sampling rate of %s", path)
		sounds.Words = append(sounds.Words, NewClip(path, int(filepath.Base(path)[0]-'0'), x))
	}
	began := time.Now()
	d := must.Get(MixStreams(sounds, Sounds{}, DefaultStreams(8000)))(t)
	took := time.Since(began)
	set := d.Train.(*StreamSet)
	kept := 0.0
	for i, r := range set.words {
		kept += float64(r.End-r.Onset) / float64(sounds.Words[i].Len()) / float64(len(set.words))
	}
	if kept < 0.7 {
		t.Errorf("the rule keeps %.2f of trimmed recordings", kept)
	}
	frames, words := make([]int, 12), 0
	var e dataset.Example
	for i := range 100 {
		must.Do(t, set.Example(&e, i, 1))
		for _, label := range e.Labels {
			frames[label+1]++
		}
		_, w, err := set.Audio(nil, i, 1)
		must.Do(t, err)
		words += len(w)
	}
	for label, n := range frames {
		if n == 0 {
			t.Errorf("label %d: no frames", label-1)
		}
	}
	if words < 200 || words > 500 {
		t.Errorf("%d words in 100 streams", words)
	}
	t.Logf("%d streams of %d frames, made in %v; %.2f of a recording is active; %d words in 100 streams; frames not scored and per label %v",
		set.Len(), set.Length(0), took, kept, words, frames)
}

func BenchmarkStream(b *testing.B) {
	o := DefaultStreams(16000)
	s := testSounds(1)
	s.SampleRate = 16000
	set := must.Get(newStreamSet(&s, "train", o, 10, random.Noise))(b)
	var e dataset.Example
	for i := 0; b.Loop(); i++ {
		must.Do(b, set.Example(&e, i%10, i/10))
	}
}
