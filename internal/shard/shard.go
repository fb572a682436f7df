// Package shard defines how a batch of training is divided into shards, and the order in which
// their sums are added (docs/maths.md §22).
//
// The order is a binary tree over the shards. The node of shards [lo, hi) is the sum of the nodes
// [lo, mid) and [mid, hi) with mid = ⌊(lo + hi)/2⌋. It depends on the number of shards alone, so
// the bits of a sum do not depend on which process computes which node.
package shard

import "fmt"

// Span is a range of shards, or of examples: [Lo, Hi).
type Span struct{ Lo, Hi int }

// Len returns the number of elements.
func (s Span) Len() int { return s.Hi - s.Lo }

// Of returns part i of total elements that are divided into the given number of parts. The sizes of
// the parts differ by at most one.
func Of(total, parts, i int) Span { return Span{i * total / parts, (i + 1) * total / parts} }

// Cover returns the largest nodes of the tree over total shards that lie in s, in order. If s is a
// node itself, it is the only one. There are at most 2·log2(total) of them.
func Cover(total int, s Span) []Span { return cover(nil, Span{0, total}, s) }

func cover(list []Span, node, s Span) []Span {
	switch {
	case s.Lo <= node.Lo && node.Hi <= s.Hi:
		return append(list, node)
	case node.Hi <= s.Lo || s.Hi <= node.Lo:
		return list
	}
	mid := (node.Lo + node.Hi) / 2
	return cover(cover(list, Span{node.Lo, mid}, s), Span{mid, node.Hi}, s)
}

// Addition is one step of a sum: the term with index From is added to that with index To.
type Addition struct{ To, From int }

// Additions returns the steps that leave in terms[0] the sum of all terms. The terms are
// consecutive nodes of a tree, which together are one node.
func Additions(terms []Span) []Addition {
	list, used := add(nil, terms, Span{terms[0].Lo, terms[len(terms)-1].Hi}, 0)
	if used != len(terms) {
		panic(fmt.Sprintf("shard: %v are not consecutive nodes", terms))
	}
	return list
}

// add appends the steps for a node whose first term has the given index. It returns the index after
// its last term.
func add(list []Addition, terms []Span, node Span, first int) (steps []Addition, next int) {
	if terms[first] == node {
		return list, first + 1
	}
	if node.Len() < 2 {
		panic(fmt.Sprintf("shard: %v are not consecutive nodes", terms))
	}
	mid := (node.Lo + node.Hi) / 2
	list, right := add(list, terms, Span{node.Lo, mid}, first)
	list, next = add(list, terms, Span{mid, node.Hi}, right)
	return append(list, Addition{first, right}), next
}

// Leaves returns the shards of s as nodes.
func Leaves(s Span) []Span {
	list := make([]Span, s.Len())
	for i := range list {
		list[i] = Span{s.Lo + i, s.Lo + i + 1}
	}
	return list
}
