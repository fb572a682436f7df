package vek_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// embedCase is one call of Embed and one of EmbedGrad.
type embedCase struct {
	channels, tokens, length, gap int
}

func (e embedCase) check(t *testing.T, c *kernelCall, r *rand.Rand) {
	t.Helper()
	table, dx := matrix(r, e.tokens, e.channels), matrix(r, e.channels, e.length)
	ids := make([]int32, e.length)
	for i := range ids {
		ids[i] = int32(r.IntN(e.tokens))
	}
	c.Again()
	in, out := c.InMatrix(table, e.channels+e.gap), c.OutMatrix(e.channels, e.length, e.length+e.gap)
	if !c.Do(func() { vek.Embed(out, in, ids) }) {
		t.Fatalf("Embed %+v", e)
	}
	for h := range e.channels {
		for i, id := range ids {
			if got, want := out.Row(h)[i], table.Row(int(id))[h]; got != want {
				t.Fatalf("Embed %+v: channel %d of token %d is %v, expected %v", e, h, i, got, want)
			}
		}
	}
	c.Again()
	sum, grad := c.InOutMatrix(table, e.channels+e.gap), c.InMatrix(dx, e.length+e.gap)
	if !c.Do(func() { vek.EmbedGrad(sum, grad, ids) }) {
		t.Fatalf("EmbedGrad %+v", e)
	}
	for i, id := range ids { // in the order of tokens, so that the sums have the same bits
		for h := range e.channels {
			table.Row(int(id))[h] += dx.Row(h)[i]
		}
	}
	for id := range e.tokens {
		sameBits(t, fmt.Sprintf("EmbedGrad %+v: token %d", e, id), sum.Row(id), table.Row(id))
	}
}

func TestEmbed(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		r := generator(1)
		for _, channels := range []int{1, 7, 8, 9, 16, 31} {
			for _, length := range []int{0, 1, 7, 8, 9, 16, 33} {
				embedCase{channels, 1 + length%5, length, channels % 3}.check(t, c, r)
			}
		}
	})
}

func benchEmbed(b *testing.B, f func(x, table vek.Matrix, ids []int32)) {
	const tokens = 256
	x, r := benchTile(1), generator(2)
	table, ids := matrix(r, tokens, x.Rows), make([]int32, x.Cols)
	for i := range ids {
		ids[i] = int32(r.IntN(tokens))
	}
	benchElements(b, fmt.Sprintf("channels=%d/length=%d", x.Rows, x.Cols), x.Rows*x.Cols, func() { f(x, table, ids) })
}

func BenchmarkEmbed(b *testing.B) { benchEmbed(b, vek.Embed) }

func BenchmarkEmbedGrad(b *testing.B) {
	benchEmbed(b, func(x, table vek.Matrix, ids []int32) { vek.EmbedGrad(table, x, ids) })
}
