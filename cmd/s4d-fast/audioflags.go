package main

import (
	"sync"

	"github.com/s4d-fast/s4d-fast/audio"
)

// audioFlags select what of sound files is read, and how.
type audioFlags struct {
	Channel  *int `help:"The only channel to read, from 0 (default: the mean of all)." placeholder:"N"`
	NoFFmpeg bool `name:"no-ffmpeg" help:"Do not decode other formats, such as Opus and M4A, with ffmpeg, if it is installed."`
}

// options returns the options of a reader whose notes, with a name in front, are added to notes.
func (f audioFlags) audio(notes *audioNotes, name string) audio.Options {
	return audio.Options{Channel: f.Channel, FFmpeg: !f.NoFFmpeg, Note: func(text string) { notes.add(name + ": " + text) }}
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

func (n *audioNotes) texts() []string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.list
}
