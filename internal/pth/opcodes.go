package pth

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Bounds of a pickle. One opcode makes gopickle allocate about 250 bytes at most. Without the
// bounds, a long string that is used as a key many times, or a dictionary that is copied as often,
// would take unbounded time.
const (
	maxPickle  = 4 << 20 // bytes
	maxOpcodes = 1 << 19
	maxMarks   = 64      // open marks
	maxText    = 4096    // bytes of one string
	maxBuilds  = 64      // BUILD opcodes in a long pickle; a state dict needs one
	maxBuilt   = 1 << 26 // a short pickle may have more, up to maxBuilt / its bytes
)

// operand is the way in which an opcode's argument is stored.
type operand int

const (
	none   operand = iota
	fixed1         // 1, 2, 4 or 8 bytes
	fixed2
	fixed4
	fixed8
	counted1 // a count of 1 or 4 bytes, then that many bytes
	counted4
	twoLines // two strings, each ending with a newline
)

// The opcodes that checkPickle inspects.
const (
	opMark     = '('
	opStop     = '.'
	opGlobal   = 'c'
	opTuple    = 't'
	opAppends  = 'e'
	opSetItems = 'u'
	opBuild    = 'b'
	opText     = 'X'
)

// opcodes are those that a checkpoint consists of. A pickle with any other is rejected before it is
// decoded.
var opcodes = map[byte]operand{
	'\x80':     fixed1, // PROTO
	opStop:     none,
	opMark:     none,
	opGlobal:   twoLines,
	opTuple:    none,
	opAppends:  none,
	opSetItems: none,
	opBuild:    none,
	opText:     counted4, // BINUNICODE
	'N':        none,     // NONE
	'\x88':     none,     // NEWTRUE
	'\x89':     none,     // NEWFALSE
	'K':        fixed1,   // BININT1
	'M':        fixed2,   // BININT2
	'J':        fixed4,   // BININT
	'\x8a':     counted1, // LONG1
	'G':        fixed8,   // BINFLOAT
	'\x8c':     counted1, // SHORT_BINUNICODE
	')':        none,     // EMPTY_TUPLE
	'\x85':     none,     // TUPLE1
	'\x86':     none,     // TUPLE2
	'\x87':     none,     // TUPLE3
	']':        none,     // EMPTY_LIST
	'a':        none,     // APPEND
	'}':        none,     // EMPTY_DICT
	's':        none,     // SETITEM
	'R':        none,     // REDUCE
	'\x81':     none,     // NEWOBJ
	'Q':        none,     // BINPERSID
	'q':        fixed1,   // BINPUT
	'r':        fixed4,   // LONG_BINPUT
	'h':        fixed1,   // BINGET
	'j':        fixed4,   // LONG_BINGET
}

// checkPickle checks a pickle without decoding it: every opcode and global name must be known,
// every declared length must lie inside the data, and the bounds must hold. A pickle has no jumps,
// so a linear scan sees every opcode.
func checkPickle(p []byte) error {
	if len(p) > maxPickle {
		return fmt.Errorf("pickle of %d bytes: expected at most %d", len(p), maxPickle)
	}
	marks, builds := 0, 0
	for at, count := 0, 0; at < len(p); count++ {
		op := p[at]
		kind, ok := opcodes[op]
		if !ok {
			return fmt.Errorf("pickle opcode %q at byte %d is not one that a state dict needs", op, at)
		}
		n, ok := operandLength(kind, p[at+1:])
		if !ok {
			return fmt.Errorf("pickle opcode %q at byte %d: its argument exceeds the pickle", op, at)
		}
		switch op {
		case opMark:
			marks++
		case opTuple, opAppends, opSetItems:
			marks--
		case opGlobal:
			if err := checkGlobal(p[at+1:][:n]); err != nil {
				return err
			}
		case opBuild:
			if builds++; builds > max(maxBuilds, maxBuilt/len(p)) {
				return fmt.Errorf("pickle: more than %d BUILD opcodes, expected a state dict", builds-1)
			}
		case opText:
			if n-4 > maxText {
				return fmt.Errorf("pickle: a string of %d bytes, expected at most %d", n-4, maxText)
			}
		case opStop:
			if end := at + 1; end != len(p) {
				return fmt.Errorf("%d bytes after the end of the pickle", len(p)-end)
			}
			return nil
		}
		if marks < 0 || marks > maxMarks || count > maxOpcodes {
			return fmt.Errorf("pickle opcode %q at byte %d: %d open marks, %d opcodes: not a state dict", op, at, marks, count)
		}
		at += 1 + n
	}
	return fmt.Errorf("the pickle has no end")
}

// checkGlobal returns an error unless "module\nname\n" is a name that a state dict contains.
func checkGlobal(lines []byte) error {
	text := bytes.Split(lines, []byte{'\n'})
	if module, name := string(text[0]), string(text[1]); !known(module, name) {
		return fmt.Errorf("pickle contains %.64q, expected only float tensors in plain dictionaries", module+"."+name)
	}
	return nil
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
		count := binary.LittleEndian.Uint32(rest)
		if uint64(count) > uint64(len(rest)) {
			return 0, false
		}
		n = 4 + int(count)
	case twoLines:
		for range 2 {
			i := bytes.IndexByte(rest[n:], '\n')
			if i < 0 {
				return 0, false
			}
			n += i + 1
		}
	}
	return n, n <= len(rest)
}
