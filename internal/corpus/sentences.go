package corpus

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/par"
)

// fileSeconds is the shortest length of a file of sentences.
const fileSeconds = 60

// Sentences speaks sentences of a text file, or of the .txt files of a folder: Out/VOICE/N.wav,
// each about a minute long and in one voice. Sentences that contain one of the words in without are
// left out. No sentence is spoken twice.
func Sentences(ctx context.Context, o Options, text string, without []string, minutes float64) error {
	if err := installed(); err != nil {
		return err
	}
	pool, err := readSentences(text, without)
	if err != nil {
		return err
	}
	order := o.draws("order", 0).Stream.Perm(len(pool))
	files := int(math.Ceil(minutes * 60 / fileSeconds))
	return par.Each(ctx, 0, files, func(ctx context.Context, i int) error {
		s := o.draws("sentences", i)
		v := o.voice(s, 120, 210)
		return o.write(func() (x []float32, err error) {
			speed := float64(v.speed)
			for k := i; len(x) < fileSeconds*rate; k += files {
				if k >= len(order) {
					return nil, fmt.Errorf("%s: %d sentences, expected more for %v minutes", text, len(pool), minutes)
				}
				v.speed = int(speed * s.Between(0.9, 1.1))
				said, err := v.speak(ctx, pool[order[k]])
				if err != nil {
					return nil, err
				}
				x = append(append(x, said...), make([]float32, int(s.Between(0.1, 0.8)*rate))...)
			}
			return x, nil
		}, v.name(), fmt.Sprintf("%d.wav", i))
	})
}

// readSentences returns the sentences of the .txt files under path, or of the file path.
func readSentences(path string, without []string) (list []string, err error) {
	left := map[string]bool{}
	for _, w := range without {
		left[strings.ToLower(w)] = true
	}
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name != path && filepath.Ext(name) != ".txt" {
			return err
		}
		text, err := os.ReadFile(name)
		list = append(list, splitText(string(text), left)...)
		return err
	})
	return list, err
}

var (
	tags     = regexp.MustCompile(`<[^<>]{0,100}>`)
	sentence = regexp.MustCompile(`[^.!?]+[.!?]+["')]*`)
	plain    = regexp.MustCompile(`^[A-Za-z ,;:'"()-]+[.!?]+["')]*$`)
	notWord  = regexp.MustCompile(`[^A-Za-z]+`)
	roman    = regexp.MustCompile(`^([IVX]{2,}|[VX])$`)
	quotes   = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "–", "-", "—", " - ", "\n", " ", "\t", " ", "\r", " ")
)

// splitText returns the sentences of a text that have 4 to 40 words, none of them in without, and
// no digits, Roman numerals or symbols, because these are spoken as other words. Upper and lower
// case are the same, and only whole words count.
func splitText(text string, without map[string]bool) (list []string) {
	text = quotes.Replace(tags.ReplaceAllString(text, " . "))
	for _, s := range sentence.FindAllString(text, -1) {
		s = strings.TrimLeft(strings.Join(strings.Fields(s), " "), " ,;:-")
		if !plain.MatchString(s) {
			continue
		}
		words := notWord.Split(strings.Trim(s, ` .,;:!?'"()-`), -1)
		if len(words) < 4 || len(words) > 40 {
			continue
		}
		if !slices.ContainsFunc(words, func(w string) bool { return roman.MatchString(w) || without[strings.ToLower(w)] }) {
			list = append(list, s)
		}
	}
	return list
}
