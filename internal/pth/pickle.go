package pth

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
)

// The values of a pickle are those of Go (nil, bool, int, float64, string) and these.
type (
	tuple  []any
	dict   struct{ items []any }  // keys and values alternately, in the file's order
	global string                 // the name of a function or class, "module.name"
	object struct{ class string } // a list, or an object beside the state dict: its content is not used
)

// storage is the persistent value ("storage", class, key, device, count).
type storage struct {
	class, key string
	count      int
}

const proto = '\x80'

// unpickle returns the value of a pickle of the opcodes that a checkpoint consists of. An opcode
// puts at most one value on the stack, and no value is copied or compared, so the time is
// proportional to the length. What a pickle lacks, such as a value on the stack or its end, is a
// panic of an index or of a type, which becomes an error here.
func unpickle(p []byte) (value any, err error) {
	if len(p) > maxPickle {
		return nil, fmt.Errorf("pickle of %d bytes: expected at most %d; "+WayOut, len(p), maxPickle)
	}
	m := machine{rest: p}
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = f.error
		case runtime.Error:
			err = fmt.Errorf("malformed pickle before byte %d: %w", len(p)-len(m.rest), f)
		default:
			panic(f)
		}
	}()
	for {
		op := m.next(1)[0]
		if op == '.' { // STOP
			return m.pop(1)[0], nil
		}
		if !m.push(op) && !m.change(op) {
			fail("pickle opcode %q at byte %d is not one that a state dict needs", op, len(p)-len(m.rest)-1)
		}
	}
}

// machine is the state of a pickle that is read.
type machine struct {
	rest  []byte
	stack []any
	marks []int // lengths of the stack
	memo  []any
}

// failure is the value of a panic that ends unpickle.
type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// next returns the next n bytes. More than there are is a panic.
func (m *machine) next(n int) []byte {
	b := m.rest[:n:len(m.rest)]
	m.rest = m.rest[n:]
	return b
}

// number returns an unsigned number of n bytes, at most four.
func (m *machine) number(n int) int {
	var wide [4]byte
	copy(wide[:], m.next(n))
	return int(binary.LittleEndian.Uint32(wide[:]))
}

// line returns the bytes before the next newline.
func (m *machine) line() string {
	line := m.next(bytes.IndexByte(m.rest, '\n'))
	m.next(1)
	return string(line)
}

// pop takes n values from the stack.
func (m *machine) pop(n int) []any {
	values := m.stack[len(m.stack)-n:]
	m.stack = m.stack[:len(m.stack)-n]
	return values
}

// popMark takes all values above the last mark, and the mark.
func (m *machine) popMark() []any {
	mark := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	return m.pop(len(m.stack) - mark)
}

// push runs an opcode that puts a value on the stack. It reports whether op is one.
func (m *machine) push(op byte) bool {
	var v any
	switch op {
	case 'N': // NONE
	case '\x88', '\x89': // NEWTRUE, NEWFALSE
		v = op == '\x88'
	case 'K': // BININT1
		v = m.number(1)
	case 'M': // BININT2
		v = m.number(2)
	case 'J': // BININT
		v = int(int32(m.number(4)))
	case 'G': // BINFLOAT
		v = math.Float64frombits(binary.BigEndian.Uint64(m.next(8)))
	case 'X': // BINUNICODE
		v = string(m.next(m.number(4)))
	case '\x8c': // SHORT_BINUNICODE
		v = string(m.next(m.number(1)))
	case 'B': // BINBYTES
		m.next(m.number(4))
		v = object{}
	case 'C', '\x8a': // SHORT_BINBYTES; LONG1: too large for a size
		m.next(m.number(1))
		v = object{}
	case 'c': // GLOBAL
		v = global(m.line() + "." + m.line())
	case '\x93': // STACK_GLOBAL
		names := m.pop(2)
		v = global(names[0].(string) + "." + names[1].(string))
	case ')', '\x85', '\x86', '\x87': // EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3
		v = tuple(slices.Clone(m.pop(strings.IndexByte(")\x85\x86\x87", op))))
	case 't': // TUPLE
		v = tuple(slices.Clone(m.popMark()))
	case '}': // EMPTY_DICT
		v = &dict{}
	case ']', '\x8f': // EMPTY_LIST, EMPTY_SET
		v = object{"list"}
	case 'R', '\x81': // REDUCE, NEWOBJ
		values := m.pop(2)
		v = call(values[0].(global), values[1].(tuple))
	case 'Q': // BINPERSID
		v = persistent(m.pop(1)[0].(tuple))
	case 'h': // BINGET
		v = m.memo[m.number(1)]
	case 'j': // LONG_BINGET
		v = m.memo[m.number(4)]
	default:
		return false
	}
	m.stack = append(m.stack, v)
	return true
}

// change runs an opcode that puts no value on the stack. It reports whether op is one.
func (m *machine) change(op byte) bool {
	switch op {
	case proto: // PROTO
		m.next(1)
	case '\x95': // FRAME
		m.next(8)
	case '(': // MARK
		m.marks = append(m.marks, len(m.stack))
	case 'q': // BINPUT
		m.put(m.number(1))
	case 'r': // LONG_BINPUT
		m.put(m.number(4))
	case '\x94': // MEMOIZE
		m.put(len(m.memo))
	case 's': // SETITEM
		m.setItems(m.pop(2))
	case 'u': // SETITEMS
		m.setItems(m.popMark())
	case 'a', 'b': // APPEND, BUILD: the content of lists and objects is not used
		m.pop(1)
	case 'e', '\x90': // APPENDS, ADDITEMS
		m.popMark()
	default:
		return false
	}
	return true
}

// put stores the last value of the stack. A pickle counts the values that it stores, and may leave
// out some of the first.
func (m *machine) put(at int) {
	if at > len(m.memo)+math.MaxUint8 {
		fail("malformed pickle: value %d is stored after %d others", at, len(m.memo))
	}
	for at >= len(m.memo) {
		m.memo = append(m.memo, nil)
	}
	m.memo[at] = m.stack[len(m.stack)-1]
}

// setItems adds keys and values to the dictionary, or the object, on top of the stack.
func (m *machine) setItems(items []any) {
	if len(items)%2 != 0 {
		fail("malformed pickle: a key without a value")
	}
	if d, ok := m.stack[len(m.stack)-1].(*dict); ok {
		d.items = append(d.items, items...)
	}
}

// The functions that make tensors.
const (
	rebuildTensor    = "torch._utils._rebuild_tensor_v2" // (storage, offset, size, stride, requires grad, hooks, metadata)
	rebuildParameter = "torch._utils._rebuild_parameter" // (tensor, requires grad, hooks)
)

// call returns the result of a function or class. Those that do not make tensors or dictionaries
// make objects, as NumPy, Lightning and other programs store them beside the state dict.
func call(function global, args tuple) any {
	switch function {
	case "collections.OrderedDict":
		if len(args) > 0 {
			fail("a dictionary that is made of a list of items, expected one whose items are set")
		}
		return &dict{}
	case rebuildTensor:
		return newView(args)
	case rebuildParameter:
		return args[0].(*view)
	}
	if strings.Contains(string(function), "._rebuild_") {
		fail("pickle contains %.64q, expected dense tensors of floating-point numbers; "+WayOut, function)
	}
	return object{string(function)}
}

// persistent returns the storage that ("storage", class, key, device, count) describes.
func persistent(t tuple) storage {
	return storage{strings.TrimPrefix(string(t[1].(global)), "torch."), t[2].(string), t[4].(int)}
}
