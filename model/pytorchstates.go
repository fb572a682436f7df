package model

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/pth"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
)

// network is a network in a checkpoint: a state dict, and the prefix that wrappers such as
// torch.compile ("_orig_mod."), DataParallel ("module.") and Lightning ("model.") gave its names.
type network struct {
	state  pth.State
	prefix string
}

// name returns the value of ImportOptions.Weights for a network; "." is the top of the file.
func (n network) name() string {
	return cmp.Or(strings.Trim(n.state.Path+"."+n.prefix, "."), ".")
}

var (
	encoderName = regexp.MustCompile(`^(|.*\.)encoder\.(0\.)?((_orig_mod|_\w+_wrapped_module)\.)*weight$`)
	averageName = regexp.MustCompile(`(^|[._])(ema|swa|avg|averaged?|shadow|polyak|teacher|target)([._]|$)`)
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

// choose returns the state dict with the names of the network to import, and their prefix. Tensors
// of other networks in it, and of what is beside the network, such as a loss, are left out.
func (o ImportOptions) choose(states []pth.State) (pth.State, string, error) {
	if _, ours := states[0].Metadata[formatKey]; ours {
		return pth.State{}, "", ErrSafetensors
	}
	list := networks(states)
	n, err := o.pick(list)
	if err != nil {
		return pth.State{}, "", err
	}
	own, beside := n.state, []string(nil)
	own.Names = nil
	for _, name := range n.state.Names {
		switch prefix, found := n.prefixOf(name, list); {
		case found && prefix == n.prefix:
			own.Names = append(own.Names, name)
			continue
		case !found && !wrapperName.MatchString(name) && !averageName.MatchString(name[:strings.LastIndexByte(name, '.')+1]):
			beside = append(beside, name)
		}
		o.Moved(name, "")
	}
	if beside != nil {
		o.Note(fmt.Sprintf("the names of %s do not begin with %q: they are not converted", suggest.List(beside), strings.Trim(n.prefix, ".")), "Weights")
	}
	return own, n.prefix, nil
}

// pick returns the network that the option Weights names, or else the first, and notes which.
func (o ImportOptions) pick(list []network) (network, error) {
	var names, quoted []string
	for _, n := range list {
		names, quoted = append(names, n.name()), append(quoted, strconv.Quote(n.name()))
	}
	all := strings.Join(quoted, ", ")
	at := max(0, slices.Index(names, o.Weights))
	switch name := names[at]; {
	case o.Weights != "" && name != o.Weights:
		return network{}, &ImportOptionError{"Weights", fmt.Sprintf("%q: the file has the weights %s", o.Weights, all)}
	case o.Weights == "" && len(list) > 1:
		o.Note(fmt.Sprintf("the checkpoint has the weights %s; %q were converted", all, name), "Weights")
	case name != ".":
		o.Note(fmt.Sprintf("the weights are those of %q", name), "")
	}
	return list[at], nil
}

// prefixOf returns the prefix of the network of the list, in the state dict of n, that a tensor
// belongs to. Of several prefixes that its name has, the longest counts.
func (n network) prefixOf(tensor string, list []network) (longest string, found bool) {
	for _, other := range list {
		if other.state.Path == n.state.Path && strings.HasPrefix(tensor, other.prefix) && len(other.prefix) >= len(longest) {
			longest, found = other.prefix, true
		}
	}
	return longest, found
}
