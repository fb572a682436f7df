package model

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/pth"
)

// network is a network in a checkpoint: a state dict, and the prefix that wrappers such as
// torch.compile ("_orig_mod."), DataParallel ("module.") and Lightning ("model.") gave its names.
type network struct {
	state  pth.State
	prefix string
}

// name returns the value of ImportOptions.Weights for a network.
func (n network) name() string {
	return strings.Trim(n.state.Path+"."+n.prefix, ".")
}

var (
	encoderName = regexp.MustCompile(`^(|.*\.)encoder\.(0\.)?weight$`)
	averageName = regexp.MustCompile(`(^|[._])(ema|swa|avg|averaged?|shadow)([._]|$)`)
	stateNames  = []string{"", "model", "state_dict", "model_state_dict", "net"} // last keys
	wrapperName = regexp.MustCompile(`^(n_averaged|initted|step)$`)              // buffers of the wrappers
)

// rank orders the networks of a checkpoint, the one to read first: those under the usual keys,
// others, moving averages.
func (n network) rank() int {
	switch key := n.state.Path[strings.LastIndexByte(n.state.Path, '.')+1:]; {
	case averageName.MatchString(n.name()):
		return 2
	case slices.Contains(stateNames, key):
		return 0
	}
	return 1
}

// networks returns the networks in a checkpoint, those to prefer first.
func networks(states []pth.State) []network {
	var list []network
	for _, s := range states {
		for _, name := range s.Names {
			found := encoderName.FindStringSubmatch(name)
			same := func(n network) bool { return n.state.Path == s.Path && n.prefix == found[1] }
			if found != nil && !slices.ContainsFunc(list, same) {
				list = append(list, network{s, found[1]})
			}
		}
	}
	if list == nil { // the error about it will name the first missing tensor
		list = []network{{state: states[0]}}
	}
	slices.SortStableFunc(list, func(a, b network) int { return cmp.Compare(a.rank(), b.rank()) })
	return list
}

// owner returns the network of a list that a tensor of a state dict belongs to, or nil.
func owner(list []network, path, name string) (best *network) {
	for i, n := range list {
		if n.state.Path == path && strings.HasPrefix(name, n.prefix) && (best == nil || len(n.prefix) > len(best.prefix)) {
			best = &list[i]
		}
	}
	return best
}

// choose returns the state dict with the names of the network to import, and their prefix. Tensors
// of other networks in it and of wrappers are left out.
func (o ImportOptions) choose(states []pth.State) (pth.State, string, error) {
	if _, ours := states[0].Metadata[formatKey]; ours {
		return pth.State{}, "", ErrSafetensors
	}
	list := networks(states)
	var names []string
	n := list[0]
	for _, other := range list {
		names = append(names, fmt.Sprintf("%q", other.name()))
		if other.name() == o.Weights && o.Weights != "" {
			n = other
		}
	}
	switch all := strings.Join(names, ", "); {
	case o.Weights != "" && n.name() != o.Weights:
		return pth.State{}, "", &ImportOptionError{"Weights", fmt.Sprintf("%q: the file has the weights %s", o.Weights, all)}
	case o.Weights == "" && len(list) > 1:
		o.Note(fmt.Sprintf("the checkpoint has the weights %s; %s were converted", all, names[0]), "Weights")
	case n.name() != "":
		o.Note(fmt.Sprintf("the weights are those of %q", n.name()), "")
	}
	state := n.state
	state.Names = slices.DeleteFunc(slices.Clone(state.Names), func(name string) bool {
		unused := wrapperName.MatchString(name) || averageName.MatchString(name[:strings.LastIndexByte(name, '.')+1])
		if of := owner(list, state.Path, name); of != nil {
			unused = of.prefix != n.prefix
		}
		if unused {
			o.Moved(name, "")
		}
		return unused
	})
	return state, n.prefix, nil
}
