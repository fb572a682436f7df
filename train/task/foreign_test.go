package task

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// endless is a reader that repeats a text forever.
type endless string

func repeat(text string) endless { return endless(strings.Repeat(text, 1<<12)) }

func (e endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// Lines without an end, rows with as many fields as a line can hold, and sizes that a header
// announces cost no more memory than docs/reliability.md states.
func TestReaderBounds(t *testing.T) {
	listOps := func(r io.Reader) error { _, _, err := parseListOps(r); return err }
	retrieval := func(r io.Reader) error {
		_, err := (&paperSet{index: map[string]int{}}).parse(r, func(string) error { return nil })
		return err
	}
	pathfinder := func(r io.Reader) error { return (&pathfinderFiles{}).parse("level", r) }
	ts := func(r io.Reader) error { _, err := parseTS(r); return err }
	review := func(r io.Reader) error { _, err := firstOf(r, textMax); return err }
	idx := func(r io.Reader) error { _, err := parseIDX(r, 3); return err }
	lines := func(head string, row endless, n int64) io.Reader {
		return io.MultiReader(strings.NewReader(head), io.LimitReader(row, n), strings.NewReader("\n"))
	}
	for _, c := range []struct {
		name string
		read func(io.Reader) error
		in   io.Reader
		most int
		want string // part of the error; "": none
	}{
		{"a ListOps line without an end", listOps, repeat("1 "), 4 * listOpsLine, "line 1: longer than 1048576 bytes"},
		{"a ListOps line of 2¹⁹ symbols", listOps, lines("Source\tTarget\n", repeat("1 "), listOpsLine-100), 16 * listOpsLine, "line 2: expected an expression"},
		{"a ListOps row of 2¹⁸ symbols", listOps, io.MultiReader(lines("Source\tTarget\n", repeat("1 "), listOpsLine/2), strings.NewReader("\t1\n")), 16 * listOpsLine, "line 2: expected an expression"},
		{"a pair of papers without an end", retrieval, repeat("a"), 4 * longestPair, "line 1: longer than 16777216 bytes"},
		{"2²⁴ tabs for a pair of papers", retrieval, lines("", repeat("\t"), longestPair-100), 5 * longestPair, "line 1: 16777117 fields"},
		{"papers of 2²² bytes", retrieval, lines("0\ta\tb\tx\t", repeat("a"), longestPair/4), 2 * longestPair, ""},
		{"a Pathfinder line without an end", pathfinder, repeat("a "), 1 << 19, "line 1: longer than 65536 bytes"},
		{"2¹⁵ columns of Pathfinder", pathfinder, lines("", repeat("a "), 1<<16-100), 1 << 20, `line 1: label "a"`},
		{"a .ts line without an end", ts, repeat("# "), 4 * tsLine, "line 1: longer than 67108864 bytes"},
		{"2²² colons in a .ts file", ts, lines(tsNumbers, ":", 1<<22), 6 << 22, "line 4: 4194304 channels, expected at most 65536"},
		{"2²² fields in the header of a .ts file", ts, lines("", repeat("@classLabel "), 1<<22), 6 << 22, "line 1: 4194304 bytes before @data, expected at most 1048576"},
		{"2²¹ values of a series", ts, io.MultiReader(strings.NewReader(tsNumbers), io.LimitReader(repeat("1,"), 1<<22), strings.NewReader("1:1\n")), 8 << 22, ""},
		{"a name of 2²⁰ bytes", func(r io.Reader) error { _, err := parseFSDD(string(must.Get(io.ReadAll(r))(t))); return err }, io.LimitReader(repeat("0_"), 1<<20), 32 << 20, "expected {digit}"},
		{"a review without an end", review, repeat("ä"), 1 << 18, ""},
		{"2⁹⁶ pixels of an IDX file", idx, bytes.NewReader(idxFile([]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1}, nil)), 1 << 16, "sizes [4294967295], expected 1 to 268435456 bytes"},
		{"2²⁸ pixels that an IDX file lacks", idx, bytes.NewReader(idxFile([]uint32{1 << 8, 1 << 10, 1 << 10}, make([]byte, 100))), 1 << 16, "sizes [256 1024 1024]: 100 bytes of data, expected 268435456"},
		{"an IDX file without an end", idx, io.MultiReader(bytes.NewReader(idxFile([]uint32{9, 28, 28}, nil)), repeat("a")), 1 << 16, "sizes [9 28 28]: more than 7056 bytes of data"},
	} {
		var err error
		must.Allocates(t, c.most, func() { err = c.read(c.in) }, "%s", c.name)
		if c.want == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, c.want)
		}
	}
}

