package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct{}

func (c *completionCmd) Help() string {
	return `Prints a script for bash, and for zsh after 'autoload bashcompinit && bashcompinit'. To use it in this shell:
  source <(s4d-fast completion)`
}

func (c *completionCmd) Run(std *streams, given *kong.Context) error {
	fmt.Fprintln(std.out, "declare -A _s4d_fast_words=(")
	writeWords(std.out, given.Model.Node, "")
	_, err := fmt.Fprint(std.out, `)
_s4d_fast() {
	local command= word
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[[ -z ${_s4d_fast_words[$command $word]} ]] || command+=" $word"
	done
	COMPREPLY=($(compgen -W "${_s4d_fast_words[${command:- }]}" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _s4d_fast s4d-fast
`)
	return err
}

// writeWords writes the commands and flags that may follow a command and its subcommands.
func writeWords(w io.Writer, command *kong.Node, path string) {
	var words []string
	for _, child := range command.Children {
		words = append(words, child.Name)
		defer writeWords(w, child, path+" "+child.Name)
	}
	for _, group := range command.AllFlags(true) {
		for _, flag := range group {
			words = append(words, "--"+flag.Name)
		}
	}
	fmt.Fprintf(w, "\t[%q]=%q\n", cmp.Or(path, " "), strings.Join(words, " "))
}
