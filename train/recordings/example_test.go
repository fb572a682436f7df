package recordings_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// A folder of recordings becomes the training data of a word detector: streams that are mixed from
// the recordings, with one label per frame. Four speakers say two words, here tones.
func ExampleMixStreams() {
	dir, err := os.MkdirTemp("", "words")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for word, hertz := range map[string]float64{"low": 300, "high": 1200} {
		if err := os.Mkdir(filepath.Join(dir, word), 0o777); err != nil {
			log.Fatal(err)
		}
		for speaker := range 4 {
			x := make([]float32, 4000) // half a second
			for i := range x {
				x[i] = 0.3 * float32(math.Sin(2*math.Pi*hertz*float64(i)/8000))
			}
			name := fmt.Sprintf("speaker%d_1.wav", speaker)
			if err := audio.WriteWAVFile(filepath.Join(dir, word, name), 8000, x); err != nil {
				log.Fatal(err)
			}
		}
	}

	r, err := recordings.Folder(context.Background(), dir, recordings.Options{SampleRate: 8000, GroupBy: "^speaker[0-9]", Validation: 0.25})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(r.Train.Words), "recordings for training,", len(r.Val.Words), "for validation")

	opt := recordings.DefaultStreams(8000)
	opt.Seed, opt.Length, opt.Streams, opt.ValStreams = 1, 2, 100, 10 // streams of two seconds
	d, err := recordings.MixStreams(r.Train, r.Val, opt)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Train.Len(), "streams of", d.MaxLen, "frames with", d.Channels, "bands, labels", d.Labels)
	// Output:
	// 6 recordings for training, 2 for validation
	// 100 streams of 100 frames with 40 bands, labels [high low none]
}
