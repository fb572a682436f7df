package generate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// Generated expressions (docs/maths.md §5.3) are trees of depth 10 at most, whose inner nodes have
// 2 to 10 arguments. The length of a digit is 1, that of an operator 2 plus the lengths of its
// arguments. Only expressions longer than 500 and shorter than 2000 are kept, each once.
const (
	listOpsDepth = 10
	listOpsArgs  = 10
	listOpsInner = 0.25 // fraction of operators among the nodes above the largest depth
	listOpsAbove = 500
	listOpsBelow = 2000
)

var listOpsOperators = []string{"MIN", "MAX", "MED", "SM"}

// ListOps writes basic_train.tsv with n expressions, and basic_val.tsv and basic_test.tsv with
// eval expressions each, to dir in the format of LRA. It calls wrote after each file. The files are
// a function of the arguments. A folder that contains other data is an os.ErrExist. If ctx is
// cancelled, the error is its cause, and no file is truncated.
func ListOps(ctx context.Context, dir string, n, eval int, wrote func(path string, expressions int)) error {
	names := []string{"basic_train.tsv", "basic_val.tsv", "basic_test.tsv"}
	if err := claimFolder(dir, fmt.Sprintf("s4d-fast data listops --n %d --eval %d", n, eval), names...); err != nil {
		return err
	}
	for part, name := range names {
		path, n := filepath.Join(dir, name), []int{n, eval, eval}[part]
		if err := atomicfile.Write(path, 0o666, func(w io.Writer) error { return writeListOps(ctx, w, n, part) }); err != nil {
			return err
		}
		wrote(path, n)
	}
	return nil
}

// writeListOps writes the header and the n expressions of a part. Two parts have expressions in
// common only by chance.
func writeListOps(ctx context.Context, w io.Writer, n, part int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "Source\tTarget")
	seen := map[string]bool{}
	for i := 0; len(seen) < n; i++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d := expressionSampler{random.Sampler{Stream: random.New(1, random.Signal, part, i)}}
		tree, value := d.expression()
		if seen[tree] {
			continue
		}
		seen[tree] = true
		fmt.Fprintf(out, "%s\t%d\n", tree, value)
	}
	return out.Flush()
}

// expressionSampler draws expressions.
type expressionSampler struct{ random.Sampler }

// expression draws trees until one has the right length.
func (d *expressionSampler) expression() (tree string, value int) {
	for {
		var b strings.Builder
		if n, value := d.node(&b, 1); n > listOpsAbove && n < listOpsBelow {
			return b.String(), value
		}
	}
}

// node writes a subtree in the notation of the published files, "( ( ( [OP a ) b ) ] )", and
// returns its length and its value. It stops early if the tree is too long.
func (d *expressionSampler) node(b *strings.Builder, depth int) (length, value int) {
	if depth >= listOpsDepth || d.Uniform() > listOpsInner {
		value = d.Below(10)
		fmt.Fprint(b, value)
		return 1, value
	}
	op := listOpsOperators[d.Below(len(listOpsOperators))]
	args := 2 + d.Below(listOpsArgs-1)
	b.WriteString(strings.Repeat("( ", args+1))
	b.WriteString("[" + op)
	length = 2
	var values []int
	for range args {
		b.WriteByte(' ')
		n, v := d.node(b, depth+1)
		length, values = length+n, append(values, v)
		b.WriteString(" )")
		if b.Len() > 64*listOpsBelow {
			break
		}
	}
	b.WriteString(" ] )")
	return length, applyOperator(op, values)
}

// applyOperator applies an operator to at least one value. It sorts the values. MED of an even
// number of values is the mean of the two in the middle, rounded down. SM is the sum modulo 10.
func applyOperator(op string, values []int) int {
	slices.Sort(values)
	switch n := len(values); op {
	case "MIN":
		return values[0]
	case "MAX":
		return values[n-1]
	case "MED":
		return (values[(n-1)/2] + values[n/2]) / 2
	}
	sum := 0
	for _, v := range values {
		sum += v
	}
	return sum % 10
}
