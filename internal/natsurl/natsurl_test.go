package natsurl

import (
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestCheck(t *testing.T) {
	for _, good := range []string{"", "localhost", "nats://h:4222", "nats://TOKEN@h:4222,tls://u:p%2Fq@h/", "ws://h/path", "u:p@h"} {
		must.Do(t, Check(good))
	}
	for _, bad := range []string{"nats://u:se/cret@h", "nats://u:se?cret@h", "nats://u:se#cret@h:1", "nats://u:se@cret@h", "h,u:se%cret@h"} {
		err := Check(bad)
		must.Fail(t, err, "must be escaped", "NATS URL")
		if strings.Contains(err.Error(), "cret") || strings.Contains(err.Error(), "se%") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}
