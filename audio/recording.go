package audio

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// extensions are those of the formats that Open recognises.
var extensions = []string{".wav", ".wave", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".m4a", ".webm"}

// WhyIgnored returns the reason why programs that read a folder ignore a file: it is hidden, or it
// is not a recording (IsRecording). For other files it returns "".
func WhyIgnored(path string) string {
	switch {
	case filepath.Base(path)[0] == '.':
		return "hidden"
	case !IsRecording(path):
		return "not in a known format of sound"
	}
	return ""
}

// IsRecording reports whether a file is a recording: whether its name ends in .wav, .wave, .flac,
// .mp3, .ogg, .oga, .opus, .m4a or .webm, or Open recognises its content, supported or not. A file
// with one of these names that cannot be read is a broken recording. Only regular files are opened,
// because opening a named pipe would block.
func IsRecording(path string) bool {
	if slices.Contains(extensions, strings.ToLower(filepath.Ext(path))) {
		return true
	}
	f, err := datafile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = Open(f)
	return err == nil || errors.As(err, new(*UnsupportedError))
}
