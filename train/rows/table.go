package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Layouts of a table.
const (
	LayoutLong  = "long"  // a line of the file is a row of a series; a column identifies the series
	LayoutWide  = "wide"  // a line of the file is a series
	LayoutFiles = "files" // a file of a folder is a series
)

// TableOptions describe the columns of a table.
type TableOptions struct {
	Options
	// Layout is one of the constants. "" is LayoutFiles for a folder of series, LayoutLong for a
	// forecast or if ID or Time is set, and otherwise LayoutWide. In JSON Lines, an object with an
	// array is a series, and other objects are rows, whatever the layout.
	Layout string
	ID     string // column that identifies the series; "": a long table is one series
	Time   string // column by which the rows of a series are sorted; "": they are sorted
	Split  string // column whose values are train, val or test
	// Separator, Decimal and Comment are those of table.Options: a character, tab or space; a point
	// or a comma; what comments begin with, or none. TimeFormat is dmy or mdy, the order of day and
	// month, or a pattern such as %d/%m/%Y. "": the files decide.
	Separator, Decimal, Comment, TimeFormat string
	// Columns are the input columns. Nil: all columns that no other option names. For a wide table
	// they are channels: the columns acc_0, acc_1 … are the channel acc.
	Columns []string
}

// Check returns an error for the first option that is invalid whatever the data are.
func (o TableOptions) Check() error {
	return cmp.Or(o.Options.Check(), table.Options{Separator: o.Separator, Decimal: o.Decimal}.Check(), (&dates{format: o.TimeFormat}).check())
}

