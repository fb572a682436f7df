package mpi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/cluster/mpi"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/shard"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// program is the environment variable that makes this test binary one of the programs below.
const program = "S4D_MPI_TEST"

func TestMain(m *testing.M) {
	if name := os.Getenv(program); name != "" {
		world, err := mpi.Init(time.Minute)
		if err == nil {
			err = programs[name](world)
		}
		if err == nil {
			err = world.Finalize()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			mpi.Abort(1)
		}
		return
	}
	os.Exit(m.Run())
}

var programs = map[string]func(*mpi.World) error{
	"train": func(w *mpi.World) error { return trainAll(w, networks) },
	"first": func(w *mpi.World) error { return trainAll(w, networks[:1]) },
	"calls": calls,
	"lost":  func(w *mpi.World) error { return lost(w, 1) },
	"many":  func(w *mpi.World) error { return lost(w, 17) }, // more than may be in progress
}

// start runs a program on some ranks and returns its output.
func start(t *testing.T, ranks int, name string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip("mpirun is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", fmt.Sprint(ranks), os.Args[0])
	cmd.Env = append(os.Environ(), program+"="+name)
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w\n%s", err, failed.String())
	}
	return out.String(), nil
}

// network is a small network that is trained for 50 steps.
type network struct {
	name   string
	change func(c *train.Config)
}

// The networks have each kind of norm and each family of layers.
var networks = []network{
	{"batch norm, S4D", func(c *train.Config) {
		c.Model.Norm, c.Model.PreNorm, c.Model.FinalNorm, c.SSM.Bidirectional = model.NormBatch, true, true, true
	}},
	{"layer norm, S5", func(c *train.Config) {
		c.SSM = ssm.Config{Layer: ssm.LayerS5, DState: 8, Init: ssm.LegS, Disc: ssm.ZOH, DtMin: 0.001, DtMax: 0.1, Bidirectional: true}
	}},
	{"no norm, S4", func(c *train.Config) {
		c.Model.Norm = model.NormNone
		c.SSM = ssm.Config{Layer: ssm.LayerS4, DState: 8, Init: ssm.LegS, Disc: ssm.Bilinear, DtMin: 0.001, DtMax: 0.1}
	}},
}

const (
	steps  = 50
	length = 24
)

// examples returns sequences of different lengths in two classes.
func examples(seed uint64, n int) (list []dataset.Example) {
	for i := range n {
		e := dataset.Example{Len: length - i%5, Label: i % 2}
		draw := random.New(seed, random.Signal, i, 0)
		for l := range e.Len {
			e.X = append(e.X, float32(draw.Float64(uint64(l)))*float32(1+e.Label))
		}
		list = append(list, e)
	}
	return list
}

