package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// read returns the columns and the rows of a text, up to the first error.
func read(text string, opt Options) (t *Reader, rows [][]string, err error) {
	opt.Name = "in"
	if t, err = New(strings.NewReader(text), opt); err != nil {
		return nil, nil, err
	}
	for {
		if err := t.Next(); err != nil {
			return t, rows, err
		}
		row := make([]string, len(t.Columns()))
		for i := range row {
			row[i] = t.Text(i)
		}
		rows = append(rows, row)
	}
}

func TestRead(t *testing.T) {
	for _, test := range []struct {
		name, format, text, columns, rows string
		named                             bool
	}{
		{"commas", "csv", "time,temp\n1,20.5\n2,21\n", "[time temp]", "[[1 20.5] [2 21]]", true},
		{"no line break at the end", "csv", "a,b\n1,2", "[a b]", "[[1 2]]", true},
		{"semicolons, CRLF, BOM", "csv", "\ufeffa;b,c\r\n1;2,5\r\n", "[a b,c]", "[[1 2,5]]", true},
		{"tabs and a row of missing values", "csv", "a\tb\n\t\n1\t2\n", "[a b]", "[[ ] [1 2]]", true},
		{"a separator in quotes", "csv", "\"a;b\",c\n1,2\n", "[a;b c]", "[[1 2]]", true},
		{"a line break in quotes", "csv", "a,b\n\"x\r\n\n y\",1\n2,3\n", "[a b]", "[[x\n\n y 1] [2 3]]", true},
		{"a quotation mark within a cell", "csv", "a,b\n5\",1\n", "[a b]", "[[5\" 1]]", true},
		{"quotes", "csv", `id,"the ""x"""` + "\n" + ` "a, b" , 1.5 ` + "\n", `[id the "x"]`, "[[a, b 1.5]]", true},
		{"blank lines", "csv", "\n\na\n\n1\n  \n2\n\n", "[a]", "[[1] [2]]", true},
		{"names of digits and underscores", "csv", "1_1,1_2\n3,4\n", "[1_1 1_2]", "[[3 4]]", true},
		{"no header", "csv", "1,2\n3,4\n", "[1 2]", "[[1 2] [3 4]]", false},
		{"numbers as names", "csv", "temp,2024\n3,4\n", "[temp 2024]", "[[3 4]]", true},
		{"a column without a name", "csv", ",a\n1,2\n", "[1 a]", "[[1 2]]", true},
		{"header alone", "csv", "a,b\n", "[a b]", "[]", true},
		{"objects", "jsonl", `{"a":1,"b":"x","c":null}` + "\n" + ` {"c":2.5e3,"d":7,"a":true}` + "\n", "[a b c]", "[[1 x ] [true  2.5e3]]", true},
		{"nested values", "jsonl", `{"a":{"b":[1,{"c":2}]},"d":[],"e":3}` + "\n", "[a d e]", `[[{"b":[1,{"c":2}]} [] 3]]`, true},
		{"arrays", "jsonl", "[1,2]\n\n[3]\n[]\n", "[1 2]", "[[1 2] [3 ] [ ]]", false},
	} {
		got, rows, err := read(test.text, Options{Format: Format(test.format), Columns: []string{"temp"}})
		if !errors.Is(err, io.EOF) || got == nil {
			t.Errorf("%s: error %v, expected io.EOF", test.name, err)
			continue
		}
		must.Equal(t, fmt.Sprint(got.Columns()), test.columns, "%s: columns", test.name)
		must.Equal(t, fmt.Sprint(rows), test.rows, "%s: rows", test.name)
		must.Equal(t, got.Named, test.named, "%s: named", test.name)
		must.Equal(t, got.Ended, strings.HasSuffix(test.text, "\n"), "%s: ended", test.name)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ format, text, want string }{
		{"csv", "", "EOF"},
		{"csv", "a,b\n1\n", "in:2: 1 cells, expected 2 as in the first line"},
		{"csv", "a,b\n\n1,2\n1,2,3\n", "in:4: 3 cells, expected 2 as in the first line"},
		{"csv", "a,\"b\n1,2\n", "in:1: cell 2: the quotation mark is not closed within 100 lines"},
		{"csv", "a,b\n\"1\"x,2\n", `in:2: cell 1: "x" after the closing quotation mark, expected ","`},
		{"jsonl", "{\"a\":1}\n[1]\n", `in:2: "[1]", expected a JSON object as in the first line`},
		{"jsonl", "[1]\n[1,2]\n", "in:2: more than 1 values, expected as many as in the first line"},
		{"jsonl", "{\"a\":1}\n{\"a\":1,\"a\":2}\n", `in:2: column "a" occurs twice`},
		{"jsonl", "3\n", `in:1: "3", expected a JSON array or, in every line, an object`},
		{"jsonl", "{\"a\":1\n", "in:1: not JSON: unexpected EOF"},
		{"jsonl", "{\"a\":1}\n\n{\"a\":1,\"b\":2}\n", `in:3: the first object has no key "b"; expected all columns in the first object`},
	} {
		_, _, err := read(test.text, Options{Format: Format(test.format), Others: true})
		must.Fail(t, err, test.want)
	}
	_, rows, err := read("{\"a\":1}\n{\"a\":1,\"x\":2}\n{\"b\":2}\n", Options{Format: JSONL, Columns: []string{"a", "b"}})
	must.Equal(t, len(rows), 2, "rows before the column that the first object lacks")
	must.Fail(t, err, `in:3: the first object has no key "b"`)
	broken := errors.New("unplugged")
	r := must.Get(New(io.MultiReader(strings.NewReader("a\n1\n2"), iotest.ErrReader(broken)), Options{Name: "in"}))(t)
	must.Do(t, r.Next())
	must.Fail(t, r.Next(), broken, "in:3: unplugged")
}

