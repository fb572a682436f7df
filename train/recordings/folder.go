// Package recordings reads folders of sound files, and mixes streams from them, on which word
// detectors are trained.
package recordings

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
)

// Options are the options of Folder and Clips. The zero value is usable.
type Options struct {
	SampleRate int     // Hz to which recordings are converted; 0: 16000
	MaxBytes   int64   // limit on the memory of all samples, 2 bytes per sample; 0: MaxSoundBytes
	Validation float64 // fraction of the speakers or files for validation, without a list; 0: 0.1

	// GroupBy is a regular expression on file names. Its first group, or without one its whole
	// match, names the speaker. All files of a speaker are in the same split, unless lists divide
	// them.
	GroupBy string

	// Labels are the classes in their order, such as those of the model to evaluate. Another class
	// in the folder is an error, but the folder may lack classes and splits. Nil: the folders are
	// the classes. Each must have a recording, and training and validation must have words. A note
	// lists the classes without words for validation.
	Labels []string

	// Wake is the only class: the recordings of all other folders of classes are other speech. "":
	// every folder is a class.
	Wake string

	// Split is the split whose recordings Folder reads: train, val or test. "" and "all": all
	// splits. The clips of other splits have a path and a label, but no samples.
	Split string

	SkipBroken bool // leave out broken recordings

	// Audio selects what of a recording is read. Its Note is called with the path in front of a
	// note, by one goroutine at a time.
	Audio audio.Options

	Workers int // goroutines that decode; 0: one per processor

	Progress func(done, total int) // called after each recording; may be nil
}

// defaultSampleRate suits speech, whose sounds end at about 8 kHz.
const defaultSampleRate = 16000

// Splits are the recordings of a folder by split. A split without words has no Words.
type Splits struct {
	Train, Val, Test Sounds
	Broken           []error  // broken recordings, with their path; only with SkipBroken
	Ignored          []string // files that are not recordings: path and reason
	Notes            []string // for the user, one line each
}

// Folder reads the recordings DIR/CLASS/*, in the formats of package audio, with any sampling rate
// and number of channels. It reads one channel, or the mean of all, and converts the sampling rate
// (band-limited). The names of the folders are the labels, in alphabetical order. A folder with the
// name NoneLabel is an error.
//
// A folder whose name begins with an underscore is not a class. If the name contains "background",
// "noise" or "silence", its recordings are Background. Otherwise they are Other: words that are not
// to be detected.
//
// The files validation_list.txt and testing_list.txt in DIR list the files of these splits as
// CLASS/FILE, one per line, as in Google's Speech Commands. If there is a validation list, all
// other files of the classes are for training. Without a validation list, the fraction
// opt.Validation of the speakers, at least one, is for validation. Without opt.GroupBy, it is a
// fraction of the files, selected by a hash of their names, so that a file stays in its split when
// files are added or removed; at least two of every class of eight or more files. If that selects
// no word, one file of every class is for validation.
// Background that is in no list is always split by hash.
//
// If recordings are broken, the error is a *BrokenError that names them, unless opt.SkipBroken is
// set. A recording in a class is also broken if it is longer than a minute or silent. All samples
// are kept in memory as 16-bit integers. If they take more than opt.MaxBytes, that is an error.
func Folder(ctx context.Context, dir string, opt Options) (*Splits, error) {
	s, err := scan(dir, opt)
	if err != nil {
		return nil, fmt.Errorf("recordings: %w", err)
	}
	files := slices.DeleteFunc(slices.Clone(s.files), func(f recording) bool { return !s.reads(f.split) })
	clips, broken, err := readRecordings(ctx, files, opt)
	if err != nil {
		return nil, fmt.Errorf("recordings: %w", err)
	}
	out, err := s.recordings(clips)
	if err != nil {
		return nil, fmt.Errorf("recordings: %w", err)
	}
	out.Broken = broken
	return out, nil
}

// scan lists the files of a folder with their splits.
func scan(dir string, opt Options) (*folderScan, error) {
	s, err := newFolderScan(dir, opt)
	if err == nil {
		err = s.classes()
	}
	if err == nil {
		err = s.assign()
	}
	if err == nil {
		s.noteUnvalidated()
	}
	return s, err
}

// Listing is the recordings of words in a folder.
type Listing struct {
	Labels []string
	Files  []File
	Notes  []string // for the user, one line each
}

