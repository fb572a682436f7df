package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// zipped returns a text that gzip compressed.
func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// wide returns a text as UTF-16.
func wide(text string, high, low int) string {
	var b []byte
	for _, c := range utf16.Encode([]rune(text)) {
		b = append(b, byte(c>>high), byte(c>>low))
	}
	return string(b)
}

// reading is an input, and how it is read.
type reading struct {
	name, text string
	opt        Options
	want       string // the columns, and the numbers of the rows
	note       string
}

func (c reading) check(t *testing.T) {
	c.opt.Name = "in"
	r, err := New(strings.NewReader(c.text), c.opt)
	if err != nil {
		t.Errorf("%s: %v", c.name, err)
		return
	}
	var rows [][]float64
	for err = r.Next(); err == nil; err = r.Next() {
		row := []float64{}
		for i := range r.Columns() {
			row = append(row, must.Get(r.Number(i))(t))
		}
		rows = append(rows, row)
	}
	must.Equal(t, errors.Is(err, io.EOF), true, "%s: error %v", c.name, err)
	must.Equal(t, fmt.Sprint(r.Columns(), " ", rows), c.want, "%s: columns and rows", c.name)
	notes := strings.Join(r.Notes(), "\n")
	must.Equal(t, strings.Contains(notes, c.note) && (notes == "") == (c.note == ""), true, "%s: notes %s", c.name, notes)
}