func TestFind(t *testing.T) {
	r := must.Get(New(strings.NewReader("temp,Pressure\n1,2\n"), Options{Name: "in"}))(t)
	must.Equal(t, must.Get(r.Find("Pressure"))(t), 1, "index of Pressure")
	must.Reject(r.Find("pressure"))(t, `no column "pressure"; the columns are ["temp" "Pressure"]; did you mean "Pressure"?`)
}

func TestNumber(t *testing.T) {
	for cell, want := range map[string]any{
		"1": 1.0, " -2.5e-3 ": -2.5e-3, "0.1": 0.1,
		"": math.NaN(), "NaN": math.NaN(), "na": math.NaN(), "N/A": math.NaN(), "null": math.NaN(), "None": math.NaN(), "?": math.NaN(),
		"x": `column "a": "x" is not a number; --missing-values="x" reads it as missing`, "On": 1.0, "no": 0.0, "T": 1.0, "F": 0.0, "1,5": 1.5,
		"1_000": `"1_000" is not a number`, "0x1p3": `"0x1p3" is not a number`, "-0X8P1": `"-0X8P1" is not a number`,
		"1e39": `"1e39" is infinite or too large, expected a number below 3.4e38`,
	} {
		r := must.Get(New(strings.NewReader("a;b\n"+cell+";0\n"), Options{Name: "in"}))(t)
		must.Do(t, r.Next())
		v, err := r.Number(0)
		switch want := want.(type) {
		case string:
			must.Fail(t, err, want)
		case float64:
			if must.Do(t, err); math.Float32bits(float32(v)) != math.Float32bits(float32(want)) && !(v != v && math.IsNaN(want)) {
				t.Errorf("%q: %v, expected %v", cell, v, want)
			}
		}
	}
}

// repeated is an endless input of one byte.
type repeated byte

func (r repeated) Read(b []byte) (int, error) {
	b[0] = byte(r)
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
	return len(b), nil
}

// Rows as wide, as long and as deep as a line can be cost no more memory than docs/reliability.md
// states.
func TestReaderBounds(t *testing.T) {
	columns := func(n int) io.Reader { return strings.NewReader("a" + strings.Repeat(",a", n-1) + "\n") }
	for _, c := range []struct {
		format Format
		in     io.Reader
		most   int
		want   string
	}{
		{CSV, repeated(','), 512, "in:1: a row of more than 64 MiB"},
		{JSONL, repeated(' '), 512, "in:1: a row of more than 64 MiB"},
		{CSV, columns(1 << 22), 192, "more than 1048576 columns"},
		{CSV, columns(1 << 16), 64, "twice"},
		{CSV, strings.NewReader("a\n\"" + strings.Repeat("\"\"", 1<<19) + "\"\n"), 64, "EOF"},
		{JSONL, strings.NewReader("[" + strings.Repeat("1,", 1<<20) + "1]\n"), 256, "more than 1048576 columns"},
		{JSONL, strings.NewReader(strings.Repeat("[", 1<<22) + "\n"), 64, "in:1: not JSON: "},
		{JSONL, strings.NewReader("{\"a\":" + strings.Repeat("{\"\":", 1<<17) + "\n"), 64, "in:1: not JSON: "},
	} {
		var err error
		must.Allocates(t, c.most<<20, func() {
			var r *Reader
			if r, err = New(c.in, Options{Name: "in", Format: c.format}); err == nil {
				for err == nil {
					err = r.Next()
				}
			}
		}, "%s", c.want)
		must.Fail(t, err, c.want)
	}
}

