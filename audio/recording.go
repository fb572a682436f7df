package audio

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// extensions are those of the formats that Open recognises.
var extensions = []string{".wav", ".wave", ".flac", ".mp3", ".ogg", ".oga"}

// WhyIgnored returns the reason why programs that read a folder ignore a file: it is hidden, or it
// is not a recording (IsRecording). For other files it returns "".
func WhyIgnored(path string) string {
	switch {
	case filepath.Base(path)[0] == '.':
		return "hidden"
	case !IsRecording(path):
		return "not WAV, FLAC, MP3 or Ogg Vorbis"
	}
	return ""
}

// IsRecording reports whether a file is a recording: whether its name ends in .wav, .wave, .flac,
// .mp3, .ogg or .oga, or Open recognises its content. A file with one of these names that cannot be
// read is a broken recording. Only regular files are opened, because opening a named pipe would
// block.
func IsRecording(path string) bool {
	if slices.Contains(extensions, strings.ToLower(filepath.Ext(path))) {
		return true
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = Open(f)
	return err == nil
}
