package openapi

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

// unknownUpstream is used if the document has no usable address of the service.
const unknownUpstream = "http://127.0.0.1:9000"

// A server is the base address of operations.
type server struct{ origin, prefix string } // https://api.example.com, /v1

// published returns the scheme and host of the published URL of an intent. If the service has an https URL whose host is the namespace or a
// subdomain of it, the published URL is the real one. Otherwise, it is an https URL whose host is the namespace.
func (s server) published(namespace string) string {
	if host, ok := strings.CutPrefix(s.origin, "https://"); ok {
		if name, _, _ := strings.Cut(host, ":"); name == namespace || strings.HasSuffix(name, "."+namespace) {
			return s.origin
		}
	}
	return "https://" + namespace
}

// servers selects the address of the service: the one in the options or the curation or, if there is none, the first usable address in the
// document. The error wraps ErrOptions.
func (w *work) servers() error {
	defer func() { w.out.base = w.base }()
	if w.upstream != "" {
		s, err := serverAt(w.upstream, nil)
		if err != nil {
			return fmt.Errorf("%w: the upstream cannot be used: %w", ErrOptions, err)
		}
		w.base, w.out.Upstream = s, s.origin+s.prefix
		return nil
	}
	w.documentServers()
	return nil
}

func (w *work) documentServers() {
	all := read.List(w.Root["servers"])
	for i, v := range all {
		s, err := w.server(v)
		if err != nil {
			w.remark("", fmt.Sprintf("server %d is ignored: %v", i+1, err))
			continue
		}
		w.base, w.out.Upstream = s, s.origin+s.prefix
		if i+1 < len(all) {
			w.remark("", fmt.Sprintf("of %d servers, the gateway calls %s", len(all), w.out.Upstream))
		}
		return
	}
	if s, err := w.server(map[string]any{"url": "/"}); err == nil && len(all) == 0 {
		w.base, w.out.Upstream = s, s.origin+s.prefix
		return
	}
	w.out.Upstream, w.out.UpstreamGuessed = unknownUpstream, true
	for _, v := range all { // a server without a host may still have a path
		if u, err := url.Parse(read.Text(read.Object(v)["url"])); err == nil && u.Host == "" && safePath(u) {
			w.base.prefix = strings.TrimRight("/"+strings.TrimLeft(u.Path, "/"), "/")
			w.out.Upstream += w.base.prefix
			break
		}
	}
	w.base.origin = unknownUpstream
	w.remark("", "the document has no usable address of the service: set upstream.url in uimgate.yaml")
}

const maxServer = 1000

// server reads one Server object, and replaces its variables with their defaults.
func (w *work) server(v any) (server, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return server{}, errors.New("it is not an object")
	}
	address := read.Text(m["url"])
	variables := read.Object(m["variables"])
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		address = strings.ReplaceAll(address, "{"+name+"}", read.Text(read.Object(variables[name])["default"]))
		if len(address) > maxServer {
			break
		}
	}
	return serverAt(address, w.options.Source)
}

// serverAt reads the URL of a server, which is relative to source if that is not nil.
func serverAt(address string, source *url.URL) (server, error) {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxServer || strings.ContainsAny(address, "{}$ <>\"'`\\|^") {
		return server{}, errors.New("its URL is invalid")
	}
	if source != nil {
		u = source.ResolveReference(u)
	}
	switch {
	case u.Host == "" || u.Hostname() == "":
		return server{}, errors.New("its URL is relative")
	case u.Scheme != "https" && u.Scheme != "http":
		return server{}, fmt.Errorf("its URL has the scheme %s instead of http or https", read.Excerpt(u.Scheme))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || !safePath(u):
		return server{}, errors.New("its URL contains more than scheme, host and path")
	}
	return server{u.Scheme + "://" + strings.ToLower(u.Host), strings.TrimRight(u.EscapedPath(), "/")}, nil
}

func safePath(u *url.URL) bool {
	clean := path.Clean("/" + u.Path)
	return !strings.ContainsFunc(u.Path, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`\"'<>%$`, r) }) &&
		(u.Path == "" || clean == strings.TrimRight("/"+strings.TrimLeft(u.Path, "/"), "/") || clean == "/")
}

// server returns the part of the path between the base path of the service and the path of the operation. It is empty unless the operation
// has separate servers. It is an error if none of these servers is below the address of the service.
func (c *call) server() (string, error) {
	own := c.op.tree["servers"]
	if len(read.List(own)) == 0 {
		own = c.op.item["servers"]
	}
	all := read.List(own)
	if len(all) == 0 {
		return "", nil
	}
	elsewhere := ""
	for _, v := range all {
		s, err := c.work.server(v)
		if err != nil {
			continue
		}
		if rest, ok := strings.CutPrefix(s.prefix, c.base.prefix); ok && s.origin == c.base.origin && (rest == "" || rest[0] == '/') {
			return rest, nil
		}
		elsewhere = s.origin + s.prefix
	}
	if elsewhere == "" {
		return "", errors.New("it has separate servers without a usable URL")
	}
	return "", fmt.Errorf("it is served at %s: use a separate configuration for that address", read.Line(elsewhere, 150))
}

// webAddress returns s if it is an absolute http or https URL without user, and otherwise "".
func webAddress(s string) string {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxServer || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
		return ""
	}
	return u.String()
}