// fit trains a network and returns the hash of the model after 50 steps.
func fit(ctx context.Context, n network, group train.Group) (string, error) {
	c := train.Default()
	c.SSM.DState, c.Model.DModel, c.Model.NLayers, c.Model.Dropout, c.Workers = 8, 6, 2, 0.1, 1
	c.Train.Epochs, c.Train.Batch, c.Train.Shards, c.Train.EvalBatch = 1, 9, 4, 2
	n.change(&c)
	data, err := dataset.FromSlices(dataset.Info{Name: "noise", Channels: 1, Outputs: 2, MaxLen: length}, examples(1, 9*steps), examples(2, 7), nil)
	if err != nil {
		return "", err
	}
	t, err := train.New(ctx, c, data, train.Options{Group: group})
	if err != nil {
		return "", err
	}
	defer t.Close()
	if err := t.Fit(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d steps, %x", t.Step(), sha256.Sum256(fmt.Append(nil, t.Best().Hash(), *t.BestEpoch().ValAccuracy, t.BestEpoch().ValLoss, t.BestEpoch().TrainLoss))), nil
}

// trainAll trains networks. The ranks compare their models, and rank 0 prints the hashes.
func trainAll(world *mpi.World, networks []network) error {
	for _, n := range networks {
		hash, err := fit(context.Background(), n, world)
		if err != nil {
			return err
		}
		all, err := world.GatherBytes([]byte(hash))
		if err != nil {
			return err
		}
		for rank, other := range all {
			if string(other) != hash {
				return fmt.Errorf("%s: rank %d has %s, rank %d has %s", n.name, rank, other, world.Rank(), hash)
			}
		}
		if world.Rank() == 0 {
			fmt.Printf("%s: %s\n", n.name, hash)
		}
	}
	return nil
}

// After 50 steps the bits are those of one process, on any number of ranks.
func TestTrain(t *testing.T) {
	want := ""
	for _, n := range networks {
		want += fmt.Sprintf("%s: %s\n", n.name, must.Get(fit(t.Context(), n, nil))(t))
	}
	for _, ranks := range []int{1, 2, 4} {
		must.Equal(t, must.Get(start(t, ranks, "train"))(t), want, "%d ranks", ranks)
	}
}

// calls checks the methods of a World with numbers that show the order of additions.
func calls(world *mpi.World) error {
	rank, ranks := world.Rank(), world.Ranks()
	counts := make([]int, ranks)
	var want []float64
	for r := range counts {
		counts[r] = r * 3 % 4 // some pass nothing
		for i := range counts[r] {
			want = append(want, float64(10*r+i))
		}
	}
	all, own := make([]float64, len(want)), make([]float64, counts[rank])
	for i := range own {
		own[i] = float64(10*rank + i)
	}
	if err := world.Gather(all, own, counts); err != nil || !slices.Equal(all, want) {
		return fmt.Errorf("Gather: %v, error %v, expected %v", all, err, want)
	}
	if err := world.Gather(all[:0], own, counts); len(want) > 0 && err == nil {
		return fmt.Errorf("Gather to too few values: no error")
	}
	texts, err := world.GatherBytes(bytes.Repeat([]byte{byte(rank)}, 1000*rank))
	if err != nil {
		return err
	}
	for r, text := range texts {
		if len(text) != 1000*r || bytes.Count(text, []byte{byte(r)}) != len(text) {
			return fmt.Errorf("GatherBytes: %d bytes of rank %d", len(text), r)
		}
	}
	var large []byte
	if rank == 0 {
		large = make([]byte, 1<<31) // never read or written, so it needs no memory
	}
	if _, err := world.GatherBytes(large); err == nil || !strings.Contains(err.Error(), "2147483648 bytes of all ranks") {
		return fmt.Errorf("GatherBytes of 2 GiB: error %v", err)
	}
	const shards = 6
	value := func(s, i int) float32 { return 1 / float32(1+s*7919+i) }
	var lists [][]float32
	var expected [][]float32
	for _, size := range []int{1, 15, 16, 17, 1000, 1 << 18, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14} { // more than maxSums
		leaves := make([][]float32, shards)
		for s := range leaves {
			for i := range size {
				leaves[s] = append(leaves[s], value(s, i))
			}
		}
		add := func(terms []shard.Span, v [][]float32) []float32 {
			for _, a := range shard.Additions(terms) {
				for i := range v[a.To] {
					v[a.To][i] += v[a.From][i]
				}
			}
			return v[0]
		}
		clone := func(span shard.Span) (v [][]float32) {
			for _, leaf := range leaves[span.Lo:span.Hi] {
				v = append(v, slices.Clone(leaf))
			}
			return v
		}
		if size == 0 {
			continue
		}
		var nodes [][]float32
		for _, node := range shard.Cover(shards, shard.Of(shards, ranks, rank)) {
			nodes = append(nodes, add(shard.Leaves(node), clone(node)))
		}
		world.Sum(nodes, shards)
		lists = append(lists, nodes[0])
		whole := shard.Span{Hi: shards}
		expected = append(expected, add(shard.Leaves(whole), clone(whole)))
	}
	if err := world.Wait(); err != nil {
		return err
	}
	for i, got := range lists {
		if !slices.Equal(got, expected[i]) {
			return fmt.Errorf("Sum %d of %d floats on rank %d differs", i, len(got), rank)
		}
	}
	return nil
}

func TestCalls(t *testing.T) {
	for _, ranks := range []int{1, 2, 5} {
		must.Get(start(t, ranks, "calls"))(t)
	}
}

// lost leaves rank 1 behind, so that the others wait for it in vain after some sums.
func lost(world *mpi.World, sums int) error {
	if world.Rank() == 1 {
		select {}
	}
	world.SetPatience(100 * time.Millisecond)
	for range sums {
		world.Sum([][]float32{{1, 2, 3}}, 2)
	}
	err := world.Wait()
	runtime.GC() // the memory of the sums stays pinned and reachable
	runtime.GC()
	again := world.Gather(make([]float64, 2), []float64{1}, []int{1, 1})
	if err == nil || again == nil || err.Error() != again.Error() || world.Finalize() == nil {
		return fmt.Errorf("errors %v and %v, expected the same", err, again)
	}
	return err
}

// A call that waits for a lost rank ends with an error.
func TestPatience(t *testing.T) {
	for _, name := range []string{"lost", "many"} {
		_, err := start(t, 2, name)
		// The wait is rounded to 100 ms. On a busy machine it can be longer, such as 300ms.
		must.Fail(t, err, "mpi: rank 0 has waited ", "00ms for the other ranks: one of them is lost or does not respond")
	}
}
