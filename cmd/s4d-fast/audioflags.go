package main

import (
	"fmt"
	"slices"
	"sync"

	"github.com/s4d-fast/s4d-fast/audio"
)

// audioFlags select what of sound files is read, and how.
type audioFlags struct {
	Channel *int `help:"The only channel to read, from 0; -1: the mean of all (default: the mean, with a note if the channels differ)." placeholder:"N"`
}

// audio returns the options of a reader, whose notes are added to notes, with a name in front.
func (f audioFlags) audio(notes *audioNotes, name string) audio.Options {
	return audio.Options{Channel: f.Channel, FFmpeg: true, Note: func(text string) {
		if name != "" {
			text = name + ": " + text
		}
		notes.add(text)
	}}
}

// audioNotes are the notes of readers, which other goroutines may call.
type audioNotes struct {
	mutex sync.Mutex
	list  []string
}

func (n *audioNotes) add(text string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.list = append(n.list, text)
}

// take returns the notes since the last call, in alphabetical order, because recordings are read in
// any.
func (n *audioNotes) take() []string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	list := n.list
	n.list = nil
	slices.Sort(list)
	list = slices.Compact(list) // some are read twice
	if more := len(list) - maxNotes; more > 0 {
		list = append(list[:maxNotes], fmt.Sprintf("%d more notes on recordings", more))
	}
	return list
}

const maxNotes = 10
