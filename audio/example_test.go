package audio_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/s4d-fast/s4d-fast/audio"
)

// A WAV stream is read as it arrives: the header states the rate, and samples follow until io.EOF.
func ExampleOpenWAV() {
	var file bytes.Buffer
	if err := audio.WriteWAV(&file, 8000, []float32{0, 0.5, -0.5, -1}); err != nil {
		log.Fatal(err)
	}
	r, err := audio.OpenWAV(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Format.SampleRate, "Hz")
	block := make([]float32, 3)
	for err == nil {
		var n int
		n, err = r.Read(block)
		fmt.Println(block[:n], err)
	}
	// Output:
	// 8000 Hz
	// [0 0.5 -0.5] <nil>
	// [-1] EOF
}

// The samples of a microphone have no header; their encoding must be known.
func ExampleNewRawReader() {
	r, err := audio.NewRawReader(bytes.NewReader([]byte{0, 0x40, 0, 0xc0}), audio.S16LE)
	if err != nil {
		log.Fatal(err)
	}
	samples := make([]float32, 2)
	n, err := r.Read(samples)
	fmt.Println(samples[:n], err)
	// Output: [0.5 -0.5] <nil>
}
