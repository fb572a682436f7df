package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// write makes a small corpus: per word and speaker as many clips as counts says.
func write(t *testing.T, counts map[string][]int) string {
	t.Helper()
	dir := t.TempDir()
	for word, list := range counts {
		for speaker, n := range list {
			for i := range n {
				path := filepath.Join(dir, word, fmt.Sprintf("s%d_nohash_%d.wav", speaker, i))
				testfiles.Clip(t, path, sampleRate, make([]float32, 10+i))
			}
		}
	}
	list := "up/s2_nohash_0.wav\ngo/s1_nohash_0.wav\n_unknown_/s0_nohash_0.wav\n"
	testfiles.Write(t, filepath.Join(dir, "validation_list.txt"), list)
	return dir
}

// split takes the clips of the new words from the chosen speakers in turn, and the test set has all
// clips of the other speakers. Clips of other words are for training or, if the list has them, for
// testing.
func TestSplit(t *testing.T) {
	dir := write(t, map[string][]int{"up": {3, 1, 9, 4}, "no": {3, 0, 9, 2}, "go": {2, 1}, "_unknown_": {2}, "_silence_": {1}})
	c := must.Get(load(dir, "", []string{"no", "up"}))(t)
	must.Equal(t, fmt.Sprint(c.others), "[go]", "words of the base model")
	must.Equal(t, fmt.Sprint(len(c.known), len(c.knownVal), len(c.strange), len(c.rejects), len(c.background)), "2 1 1 2 1", "clips by use")
	who := must.Get(c.choose(2))(t) // the second and third have validation clips
	must.Equal(t, fmt.Sprint(who), "[s0 s3]", "speakers")
	shots, test, err := c.split(who, 4)
	must.Do(t, err)
	var names []string
	for _, x := range shots {
		names = append(names, strings.TrimSuffix(x.word+"/"+filepath.Base(x.Path), ".wav"))
	}
	want := "[no/s0_nohash_0 no/s3_nohash_0 no/s0_nohash_1 no/s3_nohash_1 up/s0_nohash_0 up/s3_nohash_0 up/s0_nohash_1 up/s3_nohash_1]"
	must.Equal(t, fmt.Sprint(names), want, "clips")
	must.Equal(t, len(test), 1+9+9, "test clips")
	if slices.ContainsFunc(test, func(x clip) bool { return slices.Contains(who, x.speaker) }) {
		t.Error("the test has clips of the speakers of the training set")
	}
	_, _, err = c.split(who, 6)
	must.Fail(t, err, `5 clips of "no", expected 6`)
	must.Reject(c.choose(4))(t, "2 speakers of the new words without validation clips, expected 4")
	must.Reject(load(dir, "", []string{"yes"}))(t, `no clips of the word "yes"`)
}
