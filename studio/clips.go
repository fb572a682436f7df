package studio

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// rate is the sampling rate of the recordings that the page makes, and of its models, in Hz.
const rate = 16000

// Limits of an upload.
const (
	maxUpload     = 96 << 20 // bytes
	maxWordUpload = 120      // seconds of clips of a word
	maxLongUpload = 900      // seconds of background or of other sounds
	pieceSeconds  = 5        // background and other sounds are divided into pieces of this length
)

// folderOf returns the folder in a request's path: that of a word, or one whose name begins with an
// underscore.
func folderOf(r *http.Request) (string, error) {
	name := r.PathValue("folder")
	if len(name) > maxFolder {
		return "", badRequest("folder %.40q…: expected at most %d bytes", name, maxFolder)
	}
	return name, checkName("folder", strings.TrimLeft(name, "_"))
}

// addClips adds the sounds of an upload to a folder. Recordings of a word are divided at pauses
// into clips with one sound each; with ?take=loudest, only the loudest sound is added. Background
// is divided into pieces. Other sounds are kept whole up to the same length.
func (s *Server) addClips(p *project, r *http.Request) (any, error) {
	name, err := folderOf(r)
	if err != nil {
		return nil, err
	}
	k := kindOf(name)
	if k == word {
		if _, err := p.root.Stat(name); err != nil {
			return nil, err
		}
	}
	pieces, skipped, err := cut(r, k, r.URL.Query().Get("take") == "loudest")
	if err != nil {
		return nil, err
	}
	added, err := p.add(name, pieces)
	return map[string]any{"added": added, "skipped": skipped}, err
}

// cut reads the recording in a request's body and divides it.
func cut(r *http.Request, k kind, loudest bool) (pieces [][]float32, skipped []string, err error) {
	most := maxLongUpload
	if k == word {
		most = maxWordUpload
	}
	x, err := decode(r.Body, most)
	if err != nil {
		return nil, nil, err
	}
	if silent(x) {
		return nil, nil, badRequest("the recording is silent: check that the right microphone is selected and that it is not muted")
	}
	if k != word {
		return divide(x, pieceSeconds*rate), []string{}, nil
	}
	return utterances(x, loudest)
}

// decode reads a recording of at most so many seconds, as one channel at the studio's rate.
func decode(r io.Reader, most int) ([]float32, error) {
	file, err := audio.Options{FFmpeg: true}.Open(r)
	var x []float32
	if err == nil {
		defer file.Close()
		x, err = file.ReadMono(rate, most*rate)
	}
	switch {
	case errors.Is(err, audio.ErrTooLong):
		return nil, fail(http.StatusRequestEntityTooLarge, "the recording is longer than %d seconds", most)
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, err
	case err != nil:
		return nil, badRequest("the recording cannot be read: %v", err)
	case len(x) == 0:
		return nil, badRequest("the recording is empty")
	}
	return x, nil
}

// add writes recordings to a folder, which it makes if its name begins with an underscore, and
// returns their names.
func (p *project) add(name string, pieces [][]float32) ([]string, error) {
	p.files.Lock()
	defer p.files.Unlock()
	defer p.soundsChanged()
	if kindOf(name) != word {
		if err := p.disk.MkdirAll(name, 0o700); err != nil {
			return nil, err
		}
	}
	added := []string{}
	next, err := p.nextClip(name) // fails if the folder is a link that leads out of the project
	if err != nil {
		return nil, err
	}
	for _, x := range pieces {
		clip := clipName(next)
		if err := p.writeWAV(name+"/"+clip, x); err != nil {
			return added, err
		}
		added = append(added, clip)
		next++
	}
	return added, nil
}

func clipName(n int) string { return fmt.Sprintf("clip-%03d.wav", n) }

// nextClip returns the lowest number that is above those of all clips in a folder. It ignores the
// case of their names, as some file systems do.
func (p *project) nextClip(folder string) (int, error) {
	entries, err := p.root.ReadDir(folder)
	last := 0
	for _, e := range entries {
		text, _ := strings.CutPrefix(strings.TrimSuffix(strings.ToLower(e.Name()), ".wav"), "clip-")
		if n, err := strconv.Atoi(text); err == nil {
			last = max(last, n)
		}
	}
	return last + 1, err
}

// clipOf returns the folder and the name of the clip in a request's path. The clip exists.
func (p *project) clipOf(r *http.Request) (folder, name string, err error) {
	if folder, err = folderOf(r); err != nil {
		return "", "", err
	}
	name = r.PathValue("clip")
	if strings.ContainsAny(name, "/\\:\x00") || len(name) > 255 || strings.HasPrefix(name, ".") || soundTypes[strings.ToLower(filepath.Ext(name))] == "" {
		return "", "", badRequest("recording %q: expected the name of a sound file", name)
	}
	info, err := p.root.Stat(folder + "/" + name)
	if err == nil && !info.Mode().IsRegular() {
		return "", "", badRequest("recording %q of %q is not a regular file", name, folder)
	}
	return folder, name, err
}

func (s *Server) getClip(p *project, r *http.Request) (any, error) {
	folder, name, err := p.clipOf(r)
	if err != nil {
		return nil, err
	}
	return p.file(folder+"/"+name, soundTypes[strings.ToLower(filepath.Ext(name))])
}

// file returns a handler that serves a file of the project as the media type kind.
func (p *project) file(name, kind string) (any, error) {
	info, err := p.root.Stat(name)
	if err == nil {
		err = datafile.Regular(name, info)
	}
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		http.ServeFileFS(w, r, p.root.FS(), name)
	}), nil
}

// replaceClip replaces a clip of a word by the loudest sound of an upload. A clip in another format
// than WAV is deleted, and the new one has the next number.
func (s *Server) replaceClip(p *project, r *http.Request) (any, error) {
	folder, name, err := p.clipOf(r)
	if err != nil {
		return nil, err
	}
	if kindOf(folder) != word {
		return nil, badRequest("recording %q of %q: only clips of words can be recorded again", name, folder)
	}
	pieces, skipped, err := cut(r, word, true)
	if err != nil {
		return nil, err
	}
	p.files.Lock()
	defer p.files.Unlock()
	defer p.soundsChanged()
	wav := name
	if filepath.Ext(name) != ".wav" {
		next, err := p.nextClip(folder)
		if err != nil {
			return nil, err
		}
		wav = clipName(next)
	}
	if err := p.writeWAV(folder+"/"+wav, pieces[0]); err != nil {
		return nil, err
	}
	if wav != name {
		if err := unlessGone(p.remove(folder + "/" + name)); err != nil {
			return nil, err
		}
	}
	return map[string]any{"added": []string{wav}, "skipped": skipped}, nil
}

func (s *Server) deleteClip(p *project, r *http.Request) (any, error) {
	folder, name, err := p.clipOf(r)
	if err != nil {
		return nil, err
	}
	p.files.Lock()
	defer p.files.Unlock()
	defer p.soundsChanged()
	return nil, p.remove(folder + "/" + name)
}
