package rows

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/model"
)

func TestTableErrors(t *testing.T) {
	class := Options{Targets: []string{"class"}}
	long := TableOptions{ID: "series", Time: "t", Options: class}
	numbers := TableOptions{ID: "id", Layout: LayoutLong, Options: Options{Mode: model.SeriesRegression, Targets: []string{"n"}}}
	wide := TableOptions{Options: class}
	interpolated := long
	interpolated.Missing = model.MissingInterpolate
	forecast := TableOptions{Options: Options{Horizon: 2}}
	numbersAt, single := TableOptions{Layout: LayoutLong, Options: class}, TableOptions{Time: "t", Options: class}
	for _, test := range []struct {
		want, name, text string
		opt              TableOptions
	}{
		{`t.csv:3: column "x": "abc" is not a number`, "t.csv", "series,t,x,class\na,0,1,up\na,1,abc,up\n", long},
		{`t.csv:2: column "at": "2024-03-31" is not a number; --time names the column`, "t.csv", "at,x,class\n2024-03-31,1,up\n3,1,up\n", numbersAt},
		{`t.csv:3: the row has the same time as line 2; if the file has several series, --id names`, "t.csv", "t,x,class\n0,1,up\n0,1,up\n", single},
		{`; if every line is a whole series, pass --layout wide without --time`, "t.csv", "series,x_1,x_2,class\na,1,2,up\n", long},
		{`t.csv:2: column "x": "1e39" is infinite or too large`, "t.csv", "series,t,x,class\na,0,1e39,up\n", long},
		{`t.csv:2: column "class": the class is missing`, "t.csv", "series,t,x,class\na,0,1,\n", long},
		{`t.csv:2: column "series": the series has no identifier`, "t.csv", "series,t,x,class\n,0,1,up\n", long},
		{`t.csv:4: series "a": the row has the same time as line 2`, "t.csv", "series,t,x,class\na,0,1,up\na,1,1,up\na,0,1,up\n", long},
		{`t.csv:4: series "a": the time is 9 after that of the row before, expected about 1: rows are missing`, "t.csv", "series,t,x,class\na,0,1,up\na,1,1,up\na,10,1,up\n", long},
		{`t.csv:4: series "a": the time is 1 after that of the row before, expected about 4; omit --time`, "t.csv", "series,t,x,class\na,0,1,up\na,4,1,up\na,5,1,up\na,9,1,up\n", long},
		{`t.csv:1: no column "t"; the columns are ["series" "x" "class"]`, "t.csv", "series,x,class\na,1,up\n", long},
		{`t.csv: the file has no rows`, "t.csv", "series,t,x,class\n", long},
		{`t.csv: the file has no rows`, "t.csv", "", long},
		{`t.csv:1: no input column`, "t.csv", "series,t,class\na,1,up\n", long},
		{`every series has the class "up"`, "t.csv", "series,t,x,class\na,0,1,up\n", long},
		{`t.csv:3: column "n": 2 after 1, expected one number`, "t.csv", "id,n,x\na,1,1\na,2,1\n", numbers},
		{`t.csv:2: column "n": the target is missing`, "t.csv", "id,n,x\na,?,1\n", numbers},
		{`t.csv:2: the series has no values`, "t.csv", "class,1,2\nup,,\n", wide},
		{`t.csv:2: column "2": the value "" is missing`, "t.csv", "class,1,2,3\nup,1,,3\n", wide},
		{`t.csv:1: channel "y" has 1 steps, expected 2 as "x"`, "t.csv", "class,x_1,x_2,y_1\nup,1,2,3\n", wide},
		{`t.csv: nothing to predict in 1 series: expected one of more than 2 rows`, "t.csv", "x\n1\n2\n", forecast},
		{`t.jsonl:2: column "x": "abc" is not a number`, "t.jsonl", "{\"series\":1,\"t\":0,\"x\":1,\"class\":\"up\"}\n{\"series\":1,\"t\":1,\"x\":\"abc\",\"class\":\"up\"}", long},
		{`t.jsonl:1: column "y": 1 values, expected 2 as in "x"`, "t.jsonl", `{"x":[1,2],"y":[1]}`, forecast},
		{`t.jsonl:2: column "x": "[1]" is not a number`, "t.jsonl", "{\"x\":1}\n{\"x\":[1]}", forecast},
	} {
		_, err := tableOf(t, map[string]string{test.name: test.text}, test.name, test.opt)
		if err == nil || !strings.HasPrefix(err.Error(), "rows: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, expected %s", test.text, err, test.want)
		}
	}
}

// Names that a model cannot store are errors.
func TestTableNames(t *testing.T) {
	class, forecast := Options{Targets: []string{"class"}}, Options{Horizon: 1}
	for _, test := range []struct {
		want, name, text string
		opt              TableOptions
	}{
		{`:2: the line is not UTF-8 text`, "t.jsonl", "{\"x\":1}\n{\"\xff\":2}\n", TableOptions{Options: forecast}},
		{`:1: column 1 has no name`, "t.jsonl", `{"":[1,2,3],"class":"a"}`, TableOptions{Options: class}},
	} {
		must.Reject(tableOf(t, map[string]string{test.name: test.text}, test.name, test.opt))(t, test.want)
	}
	// Other columns may have any name, or none, as the index of a data frame does.
	some := TableOptions{Columns: []string{"x"}, Options: forecast}
	must.Get(tableOf(t, map[string]string{"t.csv": ",x,t\xe9\n0,1,2\n1,3,4\n"}, "t.csv", some))(t)
	named := []Series{{ID: "a", Label: "b", Values: [][]float32{{1}}}}
	must.Reject(FromSeries(named, []string{"\xff"}, class))(t, `column "\xff": the name is not UTF-8 text`)
	named[0].Label = "\xff"
	must.Reject(FromSeries(named, []string{"x"}, class))(t, `series "a": class "\xff" is not UTF-8 text`)
	named[0].ID = "\xff"
	must.Reject(FromSeries(named, []string{"x"}, class))(t, `series "\xff": the name is not UTF-8 text`)
}

func TestTableOptionErrors(t *testing.T) {
	for _, test := range []struct {
		want string
		opt  TableOptions
	}{
		{`mode "guess"`, TableOptions{Options: Options{Mode: "guess"}}},
		{`layout "deep"`, TableOptions{Layout: "deep"}},
		{`expected a folder for layout "files"`, TableOptions{Layout: LayoutFiles}},
		{`missing "zero"`, TableOptions{Layout: LayoutLong, Options: Options{Missing: "zero"}}},
		{`target "z": expected one of the input columns ["x" "y"]`, TableOptions{Options: Options{Horizon: 1, Targets: []string{"z"}}}},
		{`regression: no targets`, TableOptions{Layout: LayoutLong, Options: Options{Mode: model.SeriesRegression}}},
		{`no class; --target names`, TableOptions{Layout: LayoutLong}},
	} {
		_, err := tableOf(t, map[string]string{"t.csv": "x,y\n1,2\n3,4\n"}, "t.csv", test.opt)
		must.Fail(t, err, "rows: ", test.want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	path := filepath.Join(t.TempDir(), "t.csv")
	testfiles.Write(t, path, []byte("x\n"+strings.Repeat("1\n", 1<<17)))
	must.Reject(Table(ctx, path, TableOptions{Options: Options{Horizon: 1}}))(t, context.Canceled)
}
