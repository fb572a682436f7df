package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A cluster of three servers that store three replicas loses the leader of the entries while a run
// is in progress. The sweep continues on the other two.
func TestReplicas(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for elections of the servers")
	}
	servers := map[string]*server.Server{}
	var urls []string
	var routes string // to the first server, which tells the others of each other
	for _, name := range []string{"a", "b", "c"} {
		s := startServer(t, &server.Options{
			ServerName: name, JetStream: true, StoreDir: t.TempDir(), RoutesStr: routes, Routes: server.RoutesFromStr(routes),
			Cluster: server.ClusterOpts{Name: "s4d", Host: "127.0.0.1", Port: server.RANDOM_PORT},
		})
		if routes == "" {
			routes = "nats://" + s.ClusterAddr().String()
		}
		servers[name], urls = s, append(urls, "nats://"+s.Addr().String())
	}
	for peers := 0; peers < 3; {
		if !sleep(t.Context(), 10*time.Millisecond) {
			t.Fatal("the servers elect no leader")
		}
		for _, s := range servers {
			peers = max(peers, len(s.JetStreamClusterPeers())) // empty, except for the leader
		}
	}

	c := Connection{URL: strings.Join(urls, ",")}
	s := tiny(t, t.TempDir(), 2, "train.checkpoint_every=1")
	reached, until := make(chan struct{}, 4), make(chan struct{})
	nc := dial(t, c)
	go func() { // while the first run waits in a step
		defer close(until)
		<-reached
		js := must.Get(jetstream.New(nc))(t)
		for _, name := range []string{"KV_" + bucket, "OBJ_" + bucket} {
			info := must.Get(must.Get(js.Stream(t.Context(), name))(t).Info(t.Context()))(t)
			must.Equal(t, info.Config.Replicas, 3, "replicas of %s", name)
			if name == "KV_"+bucket {
				servers[info.Cluster.Leader].Shutdown()
			}
		}
	}()
	work(t, dial(t, c), &Worker{Name: "only", Reporter: signalAt{holdAt{3, reached, until}}})
	must.Get((&Coordinator{Sweep: s, Log: logger(t), Replicas: 3}).Run(t.Context(), dial(t, c)))(t)
	same(t, s, alone(t, 2))

	st := must.Get(create(t.Context(), nc, 0))(t) // of a second sweep, without a number of replicas
	for _, name := range []string{"KV_" + bucket, "OBJ_" + bucket} {
		must.Equal(t, must.Get(must.Get(jetstream.New(st.nc))(t).Stream(t.Context(), name))(t).CachedInfo().Config.Replicas, 3, "replicas of %s", name)
	}
}
