package cluster

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// redacted returns an error of a connection to URLs, which commas separate, with the URLs before it
// and without their passwords.
func redacted(urls string, err error) error {
	if bad := (*url.Error)(nil); errors.As(err, &bad) {
		err = bad.Err // without the URL
	}
	return fmt.Errorf("%s: %w", withoutUsers(urls), err)
}

// withoutUsers returns URLs, which commas separate, without users, passwords and tokens.
func withoutUsers(urls string) string {
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
