package memfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Loss selects which of the data that were not synced a power cut loses.
type Loss int

// The losses. Each value above Torn is Torn with another random seed.
const (
	Everything Loss = iota // all writes and all changes of folders
	Nothing                // none, as if only the process had ended; everything is then stored
	Torn                   // a random part of the writes and changes; writes may be truncated
)

// PowerCut returns the file system as it would be after a power cut now. f does not change.
func (f *FS) PowerCut(loss Loss) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := cut{loss: loss, nodes: map[*node]*node{}, draw: rand.New(rand.NewPCG(uint64(loss), uint64(f.n)))}
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
		out.data = c.content(n)
		out.stored = slices.Clone(out.data)
		return out
	}
	names := maps.Clone(n.synced)
	for _, change := range n.changes {
		if c.loss == Nothing || c.loss >= Torn && c.draw.IntN(2) == 0 {
			change.apply(names)
		}
	}
	out.entries = map[string]*node{}
	for _, name := range slices.Sorted(maps.Keys(names)) { // in a fixed order, since Torn draws numbers
		out.entries[name] = c.node(names[name])
	}
	out.synced = maps.Clone(out.entries)
	return out
}

// content returns what remains of a file.
func (c *cut) content(n *node) []byte {
	if c.loss == Nothing {
		return slices.Clone(n.data)
	}
	content := slices.Clone(n.stored)
	for _, w := range n.writes {
		if c.loss >= Torn && c.draw.IntN(3) > 0 {
			content = write{w.at, w.data[:c.draw.IntN(len(w.data)+1)]}.apply(content)
		}
	}
	return content
}