// The arrays of JSON Lines have numbers and missing values. A string is no array.
func TestNumbers(t *testing.T) {
	const text = `{"x":[1,"2.5",null,"NA",-3e2],"y":"[1]","z":[[1]],"w":[0,"a"]}`
	r := must.Get(New(strings.NewReader(text), Options{Name: "in", Format: JSONL}))(t)
	must.Equal(t, [3]bool{r.IsArray(0), r.IsArray(1), r.IsArray(2)}, [3]bool{true, false, true}, "arrays")
	must.Equal(t, fmt.Sprint(must.Get(r.Numbers(0))(t)), "[1 2.5 NaN NaN -300]", "numbers")
	must.Reject(r.Numbers(1))(t, `column "y": no array, expected one`)
	must.Reject(r.Numbers(2))(t, `column "z": value 1: "[1]" is not a number`)
	must.Reject(r.Numbers(3))(t, `column "w": value 2: "a" is not a number`)
}

// Whatever the bytes, a row has a cell for every column, an error names a line of the input, and
// the rows written as JSON Lines are read again as they were.
func FuzzReader(f *testing.F) {
	f.Add([]byte("a,b\n1,2\n3,\"x\"\"\"\n"), true)
	f.Add([]byte("a;b\r\n1;2\n;\n"), true)
	f.Add([]byte("1\t2\n\t\n"), true)
	f.Add([]byte("{\"a\":1,\"b\":null}\n{\"b\":\"x\"}\n"), false)
	f.Add([]byte("[1,true]\n[]\n"), false)
	f.Add([]byte("[{\n\"a\":NaN},{\"a\":-Infinity}\n]"), false)
	f.Add([]byte("# a\rsep=;\r1,5;\"2\"\r"), true)
	f.Add([]byte("a  b\n 1\t2,5 \n"), true)
	f.Add([]byte(wide("a;\u00fc\n1;#N/A\n", 0, 8)), true)
	f.Add([]byte(zipped("a|b\n1|2\n")), true)
	f.Fuzz(func(t *testing.T, data []byte, csv bool) {
		if len(data) > 1<<10 { // the test keeps all cells, of rows that may be short
			return
		}
		format := JSONL
		if csv {
			format = CSV
		}
		compressed := bytes.HasPrefix(data, []byte{0x1f, 0x8b})
		r, rows, err := read(string(data), Options{Format: format, Others: true})
		if !errors.Is(err, io.EOF) {
			line := 0
			if n, _ := fmt.Sscanf(err.Error(), "in:%d: ", &line); n != 1 || line < 1 || line > 1+bytes.Count(data, []byte("\n"))+bytes.Count(data, []byte("\r")) && !compressed {
				t.Errorf("error %v, expected one with a line of the input", err)
			}
			return
		}
		if r == nil || !utf8.Valid(data) || len(rows) == 0 {
			return
		}
		var again bytes.Buffer
		out := json.NewEncoder(&again)
		for _, row := range rows {
			if !r.Named {
				must.Do(t, out.Encode(row))
				continue
			}
			again.WriteByte('{')
			for i, cell := range row {
				key, value := must.Get(json.Marshal(r.Columns()[i]))(t), must.Get(json.Marshal(cell))(t)
				fmt.Fprintf(&again, "%s:%s", key, value)
				if i < len(row)-1 {
					again.WriteByte(',')
				}
			}
			again.WriteString("}\n")
		}
		other, same, err := read(again.String(), Options{Format: JSONL, Others: true})
		if !errors.Is(err, io.EOF) {
			t.Fatalf("%s: %v", again.String(), err)
		}
		if !slices.Equal(other.Columns(), r.Columns()) || fmt.Sprintf("%q", same) != fmt.Sprintf("%q", rows) {
			t.Errorf("columns %q, rows %q; read again %q, %q", r.Columns(), rows, other.Columns(), same)
		}
	})
}