// More symbols than tokens of 16 bits can number are an error. Other symbols would get their
// tokens.
func TestVocabularyIsBounded(t *testing.T) {
	counts := map[rune]int{}
	for c := range rune(1<<16 - tokensReserved) {
		counts[c] = 1
	}
	v := must.Get(newVocabulary(counts, 1))(t)
	must.Equal(t, v.size(), 1<<16, "tokens")
	must.Equal(t, v.encode(nil, 1<<16-tokensReserved-1)[0], 1<<16-1, "token of the last symbol")
	counts[1<<16] = 1
	must.Reject(newVocabulary(counts, 1))(t, "the training set has 65534 symbols, expected at most 65533")
	must.Equal(t, must.Get(newVocabulary(counts, 2))(t).size(), tokensReserved, "tokens of frequent symbols")
}

// What is accepted has one label and 3·1024 pixels per image, and is the file in another order.
func FuzzCIFAR(f *testing.F) {
	const perImage = 1 + 3*1024
	image := make([]byte, perImage)
	for i := range image {
		image[i] = byte(i * 7)
	}
	image[0] = 9
	f.Add(image, true)
	f.Add([]byte{10, 1, 2}, true)
	f.Add([]byte{3, 1, 2}, false)
	f.Add(append(image, 4), true)
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		if rest := len(data) % perImage; whole && rest > 0 {
			data = append(data, make([]byte, perImage-rest)...)
		}
		r := rawImages{channels: 3}
		var err error
		must.Allocates(t, 2*len(data)+1<<16, func() { err = r.addCIFAR(data) }, "%d bytes", len(data))
		if err != nil {
			return
		}
		var again []byte
		for i, label := range r.labels {
			if again = append(again, label); label > 9 {
				t.Fatalf("image %d: label %d", i, label)
			}
			for c := range 3 {
				for at := range 1024 {
					again = append(again, r.pixels[3*(1024*i+at)+c])
				}
			}
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%d images differ from the %d bytes of the file", len(r.labels), len(data))
		}
	})
}

// A review is truncated to its first characters, and its tokens are those of its characters.
func FuzzText(f *testing.F) {
	f.Add("A fine film. <br /><br />It's naïve, 10/10 \U0001f600", uint16(textMax))
	f.Add("äöüß", uint16(3))
	f.Add("a\xffb\xe2\x82", uint16(3))
	f.Add(strings.Repeat("ab", 40), uint16(17))
	f.Fuzz(func(t *testing.T, text string, n uint16) {
		var first string
		var err error
		read := min(len(text), utf8.UTFMax*int(n))
		must.Allocates(t, 16*read+1<<16, func() { first, err = firstOf(strings.NewReader(text), int(n)) }, "%d of %d bytes", read, len(text))
		must.Do(t, err)
		want := []rune(text)
		want = want[:min(len(want), int(n))]
		if !strings.HasPrefix(text, first) || !slices.Equal([]rune(first), want) {
			t.Fatalf("the first %d characters of %q are %q", n, text, first)
		}
		counts := map[rune]int{}
		for _, c := range first {
			counts[c]++
		}
		v := must.Get(newVocabulary(counts, 2))(t)
		symbols := make([]rune, v.size())
		for c, token := range v {
			symbols[token] = c
		}
		tokens := encodeTexts([]string{first}, v, int(n))[0]
		must.Equal(t, len(tokens), len(want)+1, "tokens")
		must.Equal(t, tokens[len(want)], tokenEnd, "last token")
		for i, c := range want {
			if tokens[i] == tokenUnknown && counts[c] < 2 {
				continue
			}
			must.Equal(t, symbols[tokens[i]], c, "character of token %d", i)
		}
	})
}

