package table

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Missing reports whether a cell says that there is no value, in any column.
func Missing(cell string) bool {
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "nan", "null", "none", "?":
		return true
	}
	return false
}

// missingNumber reports whether a cell says that there is no number. Classes may have such names.
func missingNumber(cell string) bool {
	switch strings.ToLower(cell) {
	case "-", "--", "—", ".", "..", "...", "…", "*", "\\n", "n.a.", "n.a", "n/d", "nil", "(null)", "<na>", "nat", "missing", "unknown", "unavailable", "undefined",
		"no data", "nodata", "not available", "bad", "error", "-nan", "nan(ind)", "1.#qnan", "1.#ind", "-1.#ind", "-1.#qnan", "1.#nan":
		return true
	}
	return Missing(cell) || sheetError.MatchString(cell)
}

// truth are the words that are 1 and 0.
var truth = map[string]float64{"true": 1, "yes": 1, "on": 1, "t": 1, "y": 1, "false": 0, "no": 0, "off": 0, "f": 0, "n": 0}

// sheetError matches the error values of spreadsheets in several languages: #N/A, #NV, #DIV/0!. A
// comment such as #important! is none.
var sheetError = regexp.MustCompile(`^#((?i:n/?[adv]( n/a)?)|[^\s,;\p{Ll}]+[!?])$`)

// MissingValuesFlag begins what errors say about cells that may stand for missing values.
const MissingValuesFlag = "--missing-values"

// sentinels are values that programs write where there is no measurement.
var sentinels = []float64{99, 200, 99.9, 99.99, 777, 888, 999, 999.25, 999.9, 999.99, 6999, 7777, 8888, 9999, 9999.9, 9999.99, 88888, 99999, 99999.9, 99999.99, 999999, 32767, 32768, 65535, math.MaxInt32, 1 << 31, math.MaxUint32, 1e20}

// IsSentinel reports whether a number is one that programs write where there is no measurement.
func IsSentinel(v float64) bool {
	return slices.Contains(sentinels, math.Abs(v)) || math.Abs(v) >= 1e30
}

// ParseFloat is strconv.ParseFloat, but rejects hexadecimal numbers and underscores, which are Go
// syntax.
func ParseFloat(text string, bits int) (float64, error) {
	if strings.ContainsAny(text, "_xX") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, bits)
}

var (
	commaDecimal = regexp.MustCompile(`^[-+]?(\d*,\d+|\d{1,3}(\.\d{3})+,\d+)([eE][-+]?\d+)?$`) // 47,9 1.234,5
	commaGroups  = regexp.MustCompile(`^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$`)                  // 1,234 1,234.5
	pointGroups  = regexp.MustCompile(`^[-+]?[1-9]\d{0,2}(\.\d{3})+$`)                         // 1.234
	otherGroups  = regexp.MustCompile(`^[-+−]?[1-9]\d{0,2}([\s\x{a0}\x{2009}\x{202f}'’]\d{3})+([.,]\d*)?$`)
	signs        = strings.NewReplacer("−", "-", "D", "e", "d", "e", " ", "", "\u00a0", "", "\u2009", "", "\u202f", "", "'", "", "’", "")
)

// isDecimal reports whether a cell is a number, with a decimal point or comma, and with or without
// separators of thousands.
func isDecimal(cell string) bool {
	cell = strings.Replace(cell, "−", "-", 1)
	if commaDecimal.MatchString(cell) || commaGroups.MatchString(cell) || otherGroups.MatchString(cell) {
		return true
	}
	v, err := ParseFloat(cell, 64)
	return err == nil && v == v
}

// quantity matches a number as people write it, with one of several signs, a currency, or a unit:
// −5, (5), 5-, 3.5 °C, $1,234, 12 %; and one with Fortran's D before the exponent.
var quantity = regexp.MustCompile(`^(\(?)([-+−]?)([$€£¥]?) ?((?:[\d.,]+|\d{1,3}(?:[\s\x{a0}\x{2009}\x{202f}'’]\d{3})+(?:[.,]\d*)?)(?:[dD][-+]?\d+)?)[\s\x{a0}\x{202f}]?(%|‰|[$€£¥]|°[CF]?|℃|EUR|USD|GBP)?([-)]?)$`)

// withoutUnit returns the number of a quantity with a usual sign. A note says which number that
// is, once for each unit and sign.
func (t *Reader) withoutUnit(column int, cell string) string {
	m := quantity.FindStringSubmatch(cell)
	if m == nil || (m[1] == "(") != (m[6] == ")") {
		return cell
	}
	number := signs.Replace(m[2] + m[4])
	if m[6] != "" && m[2] == "" {
		number = "-" + number
	}
	if kind := m[3] + m[5] + m[6]; kind != "" {
		t.noteOnce(kind, fmt.Sprintf("column %.80q: %.40q is read as %s; --missing-values=%.40[2]q reads it as missing", t.columns[column], cell, number))
	}
	return number
}

