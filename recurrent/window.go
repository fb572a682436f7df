package recurrent

// window holds the sums of the last complete blocks, for a mean pool that looks back.
//
// Blocks are grouped in cycles as long as the window. The row of a block of this cycle is its sum;
// that of a block of the cycle before is the sum from it to its cycle's end. The window's sum is
// then that of two rows: nothing is subtracted, so nothing drifts, and a block costs O(H) on
// average, and the last of a cycle O(len(rows)). It depends on the position alone, not on how calls
// cut the signal.
type window struct {
	rows  []float64 // [blocks][H]
	cycle []float64 // [H] Σ over the blocks of this cycle
}

func newWindow(blocks, channels int) window {
	if blocks == 0 {
		return window{}
	}
	return window{rows: make([]float64, blocks*channels), cycle: make([]float64, channels)}
}

// push replaces the oldest block by the one that ends at position, whose sum is given.
func (w *window) push(sum []float64, position int64) {
	h := len(sum)
	at := w.oldest(position - blockSamples)
	copy(w.rows[at:at+h], sum)
	for i, v := range sum {
		w.cycle[i] += v
	}
	if at+h < len(w.rows) {
		return
	}
	for i := len(w.rows) - h - 1; i >= 0; i-- {
		w.rows[i] += w.rows[i+h]
	}
	clear(w.cycle)
}

// oldest returns where in rows the oldest block of a stream at position stands.
func (w *window) oldest(position int64) int {
	blocks := int64(len(w.rows) / len(w.cycle))
	return int(position/blockSamples%blocks) * len(w.cycle)
}

// sums returns two rows [H] whose sum is the window's at position; nil without a window.
func (w *window) sums(position int64) (past, cycle []float64) {
	if w.cycle == nil {
		return nil, nil
	}
	return w.rows[w.oldest(position):], w.cycle
}