// File is a recording to read.
type File struct {
	Path  string
	Label int
	Split string // train, val or test
}

// List lists the recordings of words that Folder reads.
func List(dir string, opt Options) (*Listing, error) {
	s, err := scan(dir, opt)
	if err != nil {
		return nil, fmt.Errorf("recordings: %w", err)
	}
	l := &Listing{Labels: s.labels, Notes: s.notes}
	for _, f := range s.files {
		if f.role == word {
			l.Files = append(l.Files, File{f.path, f.label, splitNames[f.split]})
		}
	}
	return l, nil
}

// Clips reads the recordings in folders, at any depth, in the order of their paths. It leaves out
// hidden files and folders, and files in other formats. Broken recordings are an error as for
// Folder; with opt.SkipBroken, broken has their errors.
func Clips(ctx context.Context, dirs []string, opt Options) (clips []Clip, broken []error, err error) {
	s, err := newFolderScan("", opt)
	if err != nil {
		return nil, nil, fmt.Errorf("recordings: %w", err)
	}
	for _, dir := range dirs {
		n := len(s.files)
		if err = s.walk(dir, recording{}); err == nil && len(s.files) == n {
			err = fmt.Errorf("%s contains no recordings", dir)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("recordings: %w", err)
		}
	}
	all, broken, err := readRecordings(ctx, s.files, opt)
	if err != nil {
		return nil, nil, fmt.Errorf("recordings: %w", err)
	}
	return slices.DeleteFunc(all, func(c Clip) bool { return c.Len() == 0 }), broken, nil
}

// Read reads recordings, whatever their splits. Broken ones are an error as for Folder.
func Read(ctx context.Context, list []File, opt Options) ([]Clip, error) {
	files := make([]recording, len(list))
	for i, f := range list {
		files[i].path = f.Path
	}
	clips, _, err := readRecordings(ctx, files, opt)
	for i := range clips {
		clips[i].Label = list[i].Label
	}
	return clips, err
}

// role is what a recording is for.
type role int

const (
	background role = iota
	word
	other
)

type recording struct {
	path  string
	name  string // CLASS/FILE, relative to the folder, with slashes
	role  role
	label int
	split split
}

// folderScan lists the recordings of a folder.
type folderScan struct {
	dir     string
	opt     Options
	group   *regexp.Regexp
	labels  []string
	found   []string // labels with a folder
	files   []recording
	ignored []string
	notes   []string
}

func newFolderScan(dir string, opt Options) (*folderScan, error) {
	if !(opt.Validation >= 0 && opt.Validation < 1) {
		return nil, fmt.Errorf("validation %v, expected a fraction below 1, or 0 for the default, 0.1", opt.Validation)
	}
	if !slices.Contains([]string{"", "all", "train", "val", "test"}, opt.Split) {
		return nil, fmt.Errorf("unknown split %q: expected train, val, test or all", opt.Split)
	}
	s := &folderScan{dir: dir, opt: opt, labels: opt.Labels}
	s.opt.Validation = cmp.Or(opt.Validation, 0.1)
	if opt.GroupBy != "" {
		var err error
		if s.group, err = regexp.Compile(opt.GroupBy); err != nil {
			return nil, fmt.Errorf("group_by: %w", err)
		}
	}
	return s, nil
}

