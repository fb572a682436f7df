package task

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func TestEvaluateListOps(t *testing.T) {
	for expression, want := range map[string]int{
		"7": 7, "[MAX 2 9 [MIN 4 7 ] 0 ]": 9, "[SM 6 5 9 0 ]": 0, "[MED 1 4 ]": 2, "[MED 9 1 5 ]": 5, "[FIRST 3 8 ]": 3, "[LAST 3 8 ]": 8,
		"( ( ( [SM ( ( ( [MIN 3 ) 2 ) ] ) ) 9 ) ] )": 1,
	} {
		if got, err := EvaluateListOps(expression); err != nil || got != want {
			t.Errorf("%s = %d, %v; expected %d", expression, got, err, want)
		}
	}
	for expression, want := range map[string]string{
		"": "is truncated", "[MAX 1 2": "not closed", "[MAX ]": "no arguments", "[AVG 1 2 ]": `"[AVG"`, "12": `"12"`, "1 2": `"2" after the end`, "[MAX 1 [ ]": `"["`,
	} {
		if _, err := EvaluateListOps(expression); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, expected one with %q", expression, err, want)
		}
	}
}

// Long lines do not stay in memory with their symbols, and the different symbols are bounded.
func TestListOpsMemory(t *testing.T) {
	line := "1 " + strings.Repeat(" ", listOpsLine-100) + "2\t1\n"
	in := []io.Reader{strings.NewReader("Source\tTarget\n")}
	for range 100 {
		in = append(in, strings.NewReader(line))
	}
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	parsed, _, err := parseListOps(io.MultiReader(in...))
	must.Do(t, err)
	if kept := live() - before; kept > 1<<16 {
		t.Errorf("%d lines keep %d bytes", len(parsed), kept)
	}
	must.Equal(t, strings.Join(parsed[99], " "), "1 2", "symbols of the last line")
	runtime.KeepAlive(line) // as before

	text := bytes.NewBufferString("Source\tTarget\n")
	for i := range maxVocabulary + 1 {
		fmt.Fprintf(text, "%d\t1\n", i)
	}
	_, _, err = parseListOps(text)
	must.Fail(t, err, "line 65535: more than 65533 different symbols")
}

