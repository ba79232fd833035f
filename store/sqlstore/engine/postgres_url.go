package engine

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// IsPostgres reports whether a place is the URL of a PostgreSQL database.
func IsPostgres(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
}

// PublicPlace returns a place as it may appear in messages: a URL without its user, password and parameters.
func PublicPlace(place string) string {
	if !IsPostgres(place) {
		return place
	}
	u, err := url.Parse(place)
	if err != nil {
		return "postgres://…"
	}
	return "postgres://" + u.Host + u.EscapedPath()
}

var errURL = errors.New("the URL is not valid: want postgres://user:password@host/database, with parameters of libpq, such as sslmode, " +
	"after a question mark; in the password, write %40 for @, %3A for : and %2F for /")

// postgresConfig parses a URL. Unless the URL sets them, it requires verified TLS for hosts on other machines, and sets a time limit for
// connecting and the name of the application. It does not pass the password to the parser, because errors of the parser quote their input.
func postgresConfig(place string) (*pgx.ConnConfig, error) {
	u, err := url.Parse(place)
	if err != nil {
		return nil, errURL
	}
	password, set := u.User.Password()
	if set {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for _, name := range []string{"password", "sslpassword"} {
		if q.Has(name) {
			return nil, fmt.Errorf("%w; %s is not allowed as a parameter", errURL, name)
		}
	}
	if !q.Has("sslmode") && !local(u, q) {
		q.Set("sslmode", "verify-full")
	}
	u.RawQuery = q.Encode()
	c, err := pgx.ParseConfig(u.String())
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return nil, fmt.Errorf("%w: %w", errURL, err)
	}
	if set {
		c.Password = password
	}
	if !q.Has("connect_timeout") {
		c.ConnectTimeout = min(connectPatience, callPatience/time.Duration(hosts(c)+1))
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "uimgate"
	}
	return c, nil
}

// hosts returns how many servers a URL names. An attempt at a transaction of calls includes connecting. It must therefore have time to try
// all servers, even if all but the last do not respond.
func hosts(c *pgx.ConnConfig) int {
	named := map[string]bool{fmt.Sprint(c.Host, " ", c.Port): true}
	for _, other := range c.Fallbacks {
		named[fmt.Sprint(other.Host, " ", other.Port)] = true
	}
	return len(named)
}

// local reports whether all hosts of the URL are on this machine.
func local(u *url.URL, q url.Values) bool {
	hosts := q.Get("host")
	if hosts == "" {
		hosts = u.Host
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.Trim(host, "[]")
		if ip := net.ParseIP(host); !strings.HasPrefix(host, "/") && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}