// Inputs are read as programs and people write them. A note says which reading was taken if there
// was a choice.
func TestReadings(t *testing.T) {
	for _, c := range []reading{
		{"sep=", "\"sep=;\"\nt;x\n1;2.5\n", Options{}, "[t x] [[1 2.5]]", ""},
		{"tabs", "t\tx\n1\t2,5\n", Options{}, "[t x] [[1 2.5]]", `"2,5" is read as 2.5, with a decimal comma; --decimal=.`},
		{"vertical bars", "t|x\n1|2.5\n", Options{}, "[t x] [[1 2.5]]", `the cells are separated by "|"`},
		{"blanks", "  1   2.5\n  3  4\n", Options{}, "[1 2] [[1 2.5] [3 4]]", `the cells are separated by " ", not by ","; --separator`},
		{"blanks and a header", "t x \n1\t 2.5\n", Options{}, "[t x] [[1 2.5]]", `separated by " "`},
		{"blanks and decimal commas", "1 2,5\n3 4,75\n", Options{}, "[1 2] [[1 2.5] [3 4.75]]", `separated by " "`},
		{"blanks in names", "outside air,wind speed\n1,2.5\n", Options{}, "[outside air wind speed] [[1 2.5]]", ""},
		{"blanks in the only name", "air temperature\n1\n2\n", Options{}, "[air temperature] [[1] [2]]", ""},
		{"blanks after commas", "1, 2, 3\n", Options{}, "[1 2 3] [[1 2 3]]", ""},
		{"a semicolon in a name", "time (s; UTC),x\n1,2.5\n", Options{}, "[time (s; UTC) x] [[1 2.5]]", `separated by ",", not by ";"`},
		{"a comma in a name", "x;y,z\n1;2\n", Options{}, "[x y,z] [[1 2]]", `separated by ";", not by ","`},
		{"names of rows, as R writes them", "\"a b\" \"c\"\n\"1\" 2 3\n\"2\" 4 NA\n", Options{}, "[1 a b c] [[1 2 3] [2 4 NaN]]", "the first one is the row's name"},
		{"the same without quotation marks", "a c\n1 2 3\n", Options{}, "[1 a c] [[1 2 3]]", "the first one is the row's name"},
		{"the same with commas", "\"a\",\"c\"\n\"1\",2,3\n", Options{}, "[1 a c] [[1 2 3]]", "the first one is the row's name"},
		{"tabs between quotation marks", "\"a b\"\t\"c\"\n1\t\n", Options{}, "[a b c] [[1 NaN]]", ""},
		{"--separator", "a:b\n1:2\n", Options{Separator: ":"}, "[a b] [[1 2]]", ""},
		{"--separator space", "a b\n\"1 \" 2\n", Options{Separator: "space"}, "[a b] [[1 2]]", ""},
		{"decimal commas", "t;x\n0;47,996\n1;1.234,5\n2;1.234\n3;-,5\n4;1,5e3\n", Options{}, "[t x] [[0 47.996] [1 1234.5] [2 1234] [3 -0.5] [4 1500]]", "decimal comma"},
		{"thousands", "t\tx\n0\t1,234.5\n1\t12,345,678\n2\t1,234\n", Options{}, "[t x] [[0 1234.5] [1 1.2345678e+07] [2 1234]]", `"1,234.5" is read as 1234.5, with commas between thousands; --decimal=,`},
		{"--decimal .", "t;x\n0;1,234\n", Options{Decimal: "."}, "[t x] [[0 1234]]", ""},
		{"--decimal , without a header", "50,000\n54,948\n", Options{Decimal: ","}, "[1] [[50] [54.948]]", ""},
		{"decimal commas of one column", "x\n50,5\n54,948\n", Options{}, "[x] [[50.5] [54.948]]", "decimal comma"},
		{"thousands without a header", "1.502,69;−5\n1.576,55;4\n", Options{}, "[1 2] [[1502.69 -5] [1576.55 4]]", "decimal comma"},
		{"a point that may be none", "t;x\n0;1.502\n1;2.345\n", Options{}, "[t x] [[0 1.502] [1 2.345]]", `in: "1.502" is read with a decimal point; --decimal=,`},
		{"a point that a later cell settles", "t;x\n0;1.502\n1;2.5\n", Options{}, "[t x] [[0 1.502] [1 2.5]]", ""},
		{"--decimal , and points", "t;x\n0;1.502\n", Options{Decimal: ","}, "[t x] [[0 1502]]", ""},
		{"other separators of thousands", "a;b;c\n1'502,5;1\u00a0502,5;1 502 003\n2’000;1\u202f502;−1\u2009502\n", Options{}, "[a b c] [[1502.5 1502.5 1.502003e+06] [2000 1502 -1502]]", "decimal comma"},
		{"no-break spaces between cells", "0\u00a01.5\n1\u00a0502\n", Options{}, "[1 2] [[0 1.5] [1 502]]", `separated by " "`},
		{"quoted decimal commas", "t,x\n1,\"2,5\"\n", Options{}, "[t x] [[1 2.5]]", "decimal comma"},
		{"other signs", "x\n−1\n+2\n", Options{}, "[x] [[-1] [2]]", ""},
		{"units and currencies", "a;b;c;d\n3 %;$1234.5;(2);1.5D+01\n4.5 %;$2;3-;1D0\n", Options{}, "[a b c d] [[3 1234.5 -2 15] [4.5 2 -3 1]]", `column "a": "3 %" is read as 3; --missing-values="3 %" reads it as missing`},
		{"a column twice", "x,x,x.1\n1,2,3\n", Options{}, "[x x.2 x.1] [[1 2 3]]", `the second one is called "x.2"`},
		{"words of a letter", "PAR1,n\nT,N\n", Options{}, "[PAR1 n] [[1 0]]", `column "n": "N" is read as 0`},
		{"units below the names", "t,x\ns,°C\n,Avg\n1,2\n", Options{}, "[t x] [[1 2]]", "line 2 has no number"},
		{"no units below the names", "t,x\nNA,M\n1,2\n", Options{MissingValues: []string{"M"}}, "[t x] [[NaN NaN] [1 2]]", ""},
		{"a blank line", "t,x\n1,2\n\t\n", Options{}, "[t x] [[1 2]]", ""},
		{"carriage returns", "t,x\r1,2\r3,4", Options{}, "[t x] [[1 2] [3 4]]", ""},
		{"carriage returns before line feeds", "t,x\r\n1,2\r\n", Options{}, "[t x] [[1 2]]", ""},
		{"UTF-16, little endian", "\xff\xfe" + wide("t\tü\r\n1\t2\r\n", 0, 8), Options{}, "[t ü] [[1 2]]", ""},
		{"UTF-16, big endian", "\xfe\xff" + wide("t,ü\n1,2\n", 8, 0), Options{}, "[t ü] [[1 2]]", ""},
		{"UTF-16 without a mark", wide("t,ü\n1,2\n", 0, 8), Options{}, "[t ü] [[1 2]]", ""},
		{"Latin-1", "t,gr\xf6\xdfe\n1,2\n", Options{}, "[t größe] [[1 2]]", "not UTF-8 and is read as Windows-1252"},
		{"gzip", zipped("t,x\n1,2\n"), Options{}, "[t x] [[1 2]]", ""},
		{"gzip and UTF-16", zipped("\xff\xfe" + wide("t,x\n1,2\n", 0, 8)), Options{}, "[t x] [[1 2]]", ""},
		{"comments", "# station 42\n#important!\nt,#x\n1,2\n# 7 degrees\n3,4\n", Options{}, "[t #x] [[1 2] [3 4]]", "lines that begin with # are comments; --comment none"},
		{"a comment that names the columns", "# t,x\n1,2\n", Options{}, "[t x] [[1 2]]", "names the columns"},
		{"annotated", "#group,false,true\n#default,_result,\n,result,v\n,,1\n", Options{}, "[1 result v] [[NaN NaN 1]]", ""},
		{"--comment", "// a\nt,x\n#1,2\n", Options{Comment: "//", MissingValues: []string{"#1"}}, "[t x] [[NaN 2]]", ""},
		{"missing values", "a;b;c;d\n#NV;unavailable;-;\\N\n#N/A;#DIV/0!;#WERT!;..\n1.#QNAN;NULL;N.A.;unknown\nTrue;false;TRUE;?\n", Options{}, "[a b c d] [[NaN NaN NaN NaN] [NaN NaN NaN NaN] [NaN NaN NaN NaN] [1 0 1 NaN]]", ""},
		{"--missing-values", "a,b\n-9999.0,1\ninf,2\n", Options{MissingValues: []string{"-9999", "inf"}}, "[a b] [[NaN 1] [NaN 2]]", ""},
	} {
		c.check(t)
	}
}