// EvaluateListOps agrees with the value in every published line.
func TestRealListOps(t *testing.T) {
	dir := realData(t, "listops")
	files, err := filepath.Glob(filepath.Join(dir, "*.tsv"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	n := 0
	for _, path := range files {
		f := must.Get(os.Open(path))(t)
		in := bufio.NewScanner(f)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			label, tree, _ := strings.Cut(in.Text(), "\t")
			if got, err := EvaluateListOps(tree); err != nil || strconv.Itoa(got) != label {
				t.Fatalf("%s: %s = %d, %v; expected %s", path, tree, got, err, label)
			}
			n++
		}
		f.Close()
	}
	t.Logf("%d expressions", n)
}

// Generated expressions have the lengths, the operators and the notation of LRA's, and the right
// values. Each occurs once. The same seed generates the same expressions.
func TestWriteListOps(t *testing.T) {
	const n = 60
	dir := t.TempDir()
	var again [2]bytes.Buffer
	for i := range again {
		must.Do(t, writeListOps(t.Context(), &again[i], n, 5, 0))
	}
	if !bytes.Equal(again[0].Bytes(), again[1].Bytes()) {
		t.Error("the same seed made other expressions")
	}
	write(t, filepath.Join(dir, "basic_train.tsv"), again[0].Bytes())
	var other bytes.Buffer
	must.Do(t, writeListOps(t.Context(), &other, 10, 5, 1))
	if bytes.Contains(again[0].Bytes(), bytes.Split(other.Bytes(), []byte("\n"))[1]) {
		t.Error("two parts share an expression")
	}
	write(t, filepath.Join(dir, "basic_val.tsv"), other.Bytes())

	lines, labels, err := readListOps(filepath.Join(dir, "basic_train.tsv"))
	if err != nil || len(lines) != n {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	seen, used, digits := map[string]bool{}, map[string]int{}, map[int]int{}
	for i, symbols := range lines {
		length := 0
		for _, s := range symbols {
			used[s]++
			if s != "X" { // which is the second of an operator's two
				length++
			}
		}
		length += used["X"] - used["counted"]
		used["counted"] = used["X"]
		if length <= listOpsAbove || length >= listOpsBelow {
			t.Errorf("an expression of length %d", length)
		}
		text := strings.Join(symbols, " ")
		if seen[text] {
			t.Error("an expression twice")
		}
		seen[text] = true
		digits[labels[i]]++
		if got, err := EvaluateListOps(strings.ReplaceAll(text, "X", "]")); err != nil || got != labels[i] {
			t.Errorf("value %d, %v; expected %d", got, err, labels[i])
		}
	}
	delete(used, "counted")
	if len(used) != 15 || len(digits) < 5 { // four operators, the bracket, ten digits
		t.Errorf("symbols %v, values %v", used, digits)
	}

	d := mustLoad(t, "listops", Options{Dir: dir})
	if d.Train.Len() != n || d.Val.Len() != 10 || d.Test != nil || d.Vocab != 18 || d.Channels != 0 || d.Outputs != 10 || d.MaxLen > 2048 {
		t.Fatalf("%d, %d examples, test %v; %+v", d.Train.Len(), d.Val.Len(), d.Test, d.Info)
	}
	var e dataset.Example
	mustExample(t, d.Train, &e, 3, 0)
	must.Equal(t, e.Len, min(len(lines[3]), 2047)+1, "tokens of example 3, of %d symbols", len(lines[3]))
	must.Equal(t, e.Tokens[e.Len-1], tokenEnd, "last token of example 3")
	must.Equal(t, e.Label, labels[3], "label of example 3")
	if largest := slices.Max(e.Tokens); largest >= 18 {
		t.Errorf("example 3: largest token %d, expected at most 17", largest)
	}
}

// A command can be repeated in its folder, also after an interruption. Another command is rejected.
func TestWriteListOpsAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	noProgress := func(string, int) {}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	whole := func(path string, n int) { cancel(reason) } // after the first file
	if err := WriteListOps(ctx, dir, 3, 2, 1, whole); !errors.Is(err, reason) {
		t.Errorf("error %v, expected %v", err, reason)
	}
	files, err := filepath.Glob(filepath.Join(dir, "basic_*"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "basic_train.tsv" {
		t.Errorf("an interruption leaves %v, %v", files, err)
	}
	for range 2 {
		if err := WriteListOps(t.Context(), dir, 3, 2, 1, noProgress); err != nil {
			t.Error(err)
		}
	}
	before := mustRead(t, filepath.Join(dir, "basic_train.tsv"))
	other := t.TempDir()
	write(t, filepath.Join(other, "basic_val.tsv"), nil)
	for want, err := range map[string]error{
		"with the data of `s4d-fast data listops --n 3 --eval 2 --seed 1`": WriteListOps(t.Context(), dir, 3, 2, 2, noProgress),
		filepath.Join(other, "basic_val.tsv"):                              WriteListOps(t.Context(), other, 3, 2, 1, noProgress),
	} {
		must.Fail(t, err, os.ErrExist, want)
	}
	if !bytes.Equal(before, mustRead(t, filepath.Join(dir, "basic_train.tsv"))) {
		t.Error("an error was returned, but the file has changed")
	}
	if err := WriteListOps(t.Context(), t.TempDir(), 0, 2, 1, noProgress); err == nil {
		t.Error("no expressions: no error")
	}
}

func TestListOpsVocabulary(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "basic_train.tsv"), []byte("Source\tTarget\n( ( ( [MAX 2 ) 2 ) ] )\t2\n3\t3\n"))
	write(t, filepath.Join(dir, "basic_test.tsv"), []byte("Source\tTarget\n( ( ( [MIN 3 ) 2 ) ] )\t2\n"))
	d := mustLoad(t, "listops", Options{Dir: dir})
	var e dataset.Example
	mustExample(t, d.Train, &e, 0, 0) // 2 occurs twice; of the others 3 < X < [MAX
	if want := []int32{6, 3, 3, 5, 2}; !slices.Equal(e.Tokens, want) {
		t.Errorf("tokens %v, expected %v", e.Tokens, want)
	}
	mustExample(t, d.Test, &e, 0, 0)
	if want := []int32{1, 4, 3, 5, 2}; !slices.Equal(e.Tokens, want) {
		t.Errorf("tokens of a test expression %v, expected %v", e.Tokens, want)
	}
	mustFail(t, "no training file", "listops", Options{Dir: filepath.Dir(dir)}, "basic_train.tsv", "long-range-arena")
	write(t, filepath.Join(dir, "basic_val.tsv"), []byte("Source\tTarget\n[MAX 1 2 ]\tten\n"))
	mustFail(t, "no digit", "listops", Options{Dir: dir}, "basic_val.tsv: line 2")
	write(t, filepath.Join(dir, "basic_val.tsv"), []byte("Source\tTarget\n"))
	mustFail(t, "a header alone", "listops", Options{Dir: dir}, "basic_val.tsv contains no expressions")
	write(t, filepath.Join(dir, "basic_val.tsv"), []byte("[MAX 1 2 ]\t2\n[MIN 1 2 ]\t1\n"))
	mustFail(t, "no header", "listops", Options{Dir: dir}, "basic_val.tsv: line 1: expected the header")
	write(t, filepath.Join(dir, "basic_val.tsv"), []byte("Source\tTarget\n3\t3\n"+strings.Repeat("( ", 1<<19)+"3\t3\n"))
	mustFail(t, "a long line", "listops", Options{Dir: dir}, "basic_val.tsv: line 3: longer than 1048576 bytes")
}

func FuzzEvaluateListOps(f *testing.F) {
	f.Add("[MAX 2 9 [MIN 4 7 ] 0 ]")
	f.Add("( ( [SM ) ]")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := EvaluateListOps(text); err == nil && (v < 0 || v > 9) {
			t.Errorf("%q = %d", text, v)
		}
	})
}
