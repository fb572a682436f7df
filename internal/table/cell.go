package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Missing reports whether a cell says that there is no value.
func Missing(cell string) bool {
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "nan", "null", "none", "?":
		return true
	}
	return false
}

// ParseFloat is strconv.ParseFloat, but rejects hexadecimal numbers and underscores, which are Go
// syntax.
func ParseFloat(text string, bits int) (float64, error) {
	if strings.ContainsAny(text, "_xX") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, bits)
}

// number returns the number in a cell. It is NaN if Missing reports true.
func number(cell string) (float64, error) {
	if Missing(cell) {
		return math.NaN(), nil
	}
	v, err := ParseFloat(cell, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || math.IsInf(float64(float32(v)), 0):
		return 0, fmt.Errorf("%.40q is infinite or too large, expected a number below 3.4e38", cell)
	case err != nil || math.IsNaN(v):
		return 0, fmt.Errorf("%.40q is not a number", cell)
	}
	return v, nil
}

// Text returns a cell of the current row, without spaces around it; "" if it is missing.
func (t *Reader) Text(i int) string { return t.cells[i] }

// Missing reports whether a cell of the current row is missing.
func (t *Reader) Missing(i int) bool { return Missing(t.cells[i]) }

// Number returns the number in a cell of the current row, or NaN if it is missing.
func (t *Reader) Number(i int) (float64, error) {
	v, err := number(t.cells[i])
	if err != nil {
		return 0, t.ColumnError(i, err)
	}
	return v, nil
}

// IsArray reports whether a value of the current row, or after New of the first one, is an array.
// Only JSON Lines have arrays.
func (t *Reader) IsArray(i int) bool { return i < len(t.kinds) && t.kinds[i] == array }

// Numbers returns the numbers in an array of the current row. Missing ones are NaN.
func (t *Reader) Numbers(i int) ([]float64, error) {
	if !t.IsArray(i) {
		return nil, t.ColumnError(i, errors.New("no array, expected one with the values of the series"))
	}
	d := json.NewDecoder(strings.NewReader(t.cells[i]))
	_, err := d.Token()
	var list []float64
	for err == nil && d.More() {
		var cell string
		if cell, _, err = jsonCell(d); err != nil {
			break
		}
		var v float64
		if v, err = number(cell); err != nil {
			err = fmt.Errorf("value %d: %w", len(list)+1, err)
		}
		list = append(list, v)
	}
	if err != nil {
		return nil, t.ColumnError(i, err)
	}
	return list, nil
}
