package memfs

import (
	"math/rand/v2"
	"slices"
)

// Loss selects which of the data that were not synced a power cut loses.
type Loss int

// The losses. Each value above Torn is Torn with another random seed.
const (
	Everything Loss = iota // all writes and all changes of folders
	Data                   // all writes; the files keep their lengths and contain zeros
	Names                  // all changes of folders
	Nothing                // none, as if only the process had ended; everything is then stored
	Torn                   // a random part of the writes and changes; writes may be truncated
)

// PowerCut returns the file system as it would be after a power cut now. f does not change.
func (f *FS) PowerCut(loss Loss) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := cut{loss: loss, nodes: map[*node]*node{}}
	if loss >= Torn {
		c.draw = rand.New(rand.NewPCG(uint64(loss), uint64(f.n)))
	}
	return &FS{root: c.node(f.root)}
}

// cut copies the nodes that remain after a power cut. A node with two names is copied once.
type cut struct {
	loss  Loss
	draw  *rand.Rand
	nodes map[*node]*node
}

func (c *cut) node(n *node) *node {
	if done := c.nodes[n]; done != nil {
		return done
	}
	out := &node{mode: n.mode}
	c.nodes[n] = out
	if n.entries == nil {
		out.data = slices.Clone(n.data)
		if c.loss != Nothing {
			out.data = c.content(n)
		}
		out.stored = slices.Clone(out.data)
		return out
	}
	left := folder(0)
	left.mode = n.mode
	*out = *left
	names := folder(0)
	for name, to := range n.synced {
		names.entries[name] = to
	}
	for _, change := range n.changes {
		if c.loss == Data || c.loss == Nothing || c.loss >= Torn && c.draw.IntN(2) == 0 {
			names.set(change)
		}
	}
	// Torn draws numbers: the order of the names must be fixed.
	var order []string
	for name := range names.entries {
		order = append(order, name)
	}
	slices.Sort(order)
	for _, name := range order {
		out.entries[name] = c.node(names.entries[name])
		out.synced[name] = out.entries[name]
	}
	return out
}

// content returns what remains of a file.
func (c *cut) content(n *node) []byte {
	content := slices.Clone(n.stored)
	for _, w := range n.writes {
		switch {
		case c.loss == Names:
			content = w.apply(content)
		case c.loss == Data:
			content = write{w.at, make([]byte, len(w.data))}.apply(content)
		case c.loss >= Torn && c.draw.IntN(3) > 0:
			part := w.data[:c.draw.IntN(len(w.data)+1)]
			content = write{w.at, part}.apply(content)
		}
	}
	return content
}
