package memfs

import (
	"math/rand/v2"
	"slices"
)

// Loss selects what a power cut loses of what was not synced.
type Loss int

// The losses. A Loss greater than Torn is also Torn, with other draws.
const (
	Everything Loss = iota // all of it
	Data                   // all writes; the files have their lengths, and zeros
	Names                  // all changes of folders
	Nothing                // none: only the process ended; the result is stored
	Torn                   // each write and each change of a folder or not; writes in part
)

// PowerCut returns the file system as it is found after a power cut at this moment. f does not
// change.
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
