package pth

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// operand says how an opcode's argument is stored.
type operand int

const (
	none   operand = iota
	fixed1         // 1, 2, 4 or 8 bytes
	fixed2
	fixed4
	fixed8
	counted1 // a count of 1 or 4 bytes, then as many
	counted4
	twoLines // two texts, each ended by a newline
)

// opcodes are those that a state dict is written with. All else is refused before anything is run.
var opcodes = map[byte]operand{
	'\x80': fixed1, // PROTO
	'.':    none,   // STOP
	'(':    none,   // MARK
	'N':    none,   // NONE
	'\x88': none,   // NEWTRUE
	'\x89': none,   // NEWFALSE
	'K':    fixed1, // BININT1
	'M':    fixed2, // BININT2
	'J':    fixed4, // BININT
	'\x8a': counted1,
	'G':    fixed8,                           // BINFLOAT
	'X':    counted4,                         // BINUNICODE
	'\x8c': counted1,                         // SHORT_BINUNICODE
	'c':    twoLines,                         // GLOBAL
	')':    none,                             // EMPTY_TUPLE
	't':    none,                             // TUPLE
	'\x85': none, '\x86': none, '\x87': none, // TUPLE1, TUPLE2, TUPLE3
	']': none,                // EMPTY_LIST
	'a': none,                // APPEND
	'e': none,                // APPENDS
	'}': none,                // EMPTY_DICT
	's': none,                // SETITEM
	'u': none,                // SETITEMS
	'R': none,                // REDUCE
	'b': none,                // BUILD
	'Q': none,                // BINPERSID
	'q': fixed1, 'r': fixed4, // BINPUT, LONG_BINPUT
	'h': fixed1, 'j': fixed4, // BINGET, LONG_BINGET
}

// checkOpcodes walks a pickle without running it: every opcode must be known, and every length that it
// declares must lie inside the data.
func checkOpcodes(p []byte) error {
	for at := 0; at < len(p); {
		op := p[at]
		kind, known := opcodes[op]
		if !known {
			return fmt.Errorf("pickle opcode %q at byte %d is not one that a state dict needs", op, at)
		}
		n, ok := operandLength(kind, p[at+1:])
		if !ok {
			return fmt.Errorf("pickle opcode %q at byte %d reaches past the end", op, at)
		}
		at += 1 + n
		if op == '.' {
			if at != len(p) {
				return fmt.Errorf("%d bytes after the end of the pickle", len(p)-at)
			}
			return nil
		}
	}
	return fmt.Errorf("the pickle has no end")
}

func operandLength(kind operand, rest []byte) (n int, ok bool) {
	switch kind {
	case fixed1:
		n = 1
	case fixed2:
		n = 2
	case fixed4:
		n = 4
	case fixed8:
		n = 8
	case counted1:
		if len(rest) < 1 {
			return 0, false
		}
		n = 1 + int(rest[0])
	case counted4:
		if len(rest) < 4 {
			return 0, false
		}
		n = 4 + int(binary.LittleEndian.Uint32(rest))
	case twoLines:
		for range 2 {
			i := bytes.IndexByte(rest[n:], '\n')
			if i < 0 {
				return 0, false
			}
			n += i + 1
		}
	}
	return n, n >= 0 && n <= len(rest)
}
