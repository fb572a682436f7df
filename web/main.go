// Command web builds a page that recognises words in a browser. Any file server can serve the
// folder that it writes. With -listen, the command serves the folder itself, to this machine only:
//
//	go run ./web -out site -listen localhost:8080
package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

//go:embed page
var page embed.FS

func main() {
	out := flag.String("out", "site", "write the page to this `folder`")
	listen := flag.String("listen", "", "then serve the folder at this loopback `address`, such as localhost:8080")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	err := build(*out, os.Stdout)
	if err == nil && *listen != "" {
		err = serve(*out, *listen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

// build writes the page to a folder, and the size of its files to w.
func build(dir string, w io.Writer) error {
	files, err := contents()
	if err != nil {
		return err
	}
	if err := atomicfile.System().MkdirAll(dir, 0o777); err != nil {
		return err
	}
	total := 0
	for name, data := range files {
		if err := atomicfile.Write(filepath.Join(dir, name), 0o666, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		}); err != nil {
			return err
		}
		total += len(data)
	}
	fmt.Fprintf(w, "%s: %.2f MB, of which %.2f MB are the compressed engine with its models\n", dir, 1e-6*float64(total), 1e-6*float64(len(files[engine])))
	return nil
}

const engine = "s4d.wasm.gz"

// contents returns the files of the page by name: those of the folder page, the engine, and Go's
// support for it.
func contents() (map[string][]byte, error) {
	root, err := run(nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	if files["wasm_exec.js"], err = os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js")); err != nil {
		return nil, err
	}
	entries, err := page.ReadDir("page")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if files[e.Name()], err = fs.ReadFile(page, "page/"+e.Name()); err != nil {
			return nil, err
		}
	}
	files[engine], err = compile()
	return files, err
}

// compile returns the compressed engine.
func compile() ([]byte, error) {
	dir, err := os.MkdirTemp("", "s4d-fast-web")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s4d.wasm")
	if _, err := run([]string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path,
		"github.com/s4d-fast/s4d-fast/web/wasm"); err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(wasm)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// run runs a program and returns its standard output.
func run(env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return out, nil
}

// serve serves a folder to this machine.
func serve(dir, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if a := l.Addr().(*net.TCPAddr); !a.IP.IsLoopback() {
		l.Close()
		return fmt.Errorf("listen on %s: expected a loopback address, such as localhost:8080", address)
	}
	fmt.Printf("http://%s\n", l.Addr())
	return http.Serve(l, http.FileServer(http.Dir(dir)))
}
