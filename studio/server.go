package studio

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/filelock"
)

//go:embed static
var static embed.FS

// Config are the options of New.
type Config struct {
	Dir     string // folder of the projects; New makes it if it does not exist
	Workers int    // goroutines that train, at most train.MaxThreads; 0: one per processor

	// Epochs and Streams are the budget of a training run: its number of epochs, and the number of
	// streams that are mixed in each. 0: defaults that suit a few dozen clips.
	Epochs, Streams int

	Log *slog.Logger // of failures that are not the client's; nil: none
}

// The default budget of a training run: with batches of 16 streams, 400 steps.
const (
	defaultEpochs  = 10
	defaultStreams = 640
)

// Server is the http.Handler of the page and of its interface. It serves clients of this machine
// only: the Host of a request must name the loopback.
type Server struct {
	cfg     Config
	dir     string // absolute
	root    *os.Root
	lock    io.Closer // of the folder
	token   string
	handler http.Handler

	ctx  context.Context // ends at Close, with errClosed
	stop context.CancelCauseFunc
	work sync.WaitGroup // training runs and live sessions

	mu       sync.Mutex
	projects map[string]*project // those that were opened
	training *project            // at most one at a time
	closed   bool
}

var errClosed = errors.New("the studio was stopped")

// lockFile locks the folder of the projects.
const lockFile = ".lock"

// New returns a server of the projects in a folder, which it locks against other servers. Close
// stops what it runs.
func New(cfg Config) (*Server, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Epochs, cfg.Streams = cmp.Or(cfg.Epochs, defaultEpochs), cmp.Or(cfg.Streams, defaultStreams)
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.System().MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.Try(filepath.Join(dir, lockFile))
	switch {
	case err != nil:
		return nil, fmt.Errorf("studio: %w", err)
	case !lock.Locked():
		cfg.Log.Warn("the folder cannot be locked on its file system: do not use it with another studio", "folder", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s := &Server{cfg: cfg, dir: dir, root: root, lock: lock, token: rand.Text(), projects: map[string]*project{}}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.handler = s.routes()
	return s, nil
}

// Token returns the secret that requests of the interface must have. The page reads it from the
// fragment of its address, #token=….
func (s *Server) Token() string { return s.token }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close cancels the training run, ends all live sessions and waiting requests, and waits for them.
// What was recorded stays on disk.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop(errClosed)
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.root.Close()
	for _, p := range s.projects {
		err = errors.Join(err, p.root.Close())
	}
	return errors.Join(err, s.lock.Close())
}

// begin counts a piece of work for which Close waits. It returns false after Close.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Add(1)
	}
	return !s.closed
}

// routes returns the handler of all requests.
func (s *Server) routes() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	api := http.NewServeMux()
	api.HandleFunc("GET /api/projects", s.answer(s.listProjects))
	api.HandleFunc("POST /api/projects", s.answer(s.makeProject))
	for pattern, h := range map[string]func(*project, *http.Request) (any, error){
		"GET /api/projects/{project}":                           s.showProject,
		"GET /api/projects/{project}/status":                    s.showStatus,
		"POST /api/projects/{project}/words":                    s.makeWord,
		"DELETE /api/projects/{project}/words/{word}":           s.deleteWord,
		"POST /api/projects/{project}/sounds/{folder}":          s.addClips,
		"GET /api/projects/{project}/sounds/{folder}/{clip}":    s.getClip,
		"PUT /api/projects/{project}/sounds/{folder}/{clip}":    s.replaceClip,
		"DELETE /api/projects/{project}/sounds/{folder}/{clip}": s.deleteClip,
		"POST /api/projects/{project}/training":                 s.startTraining,
		"DELETE /api/projects/{project}/training":               s.cancelTraining,
		"GET /api/projects/{project}/model":                     func(p *project, _ *http.Request) (any, error) { return p.file(modelFile, "application/octet-stream") },
		"GET /api/projects/{project}/live":                      s.listen,
	} {
		api.HandleFunc(pattern, s.answer(func(r *http.Request) (any, error) {
			p, err := s.open(r.PathValue("project"))
			if err != nil {
				return nil, err
			}
			return h(p, r)
		}))
	}
	all := http.NewServeMux()
	all.Handle("/api/", s.authorized(api))
	all.Handle("/", http.FileServerFS(files))
	return s.local(all)
}
