package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/uimgate/uimgate/config"
)

// DefaultURL is the address of the admin listener if the configuration has none.
const DefaultURL = "http://127.0.0.1:8081"

// maxToken is the maximum length of a token, in bytes.
const maxToken = 4 << 10

// ErrToken means that a string or a file is not a valid admin token.
var ErrToken = errors.New("does not contain a valid token")

// ConfiguredURL returns the URL at which this machine can reach the admin listener of a configuration. It returns DefaultURL if c is nil or
// if the configured port is 0.
func ConfiguredURL(c *config.Config) string {
	if c == nil {
		return DefaultURL
	}
	host, port, err := net.SplitHostPort(c.Admin.Listen)
	if err != nil || port == "0" {
		return DefaultURL
	}
	if address, err := netip.ParseAddr(host); host == "" || (err == nil && address.IsUnspecified()) {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if c.Server.TLS.Enabled() {
		u.Scheme = "https"
	}
	return u.String()
}

// OwnSocket returns the path of the Unix socket of the gateway that uses the data directory dir. If no gateway listens there, or if this
// user may not use the socket, it returns an empty string. It does not read the configuration.
func OwnSocket(ctx context.Context, dir string) string {
	path := config.SocketPath(dir)
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err != nil {
		return ""
	}
	_ = conn.Close()
	return path
}

// ConfiguredToken returns the admin token of the gateway with the configuration c: the configured token or, if there is none, the one that
// the gateway created in its data directory. from names the configuration in errors.
func ConfiguredToken(c *config.Config, from string) (string, error) {
	if !c.Admin.Token.IsEmpty() {
		return ParseToken(c.Admin.Token.Reveal(), "admin.token in "+from)
	}
	return ReadToken(filepath.Join(c.Data, "admin.token"))
}

// ReadToken reads a token from a file, and ignores white space around it. If the contents are not a token, the error wraps ErrToken.
func ReadToken(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("reading the admin token: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("reading the admin token: %w", err)
	}
	return ParseToken(strings.TrimSpace(string(text)), file)
}

// ParseToken returns text if it can be a token: 1 to 4096 visible ASCII characters. Otherwise the error wraps ErrToken: it contains from,
// the name of the source, but not text.
func ParseToken(text, from string) (string, error) {
	if text == "" || len(text) > maxToken || strings.ContainsFunc(text, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return "", fmt.Errorf("%s %w", from, ErrToken)
	}
	return text, nil
}