// Table reads series from a CSV file, from JSON (.jsonl, .ndjson or .json), or from a folder of
// such files, which may be compressed (.gz). Files called NAME_TRAIN, NAME_VAL and NAME_TEST are
// the splits of one data set; path is one of them or their folder. In a folder with one file per
// series, subfolders may be the classes.
//
// The first line of a CSV file is a header if it has no number, or if it has a name that an option
// uses. Without a header, the names of the columns are 1, 2 …, and a note of the data set says so,
// because a header with numbers is read as data. A missing value is an empty cell or a word such as
// NA, null or unavailable. Infinite values are errors. The column Time has numbers or times; with
// it, a missing row counts as a row of missing values. Time may be several names with commas
// between them: a date and a time of day, or the parts of a time from the year on. Missing values
// at the end of a line of a wide table mark the end of the series. Columns without a number, or
// with one value, are left out, unless an option names them. Notes of the data set tell how the
// files were read if there was a choice.
//
// Errors in the content state the file, line and column. A table takes 4 bytes of memory per value,
// about 300 bytes per series, and, while it is read, 16 bytes more per value and the memory of the
// longest line. The limits are 2^28 values, 2^22 series and 64 MiB per line.
func Table(ctx context.Context, path string, opt TableOptions) (*dataset.Dataset, error) {
	t := newTableReader(opt)
	d, err := t.load(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	return d, nil
}

// tableReader collects the series of files.
type tableReader struct {
	opt     TableOptions
	folder  bool     // one series per file
	columns []string // of the input; nil before the first file
	series  []*rawSeries
	byID    map[string]*rawSeries
	values  int
	dates   dates
	epoch   *int64 // the first time
	blank   int    // lines without a value after the last row
	noted   []string
	// A column without a number so far may be text: its first error is kept.
	withoutNumber map[string]error
	hasNumber     map[string]bool
	word          map[string]string // the first such as off, which is 0
}

func newTableReader(opt TableOptions) *tableReader {
	return &tableReader{
		opt: opt, byID: map[string]*rawSeries{}, dates: dates{format: opt.TimeFormat},
		withoutNumber: map[string]error{}, hasNumber: map[string]bool{}, word: map[string]string{},
	}
}

// sample matches the number of the cell that a note quotes as an example, and not its unit.
var sample = regexp.MustCompile(`[\d.,]+([^"\d]*" is read as )\S+|="[^"]*"`)

// addNote adds a note about a file, unless there is the same about another one or another cell.
func (t *tableReader) addNote(path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	kind := func(note string) string { return sample.ReplaceAllString(note, "$1") }
	if !slices.ContainsFunc(t.noted, func(s string) bool { return strings.HasSuffix(kind(s), kind(text)) }) {
		t.noted = append(t.noted, path+text)
	}
}

// tableFile is a file of a table, with what its name says about its series.
type tableFile struct {
	path, split string
	id, label   string // LayoutFiles
}

func (t *tableReader) load(ctx context.Context, path string) (*dataset.Dataset, error) {
	if !slices.Contains([]string{"", LayoutLong, LayoutWide, LayoutFiles}, t.opt.Layout) {
		return nil, fmt.Errorf("layout %q: expected %q, %q or %q", t.opt.Layout, LayoutLong, LayoutWide, LayoutFiles)
	}
	if err := cmp.Or(t.opt.check(), t.dates.check()); err != nil {
		return nil, err
	}
	files, err := t.files(path)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if err := t.readFile(ctx, &files[i]); err != nil {
			return nil, err
		}
	}
	records, err := t.records(ctx)
	if err != nil {
		return nil, err
	}
	t.opt.selectable, t.opt.withoutNumber = t.selectable(), t.withoutNumber
	for _, name := range t.columns {
		if err := t.withoutNumber[name]; err != nil && (t.hasNumber[name] || len(t.hasNumber) == 0 && len(t.word) == 0) {
			return nil, err
		}
		if word := t.word[name]; word != "" && t.hasNumber[name] {
			t.addNote("", "column %q: %q beside numbers is read as 1 or 0; --missing-values=%[2]s reads it as missing", name, word)
		}
	}
	d, err := newSeriesData(records, t.columns, t.opt.Options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d.Series.ID, d.Series.Time = t.opt.ID, t.opt.Time
	d.Notes = append(t.noted, d.Notes...)
	return d, nil
}

func (t *tableReader) readFile(ctx context.Context, f *tableFile) error {
	in, err := datafile.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	return t.read(ctx, f, in)
}

func (t *tableReader) read(ctx context.Context, f *tableFile, in io.Reader) error {
	before := t.values
	t.blank = 0
	r, err := table.New(in, table.Options{
		Name: f.path, Format: table.FormatOf(f.path), Separator: t.opt.Separator, Decimal: t.opt.Decimal, Comment: t.opt.Comment,
		MissingValues: t.opt.MissingValues, Others: len(t.opt.Columns) == 0, Ragged: t.layout() == LayoutWide,
		Columns: slices.Concat([]string{t.opt.ID, t.opt.Time, t.opt.Split}, strings.Split(t.opt.Time, ","), t.opt.Targets, t.opt.Columns),
	})
	if err == nil {
		err = t.readRows(ctx, f, r)
		for _, note := range r.Notes() {
			t.addNote(f.path, "%s", strings.TrimPrefix(note, f.path))
		}
	}
	if errors.Is(err, io.EOF) && t.values == before {
		return fmt.Errorf("%s: the file has no rows", f.path)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readRows adds the rows of a file. Its error at the end is io.EOF.
func (t *tableReader) readRows(ctx context.Context, f *tableFile, r *table.Reader) error {
	add, err := t.rowReader(f, r)
	if err != nil {
		return r.Wrap(err)
	}
	if !r.Named && r.Format() == table.CSV && !t.isData(r) {
		t.addNote(f.path, ": the first line contains a number, so it is read as data, not as a header; the columns are called 1, 2, …; it is a header if --target or --columns names one of its cells")
	}
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", f.path, ctx.Err())
		}
		if err := r.Next(); err != nil {
			return err
		}
		if err := add(); err != nil {
			return r.Wrap(err)
		}
	}
}

// layout returns the layout of a table that is not JSON Lines.
func (t *tableReader) layout() string {
	switch {
	case t.folder:
		return LayoutFiles
	case t.opt.Layout != "":
		return t.opt.Layout
	case t.opt.forecasts() || t.opt.ID != "" || t.opt.Time != "":
		return LayoutLong
	}
	return LayoutWide
}

var (
	tableExt = regexp.MustCompile(`(?i)\.(csv|tsv|txt|dat|jsonl|ndjson|json)(\.gz)?$`)
	// splitName matches the name of a split, alone or after a separator. The names strain and
	// heat_retest have no split.
	splitName = regexp.MustCompile(`(?i)^(?:(.*)[_.\- ])?(train|training|val|valid|validation|dev|test)$`)
)

// splitOf returns the split that a name says, or "".
func splitOf(name string) string {
	switch strings.ToLower(name) {
	case "train", "training":
		return "train"
	case "val", "valid", "validation", "dev":
		return "val"
	case "test":
		return "test"
	}
	return ""
}

// files lists the files to read, sorted by name.
func (t *tableReader) files(path string) ([]tableFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if t.opt.Layout == LayoutFiles {
			return nil, fmt.Errorf("%s is a file, expected a folder for layout %q", path, LayoutFiles)
		}
		list, err := t.splitFiles(filepath.Dir(path), filepath.Base(path))
		if len(list) > 1 || err != nil {
			return list, err
		}
		return []tableFile{{path: path}}, nil
	}
	if t.opt.Layout != LayoutFiles {
		if list, err := t.splitFiles(path, ""); len(list) > 0 || err != nil {
			return list, err
		}
	}
	t.folder = true
	list, err := t.seriesFiles(path)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("folder %s has no file .csv, .tsv, .txt, .dat, .jsonl, .ndjson or .json, or one of these with .gz", path)
	}
	return list, err
}

