package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/BurntSushi/toml"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
)

type dataFetchCmd struct {
	Name     string `arg:"" optional:"" help:"Data set (default: list them)."`
	Dir      string `arg:"" optional:"" help:"Folder of the data sets." default:"data" type:"path"`
	Download bool   `name:"run" help:"Download with git or curl. Without it, the commands are printed, and what they downloaded is laid out."`
}

func (c *dataFetchCmd) Help() string {
	return `Lays out DIR/NAME as train reads it. Downloads are kept in DIR/downloads until you delete them. With --run, an interrupted download continues.

Examples:
  s4d-fast data fetch
  s4d-fast data fetch fsdd --run
  s4d-fast train fsdd --data data/fsdd`
}

func (c *dataFetchCmd) Run(std *streams, ctx context.Context) error {
	var all map[string]recipe
	if err := toml.Unmarshal(recipes, &all); err != nil {
		return err
	}
	return c.fetch(ctx, std, all)
}

//go:embed data_fetch.toml
var recipes []byte

// recipe says where a public data set is, and which of its files are laid out where.
type recipe struct {
	About, Licence, Size, Git string
	Files                     [][2]string // address and SHA-256
	Pick, To                  string
}

// download is a clone or a file, and the path where it ends up.
type download struct {
	url, path, hash string
	clone           bool
}

func (r recipe) downloads(dir string) (list []download) {
	if r.Git != "" {
		return []download{{url: r.Git, path: filepath.Join(dir, "clone"), clone: true}}
	}
	for _, f := range r.Files {
		url, name, _ := strings.Cut(f[0], "#")
		list = append(list, download{url: url, path: filepath.Join(dir, cmp.Or(name, path.Base(url))), hash: f[1]})
	}
	return list
}

// command returns the command that downloads to a path. curl continues a part of a file.
func (d download) command(to string) []string {
	if d.clone {
		return []string{"git", "clone", "--depth", "1", d.url, to}
	}
	return []string{"curl", "-fL", "--create-dirs", "-C", "-", "-o", to, d.url}
}

// run downloads beside the path first, because curl fails if the file is complete, and git if there
// is a folder.
func (d download) run(ctx context.Context, log io.Writer) error {
	part := d.path + ".part"
	if d.clone {
		if err := os.RemoveAll(part); err != nil {
			return err
		}
	}
	command := d.command(part)
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Stdout, run.Stderr = log, log
	if err := run.Run(); err != nil {
		return fmt.Errorf("%s: %w", command[0], err)
	}
	return os.Rename(part, d.path)
}

func (c *dataFetchCmd) fetch(ctx context.Context, std *streams, all map[string]recipe) error {
	names := slices.Sorted(maps.Keys(all))
	if c.Name == "" {
		t := tabwriter.NewWriter(std.out, 0, 1, 2, ' ', 0)
		for _, name := range names {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", name, all[name].Size, all[name].Licence, all[name].About)
		}
		return t.Flush()
	}
	r, ok := all[c.Name]
	if !ok {
		return usageError(fmt.Errorf("data set %q: expected one of %s%s", c.Name, suggest.List(names), suggest.Hint(c.Name, names)))
	}
	target := filepath.Join(c.Dir, c.Name)
	if _, err := os.Stat(target); err == nil {
		fmt.Fprintf(std.out, "%s exists. Remove it to fetch it again.\n", target)
		return nil
	}
	fmt.Fprintf(std.out, "%s: %s. Licence: %s. Size: %s.\n", c.Name, r.About, r.Licence, r.Size)
	list := r.downloads(filepath.Join(c.Dir, "downloads", c.Name))
	for _, d := range list {
		fmt.Fprintln(std.out, strings.Join(d.command(d.path), " "))
		if d.hash != "" {
			fmt.Fprintf(std.out, "    SHA-256 %s\n", d.hash)
		}
		if c.Download && d.check() != nil {
			if err := d.run(ctx, std.err); err != nil {
				return err
			}
		}
	}
	err := r.layOut(ctx, list, target+".part")
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(std.out, "Run these commands, then this one again. Or add --run.")
		return nil
	}
	if err == nil {
		err = os.Rename(target+".part", target)
	}
	if err == nil {
		fmt.Fprintf(std.out, "Folder: %s\n", target)
	}
	return err
}

// check returns an error if the download is missing or does not have its hash.
func (d download) check() error {
	f, err := os.Open(d.path)
	if err != nil || d.hash == "" {
		return errors.Join(err, f.Close())
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil || hex.EncodeToString(h.Sum(nil)) != d.hash {
		return badInput(fmt.Errorf("%s: expected another SHA-256; delete the file and fetch it again", d.path))
	}
	return nil
}

// layOut writes the files that the recipe picks to dir.
func (r recipe) layOut(ctx context.Context, list []download, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	pick := regexp.MustCompile(cmp.Or(r.Pick, "^.*$"))
	write := func(name string, in io.Reader) error {
		name = path.Clean(name)
		m := pick.FindStringSubmatchIndex(name)
		if m == nil || ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := string(pick.ExpandString(nil, cmp.Or(r.To, "$0"), name, m))
		if err := root.MkdirAll(path.Dir(to), 0o777); err != nil {
			return err
		}
		out, err := root.Create(to)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		return errors.Join(err, out.Close())
	}
	for _, d := range list {
		if err := d.check(); err != nil {
			return err
		}
		if err := eachFile(d.path, write); err != nil {
			return fmt.Errorf("%s: %w", d.path, err)
		}
	}
	return nil
}

// eachFile calls visit with the files of a clone or an archive, or with the file itself.
func eachFile(name string, visit func(name string, in io.Reader) error) error {
	if filepath.Base(name) == "clone" {
		return eachIn(os.DirFS(name), visit)
	}
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.OpenReader(name)
		if err != nil {
			return err
		}
		defer z.Close()
		return eachIn(z, visit)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if !strings.HasSuffix(name, ".tar.gz") {
		return visit(filepath.Base(name), f)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = visit(h.Name, t)
		}
		if err != nil {
			return err
		}
	}
}

// eachIn calls visit with the files of a file system.
func eachIn(files fs.FS, visit func(name string, in io.Reader) error) error {
	return fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return visit(name, f)
	})
}
