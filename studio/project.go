package studio

import (
	"cmp"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// project is a folder of recordings, open.
type project struct {
	name string
	dir  string
	root rootFS
	disk atomicfile.Files // root, to write files; tests replace it

	files  sync.Mutex // held while the recordings change
	cached map[string]clip

	mu     sync.Mutex
	status status
	cancel func(cause error) // of the training run; nil: none
}

// Folder is a folder of a project with its recordings.
type folder struct {
	Name    string  `json:"name"`
	Kind    kind    `json:"kind"`
	Count   int     `json:"count"`   // of recordings
	Seconds float64 `json:"seconds"` // of the recordings in Clips
	Clips   []clip  `json:"clips"`   // in the order of their names, at most maxListed
}

type clip struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Peaks   string  `json:"peaks"`             // envelope, 40 levels 0 … 9
	Clipped bool    `json:"clipped,omitempty"` // samples reach full scale
	Error   string  `json:"error,omitempty"`   // why it cannot be read

	size, time int64 // of the file
}

// maxListed is the number of clips of a folder that are listed.
const maxListed = 400

// listProjects returns the names of the folders that can be projects, in alphabetical order.
func (s *Server) listProjects(*http.Request) (any, error) {
	entries, err := os.ReadDir(s.dir)
	names := []string{}
	for _, e := range entries {
		if e.IsDir() && checkName("project", e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return map[string]any{"folder": s.dir, "projects": names}, err
}

func (s *Server) makeProject(r *http.Request) (any, error) {
	root := rootFS{s.root}
	name, err := makeFolder("project", r, root, atomicfile.Files{FS: root})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.projects, name) // whose folder was removed
	}
	return nil, err
}

// makeFolder makes the folder of the project or the word that a request names. The name must be
// new, also where file systems ignore case, or take "é" and "e\u0301" for the same.
func makeFolder(what string, r *http.Request, root rootFS, disk atomicfile.Files) (string, error) {
	var q struct{ Name string }
	if err := readJSON(r, &q); err != nil {
		return "", err
	}
	if err := checkName(what, q.Name); err != nil {
		return "", err
	}
	entries, err := root.ReadDir(".")
	if err != nil {
		return "", err
	}
	exists := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), q.Name) })
	if !exists {
		// it outlasts a power cut, and only the user can read recordings of voices
		if err = disk.Mkdir(q.Name, 0o700); err == nil {
			err = disk.SyncFolder(filepath.Dir(q.Name))
		}
	}
	if exists || errors.Is(err, fs.ErrExist) {
		return "", fail(http.StatusConflict, "%s %q exists, or another file or link of this name", what, q.Name)
	}
	return q.Name, err
}

// open returns a project by its name.
func (s *Server) open(name string) (*project, error) {
	if err := checkName("project", name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fail(http.StatusServiceUnavailable, "%v", errClosed)
	}
	if p := s.projects[name]; p != nil {
		return p, nil
	}
	root, err := s.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	p := &project{name: name, dir: filepath.Join(s.dir, name), root: rootFS{root}, disk: atomicfile.Files{FS: rootFS{root}}, cached: map[string]clip{}}
	_ = p.disk.RemoveTemporary(modelFile, previousFile) // of a crash; what remains is only a waste of space
	if err := p.loadDetector(); err != nil {
		s.cfg.Log.Warn("the results of the last training run cannot be read", "project", name, "error", err)
	}
	s.projects[name] = p
	return p, nil
}

// folders lists the folders of the project: words first, in alphabetical order.
func (p *project) folders() ([]folder, error) {
	p.files.Lock()
	defer p.files.Unlock()
	entries, err := p.root.ReadDir(".")
	if err != nil {
		return nil, err
	}
	list := []folder{}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || strings.HasPrefix(name, ".") {
			continue
		}
		f := folder{Name: name, Kind: kindOf(name), Clips: []clip{}}
		files, err := p.clips(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another program has removed it
		}
		if err != nil {
			return nil, err
		}
		f.Count = len(files)
		for _, file := range files[:min(len(files), maxListed)] {
			c := p.describe(name, file)
			f.Seconds += c.Seconds
			f.Clips = append(f.Clips, c)
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b folder) int { return -cmp.Compare(a.Kind, b.Kind) })
	return list, nil
}

// soundTypes are the files that count as recordings, with their media types.
var soundTypes = map[string]string{
	".wav": "audio/wav", ".wave": "audio/wav", ".flac": "audio/flac", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".oga": "audio/ogg",
	".opus": "audio/ogg", ".m4a": "audio/mp4", ".webm": "audio/webm",
}

// clips returns the recordings in a folder, in the order of their names.
func (p *project) clips(folder string) ([]fs.FileInfo, error) {
	entries, err := p.root.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var list []fs.FileInfo
	for _, e := range entries {
		if soundTypes[strings.ToLower(filepath.Ext(e.Name()))] == "" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if info, err := p.root.Stat(folder + "/" + e.Name()); err == nil && info.Mode().IsRegular() {
			list = append(list, info)
		}
	}
	return list, nil
}

// describe describes a recording. It reads each version of a file once.
func (p *project) describe(folder string, info fs.FileInfo) clip {
	key := folder + "/" + info.Name()
	size, time := info.Size(), info.ModTime().UnixNano()
	if c, ok := p.cached[key]; ok && c.size == size && c.time == time {
		return c
	}
	c := clip{Name: info.Name(), size: size, time: time}
	if x, err := p.read(key); err != nil {
		c.Error = err.Error()
	} else {
		c.Seconds = float64(len(x)) / rate
		c.Peaks, c.Clipped = envelope(x)
	}
	p.cached[key] = c
	return c
}

// maxSeconds is the longest recording of a project that is read: 2²⁸ samples. Tests replace it.
var maxSeconds = 1 << 28 / rate

func (p *project) read(name string) ([]float32, error) {
	f, err := p.disk.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decode(f, maxSeconds)
}

func (s *Server) showProject(p *project, r *http.Request) (any, error) {
	p.mu.Lock()
	sounds := p.status.Sounds // before the files are read: a later change is seen again
	p.mu.Unlock()
	list, err := p.folders()
	return map[string]any{"name": p.name, "folder": p.dir, "sounds": sounds, "folders": list}, err
}

func (s *Server) showStatus(p *project, r *http.Request) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status, nil
}

func (s *Server) makeWord(p *project, r *http.Request) (any, error) {
	p.files.Lock()
	defer p.files.Unlock()
	_, err := makeFolder("word", r, p.root, p.disk)
	if err == nil {
		p.soundsChanged()
	}
	return nil, err
}

// deleteWord deletes a word with its recordings, also temporary ones, and hidden files. If its
// folder has anything else, nothing is deleted.
func (s *Server) deleteWord(p *project, r *http.Request) (any, error) {
	name := r.PathValue("word")
	if err := checkName("word", name); err != nil {
		return nil, err
	}
	p.files.Lock()
	defer p.files.Unlock()
	defer p.soundsChanged()
	files, err := p.root.ReadDir(name)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		of, _ := atomicfile.TemporaryOf(f.Name())
		if f.IsDir() || !strings.HasPrefix(of, ".") && soundTypes[strings.ToLower(filepath.Ext(of))] == "" {
			return nil, fail(http.StatusConflict, "the folder of %q has something other than recordings, %q: move it away first. Nothing was deleted", name, f.Name())
		}
	}
	for _, f := range files {
		if err := unlessGone(p.root.Remove(name + "/" + f.Name())); err != nil {
			return nil, err
		}
	}
	return nil, unlessGone(p.remove(name))
}
