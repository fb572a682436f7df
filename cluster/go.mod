module github.com/s4d-fast/s4d-fast/cluster

go 1.26.0

replace github.com/s4d-fast/s4d-fast => ..

require (
	github.com/alecthomas/kong v1.17.0
	github.com/nats-io/nats.go v1.55.0
	github.com/s4d-fast/s4d-fast v0.0.0
	golang.org/x/term v0.47.0
)

require (
	github.com/BurntSushi/toml v1.6.0 // indirect
	github.com/gofrs/flock v0.13.1 // indirect
	github.com/hajimehoshi/go-mp3 v0.3.4 // indirect
	github.com/jfreymuth/vorbis v1.0.2 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)
