package dataset

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// The shape of generated expressions (docs/maths.md §5.3): a tree no deeper than 10 whose inner nodes have 2 to 10 arguments; of
// a node's length a digit is 1 and an operator 2 and its arguments. Only those longer than 500 and shorter than 2000
// are kept, each once.
const (
	listOpsDepth   = 10
	listOpsArgs    = 10
	listOpsDigits  = 0.25 // share of operators among the nodes above the greatest depth
	listOpsAbove   = 500
	listOpsBelow   = 2000
	listOpsAttempt = 1 << 16 // draws of one tree at most
)

var listOpsOperators = []string{"MIN", "MAX", "MED", "SM"}

// WriteListOps writes LRA's basic_train.tsv of n expressions into dir, basic_val.tsv and basic_test.tsv of eval each, and
// reports each to wrote. They are a function of the arguments; a folder that holds others is refused with an os.ErrExist.
// The end of ctx is an error, its cause, and leaves whole files only.
func WriteListOps(ctx context.Context, dir string, n, eval int, seed uint64, wrote func(path string, expressions int)) error {
	if n < 1 || eval < 1 {
		return fmt.Errorf("dataset: %d expressions to train on, %d to evaluate on: want at least 1", n, eval)
	}
	names := []string{"basic_train.tsv", "basic_val.tsv", "basic_test.tsv"}
	if err := claim(dir, fmt.Sprintf("s4d-fast data listops --n %d --eval %d --seed %d", n, eval, seed), names...); err != nil {
		return err
	}
	for part, name := range names {
		path, n := filepath.Join(dir, name), []int{n, eval, eval}[part]
		if err := atomicfile.Write(path, func(w io.Writer) error { return writeListOps(ctx, w, n, seed, part) }); err != nil {
			return err
		}
		wrote(path, n)
	}
	return nil
}

// writeListOps writes n expressions in LRA's format, header and all, a function of (seed, part): parts of one seed have
// different expressions but for rare chance.
func writeListOps(ctx context.Context, w io.Writer, n int, seed uint64, part int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "Source\tTarget")
	seen := map[string]bool{}
	for i := 0; len(seen) < n; i++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d := listOpsDraw{draws{stream: random.New(seed, random.Signal, part, i)}}
		tree, ok := d.expression()
		if !ok || seen[tree] {
			continue
		}
		seen[tree] = true
		v, err := EvaluateListOps(tree)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\t%d\n", tree, v)
	}
	return out.Flush()
}

// listOpsDraw draws a tree.
type listOpsDraw struct{ draws }

// expression draws until a tree has the right length; ok is false where it gives up.
func (d *listOpsDraw) expression() (string, bool) {
	for range listOpsAttempt {
		var b strings.Builder
		if n := d.node(&b, 1); n > listOpsAbove && n < listOpsBelow {
			return b.String(), true
		}
	}
	return "", false
}

// node writes a subtree as the published files spell it, "( ( ( [OP a ) b ) ] )", and returns its length. It stops
// writing once a tree is too long.
func (d *listOpsDraw) node(b *strings.Builder, depth int) (length int) {
	if depth >= listOpsDepth || d.uniform() > listOpsDigits {
		fmt.Fprint(b, d.below(10))
		return 1
	}
	op := listOpsOperators[d.below(len(listOpsOperators))]
	args := 2 + d.below(listOpsArgs-1)
	b.WriteString(strings.Repeat("( ", args+1))
	b.WriteString("[" + op)
	length = 2
	for range args {
		b.WriteByte(' ')
		length += d.node(b, depth+1)
		b.WriteString(" )")
		if b.Len() > 64*listOpsBelow {
			break
		}
	}
	b.WriteString(" ] )")
	return length
}
