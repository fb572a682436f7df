package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names of the JetStream streams, buckets and consumers.
const (
	AudioStream  = "S4D_AUDIO"     // s4d.audio.NAME
	LineStream   = "S4D_LINES"     // s4d.lines.NAME
	WorkStream   = "S4D_STREAMS"   // s4d.streams.NAME: one message per stream in progress
	Snapshots    = "s4d_snapshots" // bucket: one key per stream in progress
	Members      = "s4d_members"   // bucket: one key per member
	WorkConsumer = "members"
	WorkGroup    = "members" // priority group of the consumer

	allLines = "s4d.lines.*"
)

// AudioSubject returns the subject to which the audio of a stream is published.
func AudioSubject(stream string) string { return "s4d.audio." + stream }

// LiveSubject returns the subject on which JetStream republishes the audio that it has stored.
func LiveSubject(stream string) string { return "s4d.live." + stream }

// LineSubject returns the subject of a stream's lines.
func LineSubject(stream string) string { return "s4d.lines." + stream }

// WorkSubject returns the subject of the message that exists while a stream is in progress.
func WorkSubject(stream string) string { return "s4d.streams." + stream }

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckName returns an error for a name that no stream may have.
func CheckName(stream string) error {
	if !validName.MatchString(stream) {
		return fmt.Errorf("stream name %.80q: expected 1 to 64 letters, digits, dashes and underscores", stream)
	}
	return nil
}

// Options are the settings of the JetStream streams. They are those of the whole cluster.
type Options struct {
	Lease     time.Duration // without a sign of life for that long, a member loses its streams
	KeepAudio time.Duration // age at which audio is deleted
	KeepLines time.Duration // age at which lines and abandoned snapshots are deleted
	Memory    bool          // keep everything in the memory of the brokers
	Replicas  int
	Streams   int64 // maximal number of streams in progress; more are rejected
	Audio     int64 // maximal size of the audio in bytes; the oldest is deleted
}

// Defaults returns the options of one broker that loses nothing when it restarts.
func Defaults() Options {
	return Options{Lease: time.Second, KeepAudio: 30 * time.Second, KeepLines: time.Hour, Replicas: 1, Streams: 10000, Audio: 1 << 30}
}

// MemberTTL is how long the status of a member is valid.
const MemberTTL = 3 * time.Second

// Or returns the options with the values of others in place of zeros.
func (o Options) Or(others Options) Options {
	return Options{
		Lease: cmp.Or(o.Lease, others.Lease), KeepAudio: cmp.Or(o.KeepAudio, others.KeepAudio), KeepLines: cmp.Or(o.KeepLines, others.KeepLines),
		Memory: o.Memory || others.Memory, Replicas: cmp.Or(o.Replicas, others.Replicas),
		Streams: cmp.Or(o.Streams, others.Streams), Audio: cmp.Or(o.Audio, others.Audio),
	}
}

// flags returns the options as flags of a member.
func (o Options) flags() []string {
	return []string{
		fmt.Sprintf("-lease %v", o.Lease), fmt.Sprintf("-keep-audio %v", o.KeepAudio), fmt.Sprintf("-keep-lines %v", o.KeepLines),
		fmt.Sprintf("-memory=%v", o.Memory), fmt.Sprintf("-replicas %d", o.Replicas), fmt.Sprintf("-max-streams %d", o.Streams),
		fmt.Sprintf("-max-audio %d", o.Audio),
	}
}

// existing returns the options of the cluster. Those of streams that do not exist are 0.
func existing(ctx context.Context, js jetstream.JetStream) (o Options, err error) {
	configs := map[string]jetstream.StreamConfig{}
	for _, name := range []string{AudioStream, LineStream, WorkStream} {
		s, err := js.Stream(ctx, name)
		if err == nil {
			configs[name] = s.CachedInfo().Config
		} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return o, fmt.Errorf("stream %s: %w", name, err)
		}
	}
	audio := configs[AudioStream]
	o = Options{
		KeepAudio: audio.MaxAge, KeepLines: configs[LineStream].MaxAge, Memory: audio.Storage == jetstream.MemoryStorage,
		Replicas: audio.Replicas, Streams: configs[WorkStream].MaxMsgs, Audio: audio.MaxBytes,
	}
	work, err := js.Consumer(ctx, WorkStream, WorkConsumer)
	if err == nil {
		o.Lease = work.CachedInfo().Config.AckWait
	} else if !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return o, fmt.Errorf("consumer %s: %w", WorkConsumer, err)
	}
	return o, nil
}