// Pairs that are accepted are the same after they were written and read again, and each paper is
// stored once.
func FuzzRetrieval(f *testing.F) {
	f.Add("0.0\tA\tB\tThe first paper\tanother\n1\tA\tC\tThe first paper\tétude\r\n")
	f.Add("1.0\t\t\t\t\n0\tx")
	f.Add("2\ta\tb\tc\td\n")
	f.Add("0\ta\tb\t" + strings.Repeat("é", retrievalMax+1) + "\t\xff\r\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		parse := func(text string) (*paperSet, *paperPairs, error) {
			s := &paperSet{index: map[string]int{}}
			p, err := s.parse(strings.NewReader(text), func(string) error { return nil })
			return s, p, err
		}
		var s *paperSet
		var p *paperPairs
		var err error
		must.Allocates(t, 64*len(text)+1<<16, func() { s, p, err = parse(text) }, "%d bytes", len(text))
		if err != nil {
			return
		}
		if len(s.index) != len(s.texts) {
			t.Errorf("%d papers, %d are different", len(s.texts), len(s.index))
		}
		var again strings.Builder
		for i, label := range p.labels {
			fmt.Fprintf(&again, "%d\t\t\t%s\t%s\r\n", label, s.texts[p.first[i]], s.texts[p.second[i]])
		}
		s2, p2, err := parse(again.String())
		must.Do(t, err)
		if !reflect.DeepEqual(s2, s) || !reflect.DeepEqual(p2, p) {
			t.Errorf("%+v %+v are read again as %+v %+v", s, p, s2, p2)
		}
	})
}

// Expressions that are accepted are the same after they were written and read again.
func FuzzListOps(f *testing.F) {
	f.Add("Source\tTarget\n( ( ( [MAX 2 ) 2 ) ] )\t2\r\n3\t3")
	f.Add("Source\tTarget\n\t9\n1\t10\n")
	f.Add("Source\tTarget\n" + strings.Repeat("1 ", listOpsMax+1) + "\t1\n")
	f.Fuzz(func(t *testing.T, text string) {
		var lines [][]string
		var labels []int
		var err error
		must.Allocates(t, 128*len(text)+1<<16, func() { lines, labels, err = parseListOps(strings.NewReader(text)) }, "%d bytes", len(text))
		if err != nil {
			return
		}
		again := "Source\tTarget\n"
		for i, symbols := range lines {
			if again += fmt.Sprintf("%s\t%d\n", strings.Join(symbols, " "), labels[i]); len(symbols) > listOpsMax || labels[i] < 0 || labels[i] > 9 {
				t.Fatalf("%d symbols with the value %d", len(symbols), labels[i])
			}
		}
		lines2, labels2, err := parseListOps(strings.NewReader(again))
		must.Do(t, err)
		if !slices.EqualFunc(lines2, lines, slices.Equal) || !slices.Equal(labels2, labels) {
			t.Errorf("%q is read as %q with the values %d, that as %q with %d", text, lines, labels, lines2, labels2)
		}
	})
}

// The images of a list that is accepted are in its folder, and are the same after the list was
// written and read again.
func FuzzPathfinderList(f *testing.F) {
	f.Add("imgs/0 sample_0.png 0 1 2 1.8 6 0.25 4\nimgs/0 sample_1.png 1 0\n")
	f.Add("../x a.png 0 1\n")
	f.Add("a/../b .. 0 1\r\n")
	f.Add(". . . 1")
	f.Fuzz(func(t *testing.T, text string) {
		const level = "level"
		var p pathfinderFiles
		var err error
		must.Allocates(t, 64*len(text)+1<<17, func() { err = p.parse(level, strings.NewReader(text)) }, "%d bytes", len(text))
		if err != nil {
			return
		}
		var again strings.Builder
		for i, path := range p.paths {
			inner, err := filepath.Rel(level, path)
			if err != nil || !filepath.IsLocal(inner) || p.labels[i] > 1 {
				t.Fatalf("image %q with the label %d, %v", path, p.labels[i], err)
			}
			fmt.Fprintln(&again, filepath.ToSlash(filepath.Dir(inner)), filepath.Base(inner), 0, p.labels[i])
		}
		var p2 pathfinderFiles
		must.Do(t, p2.parse(level, strings.NewReader(again.String())))
		if !reflect.DeepEqual(p2, p) {
			t.Errorf("%+v is read again as %+v", p, p2)
		}
	})
}
