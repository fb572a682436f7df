package convmode

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/model"
)

// Batch is a batch of sequences, padded to the same length. A network of pairs compares sequences
// 2i and 2i+1.
type Batch struct {
	Size, Len int
	X         []float32 // [Size][d_input][Len], for a linear encoder
	Tokens    []int32   // [Size][Len], for an embedding
	Lengths   []int     // [Size] true lengths, 1 … Len; nil: all are Len
}

// Step selects the random numbers of dropout, by the seed of the run and the number of the training
// step.
type Step struct {
	Seed uint64
	Step int
}

// tileFloats is the target size of a tile [H][width]: 128 KiB, so that the tiles of a block fit in
// the L2 cache of a core.
const tileFloats = 32768

// grid is the partition of a batch into tiles. It depends on shapes only.
type grid struct {
	size, length int
	width, tiles int // positions of a tile (the last may be shorter), tiles of a sequence
}

// span is a range of positions.
type span struct{ lo, hi int }

// tileWidth returns the positions of the widest tile, a multiple of lineFloats.
func tileWidth(channels int) int {
	return min(max(tileFloats/channels, 64), 512) / lineFloats * lineFloats
}

func newGrid(size, length, channels int) grid {
	widest := tileWidth(channels)
	tiles := (length + widest - 1) / widest
	width := (length + tiles - 1) / tiles
	width = (width + lineFloats - 1) / lineFloats * lineFloats
	return grid{size: size, length: length, width: width, tiles: (length + width - 1) / width}
}

// items is the number of tiles of the batch.
func (g grid) items() int { return g.size * g.tiles }

// tile returns the sequence and the positions of an item.
func (g grid) tile(item int) (b int, s span) {
	b, t := item/g.tiles, item%g.tiles
	return b, span{t * g.width, min((t+1)*g.width, g.length)}
}

// Check returns an error for a batch that Forward and ForwardTrain panic on: a size or a length out
// of range, slices of other lengths, or a token that is not in [0, d_input). A program whose tokens
// come from outside calls it first.
func (n *Net) Check(b Batch) error {
	if b.Size < 1 || b.Size > n.opt.MaxBatch {
		return fmt.Errorf("convmode: batch of %d sequences, expected 1 to %d", b.Size, n.opt.MaxBatch)
	}
	if b.Size%n.cfg.Towers() != 0 {
		return fmt.Errorf("convmode: batch of %d sequences, expected pairs", b.Size)
	}
	if b.Len < 1 || b.Len > n.opt.MaxLen {
		return fmt.Errorf("convmode: sequences of length %d, expected 1 to %d", b.Len, n.opt.MaxLen)
	}
	if n.cfg.Encoder == model.EncoderEmbedding {
		if len(b.Tokens) != b.Size*b.Len {
			return fmt.Errorf("convmode: %d tokens, expected %d × %d", len(b.Tokens), b.Size, b.Len)
		}
		if err := model.CheckTokens(b.Tokens, n.cfg.DInput); err != nil {
			return fmt.Errorf("convmode: %w", err)
		}
	} else if len(b.X) != b.Size*n.cfg.DInput*b.Len {
		return fmt.Errorf("convmode: %d input values, expected %d × %d × %d", len(b.X), b.Size, n.cfg.DInput, b.Len)
	}
	if b.Lengths == nil {
		return nil
	}
	if len(b.Lengths) != b.Size {
		return fmt.Errorf("convmode: %d lengths, expected one for each of %d sequences", len(b.Lengths), b.Size)
	}
	for i, l := range b.Lengths {
		if l < 1 || l > b.Len {
			return fmt.Errorf("convmode: length %d of sequence %d, expected 1 to %d", l, i, b.Len)
		}
	}
	return nil
}