// splitFiles lists the files NAME_TRAIN, NAME_VAL and NAME_TEST of a folder. If like is the name of
// a file, it lists the files with the same NAME, or nothing if like ends in no split. Without a
// validation file, the split of the training file is left open. A note names the other tables.
func (t *tableReader) splitFiles(dir, like string) ([]tableFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	prefix := func(name string) (prefix, split string) {
		ext := tableExt.FindString(name)
		stem := strings.TrimSuffix(name, ext)
		m := splitName.FindStringSubmatch(stem)
		if m == nil || ext == "" {
			return "", ""
		}
		return m[1] + "/" + ext, splitOf(m[2])
	}
	wanted, split := prefix(like)
	if like != "" && split == "" {
		return nil, nil
	}
	found := map[string]string{}
	var others []string
	stem, _, _ := strings.Cut(wanted, "/")
	for _, e := range entries {
		of, split := prefix(e.Name())
		if split == "" || e.IsDir() || like != "" && of != wanted {
			if tableExt.MatchString(e.Name()) && e.Name()[0] != '.' && (like == "" || split == "" && stem != "" && strings.HasPrefix(e.Name(), stem)) {
				others = append(others, e.Name())
			}
			continue
		}
		if other := found[split]; other != "" {
			return nil, fmt.Errorf("folder %s: %s and %s are for the same split: pass the path of one", dir, other, e.Name())
		}
		found[split] = e.Name()
	}
	if found["train"] == "" {
		return nil, nil
	}
	of, _ := prefix(found["train"])
	own, ext, _ := strings.Cut(of, "/")
	others = slices.DeleteFunc(others, func(name string) bool { // descriptions
		stem, same := strings.CutSuffix(name, ext)
		return !same || stem == own || strings.EqualFold(stem, "readme")
	})
	if len(others) > 0 {
		t.addNote(dir, ": %s are not read beside the splits %s; --data with another folder, or --layout files, reads them", suggest.List(others), suggest.List(slices.Sorted(maps.Values(found))))
	}
	var list []tableFile
	for _, split := range []string{"train", "val", "test"} {
		if name := found[split]; name != "" {
			list = append(list, tableFile{path: filepath.Join(dir, name), split: split})
		}
	}
	if found["val"] == "" {
		list[0].split = ""
	}
	return list, nil
}

// seriesFiles lists the files of a folder and of its subfolders, which are classes or, if their
// names say so, splits with or without folders of classes.
func (t *tableReader) seriesFiles(dir string) ([]tableFile, error) {
	var list []tableFile
	splits := map[string]bool{}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() && e.Name()[0] != '.' {
			splits[splitOf(e.Name())] = true
		}
	}
	depth := 1
	if splits["train"] && !splits[""] {
		depth = 2
	}
	err = cmp.Or(err, fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != "." && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.IsDir():
			if strings.Count(path, "/") >= depth {
				return fs.SkipDir
			}
		case tableExt.MatchString(e.Name()) && !strings.EqualFold(strings.TrimSuffix(e.Name(), tableExt.FindString(e.Name())), "readme"):
			f := tableFile{path: filepath.Join(dir, filepath.FromSlash(path)), id: strings.TrimSuffix(path, tableExt.FindString(path))}
			parts := strings.Split(path, "/")
			if depth == 2 && len(parts) > 1 {
				if f.split, parts = splitOf(parts[0]), parts[1:]; f.split == "train" && !splits["val"] {
					f.split = ""
				}
			}
			if len(parts) > 1 && len(t.opt.Targets) == 0 {
				f.label = parts[0]
			}
			list = append(list, f)
		}
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w", dir, err)
	}
	return list, nil
}