// classes lists the files of all folders.
func (s *folderScan) classes() error {
	entries, err := datafile.List(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(s.dir, e.Name())
		r := recording{}
		isFolder, err := datafile.IsFolder(path)
		switch {
		case slices.Contains(splitLists, name):
			continue
		case name[0] == '.':
			s.ignore(path, "hidden")
			continue
		case err != nil:
			return err
		case !isFolder:
			s.ignore(path, "not in the folder of a class")
			continue
		case !utf8.ValidString(name):
			return fmt.Errorf("class %.80q: the name of the folder is not UTF-8 text", path)
		case name == NoneLabel:
			return fmt.Errorf("class %q (folder %s): the name is reserved for frames without a word; put other sounds into a folder such as _other or _noise", name, path)
		case name[0] != '_' && (s.opt.Wake == "" || name == s.opt.Wake):
			if s.opt.Labels == nil {
				s.labels = append(s.labels, name)
			}
			s.found = append(s.found, name)
			if r.role, r.label = word, slices.Index(s.labels, name); r.label < 0 {
				return fmt.Errorf("class %q (folder %s), expected one of %s", name, path, suggest.List(s.labels))
			}
		case !IsBackground(name):
			r.role = other
		}
		n := len(s.files)
		if r.role == background {
			err = s.walk(path, r)
		} else {
			err = s.list(path, r)
		}
		if err != nil {
			return err
		}
		if r.role == word && len(s.files) == n {
			return fmt.Errorf("the folder %s of a class contains no recordings", path)
		}
	}
	if len(s.found) == 0 && s.opt.Wake != "" {
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return fmt.Errorf("%s contains no folder %q of the word to detect%s", s.dir, s.opt.Wake, suggest.Hint(s.opt.Wake, names))
	}
	if len(s.found) == 0 {
		return datafile.NoData("%s contains no folder of a class", s.dir)
	}
	names := []string{"train", "training", "val", "valid", "validation", "dev", "test"}
	if !slices.ContainsFunc(s.found, func(name string) bool { return !slices.Contains(names, strings.ToLower(name)) }) {
		s.notes = append(s.notes, fmt.Sprintf("the folders %s are read as classes, though their names are those of splits; --data with one of them reads the folders in it as classes", suggest.List(s.found)))
	}
	return nil
}

// IsBackground reports whether a folder whose name begins with an underscore has background.
func IsBackground(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"background", "noise", "silence"}, func(s string) bool { return strings.Contains(name, s) })
}

func (s *folderScan) ignore(path, why string) {
	s.ignored = append(s.ignored, path+": "+why)
}

// list adds the files of a folder, each with the role and the label of r.
func (s *folderScan) list(dir string, r recording) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		isFolder, err := datafile.IsFolder(path)
		switch {
		case err != nil:
			return err
		case isFolder:
			s.ignore(path, "a folder in the folder of a class")
		default:
			s.add(path, r)
		}
	}
	return nil
}

// walk adds the files of a folder and of the folders in it.
func (s *folderScan) walk(dir string, r recording) error {
	return datafile.Walk(dir, func(path string) { s.add(path, r) })
}

// add adds a file if it is a recording, by its extension or by its content.
func (s *folderScan) add(path string, r recording) {
	if why := audio.WhyIgnored(path); why != "" {
		s.ignore(path, why)
		return
	}
	r.path = path
	if name, err := filepath.Rel(s.dir, path); err == nil {
		r.name = filepath.ToSlash(name)
	}
	s.files = append(s.files, r)
}

// reads reports whether the recordings of a split are read.
func (s *folderScan) reads(of split) bool {
	return s.opt.Split == "" || s.opt.Split == "all" || s.opt.Split == splitNames[of]
}

// recordings sorts all clips by split and role. clips are those that were read.
func (s *folderScan) recordings(clips []Clip) (*Splits, error) {
	out := &Splits{Ignored: s.ignored, Notes: s.notes}
	seen := make([]bool, len(s.labels))
	for _, r := range s.files {
		c := Clip{Path: r.path}
		if s.reads(r.split) {
			c, clips = clips[0], clips[1:]
			if c.Len() == 0 {
				continue // broken
			}
		}
		dst := [...]*Sounds{&out.Train, &out.Val, &out.Test}[r.split]
		switch r.role {
		case word:
			c.Label = r.label
			dst.Words = append(dst.Words, c)
			seen[r.label] = true
		case other:
			dst.Other = append(dst.Other, c)
		default:
			dst.Background = append(dst.Background, c)
		}
	}
	if i := slices.Index(seen, false); i >= 0 && s.opt.Labels == nil {
		return nil, fmt.Errorf("the folder %s of a class contains no recording that can be read", filepath.Join(s.dir, s.labels[i]))
	}
	for _, sounds := range []*Sounds{&out.Train, &out.Val, &out.Test} {
		sounds.SampleRate, sounds.Labels = float64(s.opt.rate()), s.labels
	}
	if (len(out.Train.Words) == 0 || len(out.Val.Words) == 0) && s.opt.Labels == nil {
		return nil, fmt.Errorf("%s: %d recordings for training and %d for validation, expected some of both: add recordings, or change the fraction for validation (%v)",
			s.dir, len(out.Train.Words), len(out.Val.Words), s.opt.Validation)
	}
	return out, nil
}

// rate returns the sampling rate in Hz.
func (o *Options) rate() int { return cmp.Or(o.SampleRate, defaultSampleRate) }