// Setup creates the streams, buckets and consumers that do not exist, and returns their options. A
// zero in opt stands for the value of the cluster, or else for that of Defaults. Other options that
// differ from those of the cluster are an error, because they would change all its members.
func Setup(ctx context.Context, js jetstream.JetStream, opt Options) (Options, error) {
	have, err := existing(ctx, js)
	if err != nil {
		return opt, err
	}
	opt = opt.Or(have).Or(Defaults())
	is := have.Or(opt)
	is.Memory = have.Memory || opt.Memory && have.Replicas == 0
	for i, flag := range is.flags() {
		if other := opt.flags()[i]; other != flag {
			return opt, fmt.Errorf("%s: the cluster has %s", other, flag)
		}
	}
	return opt, create(ctx, js, opt)
}

func create(ctx context.Context, js jetstream.JetStream, opt Options) error {
	storage := jetstream.FileStorage
	if opt.Memory {
		storage = jetstream.MemoryStorage
	}
	for _, cfg := range []jetstream.StreamConfig{{
		Name: AudioStream, Subjects: []string{AudioSubject("*")}, MaxAge: opt.KeepAudio, MaxBytes: opt.Audio, MaxMsgSize: MaxChunk + 4096,
		RePublish: &jetstream.RePublish{Source: AudioSubject("*"), Destination: "s4d.live.{{wildcard(1)}}"},
	}, {
		Name: LineStream, Subjects: []string{allLines}, MaxAge: opt.KeepLines,
	}, {
		Name: WorkStream, Subjects: []string{WorkSubject("*")}, Retention: jetstream.WorkQueuePolicy,
		MaxMsgs: opt.Streams, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	}} {
		cfg.Storage, cfg.Replicas, cfg.AllowDirect = storage, opt.Replicas, true
		cfg.Duplicates = 10 * time.Second
		if cfg.MaxAge > 0 {
			cfg.Duplicates = min(cfg.Duplicates, cfg.MaxAge)
		}
		if _, err := js.CreateOrUpdateStream(ctx, cfg); err != nil {
			return fmt.Errorf("stream %s: %w", cfg.Name, err)
		}
	}
	for _, cfg := range []jetstream.KeyValueConfig{
		{Bucket: Snapshots, TTL: opt.KeepLines, MaxValueSize: MaxSnapshot, Storage: storage},
		{Bucket: Members, TTL: MemberTTL, LimitMarkerTTL: time.Second, MaxValueSize: maxStatus, Storage: jetstream.MemoryStorage},
	} {
		cfg.Replicas = opt.Replicas
		if _, err := js.CreateOrUpdateKeyValue(ctx, cfg); err != nil {
			return fmt.Errorf("bucket %s: %w", cfg.Bucket, err)
		}
	}
	_, err := js.CreateOrUpdateConsumer(ctx, WorkStream, jetstream.ConsumerConfig{
		Durable: WorkConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: opt.Lease, MaxAckPending: -1, MaxDeliver: -1,
		PriorityPolicy: jetstream.PriorityPolicyPrioritized, PriorityGroups: []string{WorkGroup},
	})
	if err != nil {
		return fmt.Errorf("consumer %s: %w", WorkConsumer, err)
	}
	return nil
}

// IsConflict reports whether JetStream rejected a message because the last one of its subject is
// not the expected one.
func IsConflict(err error) bool {
	var e *jetstream.APIError
	if errors.As(err, &e) {
		return e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant
	}
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}