// JSON has the same words as CSV.
func TestJSONReadings(t *testing.T) {
	for _, c := range []reading{
		{"JSON", "[{\"t\":1,\"x\":\"a]\\\"{\"},\n {\"t\":2,\"x\":true}]\n", Options{MissingValues: []string{`a]"{`}}, "[t x] [[1 NaN] [2 1]]", ""},
		{"JSON with line breaks", "[\n {\n \"t\": 1,\n \"x\": NaN\n },\n {\"t\": 2, \"x\": \"NaN\"}\n]\n", Options{}, "[t x] [[1 NaN] [2 NaN]]", ""},
		{"words for no number", "{\"x\":nan,\"y\":None}\n{\"x\":-NaN,\"y\":\"None\"}\n{\"x\":undefined,\"y\":1}\n", Options{Format: JSONL}, "[x y] [[NaN NaN] [NaN NaN] [NaN 1]]", ""},
		{"objects with line breaks", "{\n\"t\": 1\n}\n{\n\"t\": 2\n}\n", Options{}, "[t] [[1] [2]]", ""},
		{"arrays", "[[1,2],[3,null]]", Options{Format: JSON}, "[1 2] [[1 2] [3 NaN]]", ""},
		{"joined arrays", "[{\"t\":1}]\n[{\"t\":2},\n{\"t\":3}]\n", Options{}, "[t] [[1] [2] [3]]", ""},
		{"JSON Lines", "\ufeff{\"t\":1}\n{\"t\":NaN}\n", Options{}, "[t] [[1] [NaN]]", ""},
	} {
		c.check(t)
	}
}

// What can be read in two ways, and nothing decides, is an error that names the flag.
func TestOpenReadings(t *testing.T) {
	for text, want := range map[string]string{
		"50,000\n54,948\n":          "in:1: 50,000 are two cells, or a number with a decimal comma: --separator=, or --decimal=, says which",
		"54,948\n50,000\n":          "in:2: 50,000 are two cells",
		"t\tx\n0\t1,234\n":          `"1,234" is 1.234 or 1234; --decimal=, or --decimal=. says which`,
		"t;x\n0;2.5\n1;2,5\n":       `"2,5" does not fit the decimal "." of the cells before it; --decimal`,
		"t;x\n0;1.234\n1;2,5\n":     `"2,5" does not fit the decimal "."`,
		"t;x\n0;2,5\n1;2.5\n":       `"2.5" does not fit the decimal ","`,
		"t,x\n#1,2\n":               "begins with # and has as many cells as a row; --comment '#' skips such lines",
		"[{\"x\":1},\n{\"x\":2}\n":  "in:2: the array of rows is not closed: the input may be truncated",
		"{\"x\":1}\n{\"x\":-inf}\n": "--missing-values=-inf reads it as missing",
		"% m\nt,x\n1,2\n":           `in:2: 2 cells, expected 1 as in the first line; if that is a comment or a title, --comment "%"`,
		"PK\x03\x04\x00x,y\n":       "in:1: the file is compressed with zip",
		"\"a\" b,c\n1,2\n":          "in:1: cell 1: \" b\" after the closing quotation mark; if blanks separate the cells, --separator=space",
		"\"a\",\"b\"\n1,2,\n":       "in:2: 3 cells, expected 2 as in the first line",
		"{\"x\":{\"y\":1}}\n":       "is a JSON object, expected a number",
		"PAR1\x15":                  "in:1: the file is in the format Parquet",
		"BZh91AY&SY\x12":            "in:1: the file is compressed with bzip2",
		"t,x\n1,2\n\x00\x00":        "in:3: byte 1 of the line is zero",
		"x\ninf\n":                  "--missing-values=inf reads it as missing",
		"\x1f\x8bx,y\n1,2\n":        "in:1: gzip: invalid header",
	} {
		r, err := New(strings.NewReader(text), Options{Name: "in"})
		for err == nil {
			if err = r.Next(); err == nil {
				_, err = r.Number(len(r.Columns()) - 1)
			}
		}
		must.Fail(t, err, want)
	}
	must.Fail(t, Options{Separator: "dash"}.Check(), `--separator "dash"`)
	must.Fail(t, Options{Decimal: ";"}.Check(), `--decimal ";"`)
}
