package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
)

// lists are the named lists of words.
var lists = map[string][]string{
	"commands": strings.Fields("yes no up down left right on off stop go"),
	"digits":   strings.Fields("zero one two three four five six seven eight nine"),
	"near": strings.Fields(`yet yell guess chess nor note nose snow low row cup pup hop dawn town gown brown lift laughed
		loft ride light night fright own odd of awful coffee cough stuff stock step top goat goal gold ghost grow dough
		wonder once went when tune tea true tree free through fear form force fire fine find sick socks sits heaven settle
		several severe ape aid hate late wait mine line sign wine hero zoo zebra arrow`),
}

// alike lists, for a named list, the words that sound like one of its words, and the numbers.
var alike = map[string][]string{
	"commands": strings.Fields("know knows noe write rite wright gough ok"),
	"digits": strings.Fields(`won to too tu for fore ate oh o ones twos threes fours fives sixes sevens eights nines zeros zeroes
		ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
		twenty thirty forty fourty fifty sixty seventy eighty ninety hundred thousand million billion
		twenties thirties forties fifties sixties seventies eighties nineties
		third fourth fifth sixth seventh eighth ninth tenth`),
}

// excluded returns the words of -without.
func excluded(list string) map[string]bool {
	words := map[string]bool{}
	for name := range strings.SplitSeq(strings.ToLower(list), ",") {
		name = strings.TrimSpace(name)
		for _, w := range append(slices.Concat(lists[name], alike[name]), name) {
			words[w] = true
		}
	}
	return words
}

// wordList returns the words of -words, each once, without those of -without.
func (o options) wordList(ctx context.Context) ([]string, error) {
	out := excluded(o.without)
	var all []string
	for name := range strings.SplitSeq(o.words, ",") {
		switch name = strings.TrimSpace(name); {
		case lists[name] != nil:
			all = append(all, lists[name]...)
		case name == "frequent":
			pool, err := o.readText(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, frequent(pool, o.most, out)...)
		case name == "" || strings.Trim(name, letters) != "":
			return nil, fmt.Errorf("-words: %q, expected a word of ASCII letters or the name of a list", name)
		default:
			all = append(all, name)
		}
	}
	var list []string
	for _, w := range all {
		if !out[strings.ToLower(w)] {
			out[strings.ToLower(w)] = true
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("-words: -without excludes every word, expected at least 1 word")
	}
	return list, nil
}

// moods are punctuation marks that change the melody of a word.
var moods = []string{"", ".", "?", "!", ","}

// words writes clips of each word of a list in random voices.
func words(ctx context.Context, o options, w io.Writer) error {
	if err := o.findVoices(ctx); err != nil {
		return err
	}
	list, err := o.wordList(ctx)
	if err != nil {
		return err
	}
	err = o.parallel(ctx, len(list)*o.clips, func(ctx context.Context, i int) error {
		word, clip := list[i/o.clips], i%o.clips
		d := o.dice(ofWord, i)
		v := o.voice(d, 90, 240)
		mood := moods[d.below(len(moods))]
		path := filepath.Join(o.out, word, fmt.Sprintf("%s_nohash_%d.wav", v.name(), clip))
		return o.make(path, func() ([]float32, error) { return v.speak(ctx, word+mood, o.rate) })
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d words, %d clips of each in %s\n", len(list), o.clips, o.out)
	return err
}

// make writes the result of sound to a WAV file, unless the file exists.
func (o options) make(path string, sound func() ([]float32, error)) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	x, err := sound()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return audio.WriteWAVFile(path, o.rate, x)
}
