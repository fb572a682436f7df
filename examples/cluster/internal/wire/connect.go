package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
)

// Connect connects to NATS. credentials is the file of a user; "": none. Errors do not show
// passwords.
func Connect(urls, credentials string, opt ...nats.Option) (*nats.Conn, error) {
	if credentials != "" {
		opt = append(opt, nats.UserCredentials(credentials))
	}
	nc, err := nats.Connect(urls, opt...)
	if err != nil {
		if bad := (*url.Error)(nil); errors.As(err, &bad) {
			err = bad.Err // without the URL
		}
		return nil, fmt.Errorf("%s: %w", redact(urls), err)
	}
	return nc, nil
}

// redact returns URLs without users, passwords and tokens, as cluster.Redact does, which would link
// the training into members.
func redact(urls string) string {
	list := strings.Split(urls, ",")
	for i, text := range list {
		u, err := url.Parse(strings.TrimSpace(text))
		if err != nil {
			list[i] = "(not a URL)"
			continue
		}
		if u.User != nil {
			u.User = url.User("xxxxx")
		}
		list[i] = u.String()
	}
	return strings.Join(list, ",")
}
