package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// maxText is the largest number of bytes of text. The rest is ignored.
const maxText = 64 << 20

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// readText returns the texts of -text, one per file.
func (o options) readText(ctx context.Context) (texts []string, err error) {
	left := int64(maxText)
	add := func(name string, r io.Reader) error {
		if !strings.Contains(filepath.ToSlash(name), o.match) || left <= 0 {
			return nil
		}
		b, err := io.ReadAll(io.LimitReader(r, left))
		left -= int64(len(b))
		texts = append(texts, string(b))
		return err
	}
	info, err := os.Stat(o.text)
	switch {
	case o.text == "":
		return nil, errors.New("-text is required")
	case err != nil:
		return nil, err
	case info.IsDir():
		err = filepath.WalkDir(o.text, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".txt" {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			return add(path, f)
		})
	default:
		err = o.readFile(ctx, add)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.text, err)
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s contains no .txt file whose path contains %q", o.text, o.match)
	}
	return texts, nil
}

// readFile passes a text file, or the .txt files of an archive, to add.
func (o options) readFile(ctx context.Context, add func(string, io.Reader) error) error {
	f, err := os.Open(o.text)
	if err != nil {
		return err
	}
	defer f.Close()
	switch name := strings.ToLower(o.text); {
	case strings.HasSuffix(name, ".tar"):
		return readTar(f, add)
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		r, err := gzip.NewReader(f)
		if err != nil {
			return err
		}
		return readTar(r, add)
	case strings.HasSuffix(name, ".tar.xz"), strings.HasSuffix(name, ".txz"):
		cmd := exec.CommandContext(ctx, "xz", "--decompress", "--stdout")
		var stderr strings.Builder
		cmd.Stdin, cmd.Stderr = f, &stderr
		r, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("xz reads .tar.xz files: %w", err)
		}
		if err = readTar(r, add); err == nil {
			_, err = io.Copy(io.Discard, r) // the padding
		}
		r.Close()
		if e := cmd.Wait(); e != nil {
			return cmp.Or(err, fmt.Errorf("xz: %w: %s", e, strings.TrimSpace(stderr.String())))
		}
		return err
	default:
		return add(o.text, f)
	}
}

func readTar(r io.Reader, add func(string, io.Reader) error) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || filepath.Ext(h.Name) != ".txt" {
			continue
		}
		if err := add(h.Name, t); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

var (
	tags     = regexp.MustCompile(`<[^<>]{0,100}>`)
	sentence = regexp.MustCompile(`[^.!?]+[.!?]+["')]*`)
	plain    = regexp.MustCompile(`^[A-Za-z ,;:'"()-]+[.!?]+["')]*$`)
	notWord  = regexp.MustCompile(`[^A-Za-z]+`)
	roman    = regexp.MustCompile(`^([IVX]{2,}|[VX])$`)
	quotes   = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "–", "-", "—", " - ", "\n", " ", "\t", " ", "\r", " ")
)

// marks are the punctuation marks of a plain sentence.
const marks = ` .,;:!?'"()-`

// The shortest and longest sentence, in words.
const (
	shortest = 4
	longest  = 40
)

// splitText returns the sentences of a text that contain none of the words in without, and no
// digits, Roman numerals or symbols, because these are spoken as other words. Upper and lower case
// are the same, and only whole words count.
func splitText(text string, without map[string]bool) (list []string) {
	text = quotes.Replace(tags.ReplaceAllString(text, " . "))
	for _, s := range sentence.FindAllString(text, -1) {
		s = strings.TrimLeft(strings.Join(strings.Fields(s), " "), " ,;:-")
		if !plain.MatchString(s) {
			continue
		}
		words := notWord.Split(strings.Trim(s, marks), -1)
		if len(words) < shortest || len(words) > longest {
			continue
		}
		if !slices.ContainsFunc(words, func(w string) bool { return roman.MatchString(w) || without[strings.ToLower(w)] }) {
			list = append(list, s)
		}
	}
	return list
}

// spelled matches a word with its apostrophes.
var spelled = regexp.MustCompile(`[A-Za-z']+`)

// frequent returns the n most frequent words of at least three letters, without those of a set.
func frequent(texts []string, n int, without map[string]bool) []string {
	count := map[string]int{}
	for _, t := range texts {
		for _, w := range spelled.FindAllString(quotes.Replace(tags.ReplaceAllString(t, " ")), -1) {
			if w = strings.ToLower(w); len(w) >= 3 && !strings.Contains(w, "'") && !without[w] {
				count[w]++
			}
		}
	}
	list := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b))
	})
	return list[:min(n, len(list))]
}
