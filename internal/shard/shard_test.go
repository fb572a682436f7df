package shard_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/shard"
)

// sum computes a sum of strings that shows the order of the additions.
func sum(terms []shard.Span, values []string) string {
	values = slices.Clone(values)
	for _, a := range shard.Additions(terms) {
		values[a.To] = "(" + values[a.To] + values[a.From] + ")"
	}
	return values[0]
}

// The order of additions is the same for every number of processes.
func TestOrder(t *testing.T) {
	for total := 1; total <= 40; total++ {
		leaves := shard.Leaves(shard.Span{Hi: total})
		names := make([]string, total)
		for i := range names {
			names[i] = fmt.Sprint(i, " ")
		}
		want := sum(leaves, names)
		for ranks := 1; ranks <= total; ranks++ {
			var nodes []shard.Span
			var sums []string
			for rank := range ranks {
				for _, node := range shard.Cover(total, shard.Of(total, ranks, rank)) {
					nodes = append(nodes, node)
					sums = append(sums, sum(shard.Leaves(node), names[node.Lo:node.Hi]))
				}
			}
			must.Equal(t, sum(nodes, sums), want, "%d shards of %d ranks", total, ranks)
			if total%ranks == 0 && total&(total-1) == 0 {
				must.Equal(t, len(nodes), ranks, "%d shards of %d ranks: nodes", total, ranks)
			}
		}
	}
	must.Equal(t, sum(shard.Leaves(shard.Span{Hi: 4}), []string{"a", "b", "c", "d"}), "((ab)(cd))", "sum of four")
}

func TestNotANode(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("shards 1 and 3 were added, expected a panic")
		}
	}()
	shard.Additions([]shard.Span{{1, 2}, {3, 4}})
}