// number returns the number in a cell of a column. It is NaN if the cell is missing.
func (t *Reader) number(column int, cell string) (float64, error) {
	if missingNumber(cell) || slices.Contains(t.opt.MissingValues, cell) {
		return math.NaN(), nil
	}
	if v, word := truth[strings.ToLower(cell)]; word {
		if len(cell) == 1 && !strings.Contains("TF", cell) { // those of R are usual
			t.noteOnce("letter", fmt.Sprintf("column %.80q: %q is read as %v; --missing-values=%[2]s reads it as missing", t.columns[column], cell, v))
		}
		return v, nil
	}
	text, err := t.withPoint(cell)
	if err != nil {
		return 0, err
	}
	v, err := ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		if text = t.withoutUnit(column, cell); text != cell {
			return t.number(column, text)
		}
	}
	switch {
	case err == nil && slices.Contains(t.missing, v):
		return math.NaN(), nil
	case errors.Is(err, strconv.ErrRange) || math.IsInf(float64(float32(v)), 0):
		return 0, fmt.Errorf("%.40q is infinite or too large, expected a number below 3.4e38; --missing-values=%.40[1]s reads it as missing", cell)
	case err != nil && strings.HasPrefix(cell, "{"):
		return 0, fmt.Errorf("%.40q is a JSON object, expected a number: the file must be an array of rows, or a row per line, without objects in them", cell)
	case err != nil || math.IsNaN(v):
		return 0, fmt.Errorf("%.40q is not a number; "+MissingValuesFlag+"=%.40[1]q reads it as missing", cell)
	}
	return v, nil
}

// withPoint returns a number with a decimal point and without separators of thousands. What a comma
// or a point is, is decided by the first cell in which it can only be one of them. A point alone is
// a decimal point. It may be none in a file with semicolons, whose decimals often have commas.
func (t *Reader) withPoint(cell string) (string, error) {
	commas, points := strings.Contains(cell, ","), strings.Contains(cell, ".")
	if t.opt.Format != CSV || !commas && (!points || t.decimal == '.') {
		return cell, nil
	}
	if !commas {
		_, err := ParseFloat(cell, 64)
		switch {
		case t.decimal == ',' && pointGroups.MatchString(cell):
			return strings.ReplaceAll(cell, ".", ""), nil
		case t.decimal == ',' && err == nil:
			return "", t.mixed(cell)
		case err == nil && t.separator == ';' && pointGroups.MatchString(cell):
			t.open = cmp.Or(t.open, cell)
		case err == nil:
			t.decimal = '.'
		}
		return cell, nil
	}
	decimal, groups := commaDecimal.MatchString(cell), commaGroups.MatchString(cell)
	withPoint := strings.Replace(strings.ReplaceAll(cell, ".", ""), ",", ".", 1)
	whole := strings.ReplaceAll(cell, ",", "")
	switch {
	case !decimal && !groups:
		return cell, nil
	case t.decimal == 0 && decimal && groups && t.separator != ';':
		return "", fmt.Errorf("%.40q is %s or %s; --decimal=, or --decimal=. says which", cell, withPoint, whole)
	case t.open != "" && t.decimal == 0 && decimal:
		t.decimal = '.'
		return "", t.mixed(cell)
	case t.decimal == 0 && decimal:
		t.decimal = ','
		t.note("%.40q is read as %s, with a decimal comma; --decimal=. reads commas between thousands", cell, withPoint)
	case t.decimal == 0:
		t.decimal = '.'
		t.note("%.40q is read as %s, with commas between thousands; --decimal=, reads decimal commas", cell, whole)
	}
	switch {
	case t.decimal == ',' && decimal:
		return withPoint, nil
	case t.decimal == '.' && groups:
		return whole, nil
	}
	return "", t.mixed(cell)
}

func (t *Reader) mixed(cell string) error {
	return fmt.Errorf("%.40q does not fit the decimal %q of the cells before it; --decimal says which one it is", cell, string(t.decimal))
}

// Text returns a cell of the current row, without spaces around it; "" if it is missing.
func (t *Reader) Text(i int) string { return t.cells[i] }

// Missing reports whether a cell of the current row is missing.
func (t *Reader) Missing(i int) bool {
	return Missing(t.cells[i]) || slices.Contains(t.opt.MissingValues, t.cells[i])
}

// IsBlank reports whether the current row has empty cells only, as spreadsheets append.
func (t *Reader) IsBlank() bool {
	return !slices.ContainsFunc(t.cells, func(cell string) bool { return cell != "" })
}

// Number returns the number in a cell of the current row, or NaN if it is missing.
func (t *Reader) Number(i int) (float64, error) {
	v, err := t.number(i, t.cells[i])
	if err != nil {
		return 0, t.ColumnError(i, err)
	}
	return v, nil
}

// TimeColumns returns the names of the columns of a time, of which there may be several with commas
// between them: a date and a time of day, or the parts of both from the year on.
func (t *Reader) TimeColumns(names string) []string {
	if _, one := t.index[names]; one && names != "" {
		return []string{names}
	}
	return slices.DeleteFunc(strings.Split(names, ","), func(name string) bool { return name == "" })
}

// Time returns the time in such columns of the current row.
func (t *Reader) Time(columns []int) string {
	var parts []string
	for _, i := range columns {
		parts = append(parts, t.Text(i))
	}
	if len(parts) <= 2 {
		return strings.Join(parts, " ")
	}
	return strings.TrimSpace(strings.Join(parts[:3], "-") + " " + strings.Join(parts[3:], ":"))
}

// IsArray reports whether a value of the current row, or after New of the first one, is an array.
// Only JSON has arrays.
func (t *Reader) IsArray(i int) bool { return i < len(t.kinds) && t.kinds[i] == array }

// Numbers returns the numbers in an array of the current row. Missing ones are NaN.
func (t *Reader) Numbers(i int) ([]float64, error) {
	if !t.IsArray(i) {
		return nil, t.ColumnError(i, errors.New("no array, expected one with the values of the series"))
	}
	var values []json.RawMessage
	if err := json.Unmarshal([]byte(t.cells[i]), &values); err != nil {
		return nil, t.ColumnError(i, err)
	}
	list := make([]float64, len(values))
	for k, raw := range values {
		cell, _ := jsonCell(raw)
		var err error
		if list[k], err = t.number(i, cell); err != nil {
			return nil, t.ColumnError(i, fmt.Errorf("value %d: %w", k+1, err))
		}
	}
	return list, nil
}
