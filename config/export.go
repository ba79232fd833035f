package config

import (
	"crypto/tls"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// AuditExport names the collector of the audit stream. At most one of HTTP, OTLP and Syslog is set.
type AuditExport struct {
	HTTP   AuditHTTP   `yaml:"http" doc:"Post batches of CloudEvents."`
	OTLP   AuditOTLP   `yaml:"otlp" doc:"Send log records to an OpenTelemetry collector, by OTLP over HTTP."`
	Syslog AuditSyslog `yaml:"syslog" doc:"Send syslog messages (RFC 5424)."`
	Roots  File        `yaml:"roots" doc:"PEM file with the CA certificates to trust in connections to the collector. Default: the CA certificates of the system."`
}

// AuditHTTP is a collector that accepts CloudEvents. URL is nil if it is not set.
type AuditHTTP struct {
	URL     *url.URL `yaml:"url" doc:"Where to post. https, or http on this machine."`
	Secret  Secret   `yaml:"secret" doc:"Key of the signature in the UIM-Signature header: at least 16 random characters. Required with url."`
	Private bool     `yaml:"private" default:"false" doc:"Permit http and an address that is not on the public internet."`
}

// AuditOTLP is an OpenTelemetry collector. Endpoint is nil if it is not set.
type AuditOTLP struct {
	Endpoint *url.URL         `yaml:"endpoint" doc:"The collector, such as https://collector.example:4318, without /v1/logs."`
	Headers  map[string]Value `yaml:"headers" max:"32" doc:"Headers: name to value. Write a secret as ${file:PATH}."`
}

// AuditSyslog is a syslog server. Address is empty if it is not set.
type AuditSyslog struct {
	Address string `yaml:"address" doc:"Host and port, such as syslog.example:6514."`
	TLS     bool   `yaml:"tls" default:"true" doc:"Connect over TLS."`
}

// Enabled reports whether a collector is set.
func (e *AuditExport) Enabled() bool {
	return e.HTTP.URL != nil || e.OTLP.Endpoint != nil || e.Syslog.Address != ""
}

// TLSConfig returns the TLS configuration for the collector. nil means Go's default.
func (e *AuditExport) TLSConfig() *tls.Config {
	if pool := poolOf(e.Roots); pool != nil {
		return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return nil
}

// Sent returns the values of the headers by name. They may be secrets.
func (o *AuditOTLP) Sent() map[string]string { return headerTexts(o.Headers) }

// headerTexts converts header values, which checkHeaders has checked, to strings.
func headerTexts(headers map[string]Value) map[string]string {
	out := map[string]string{}
	for name, value := range headers {
		out[name], _ = strictjson.ScalarText(value.Tree())
	}
	return out
}

func (l *loader) checkExport(at string, e *AuditExport) {
	var given []string
	for name, is := range map[string]bool{
		"http": e.HTTP.URL != nil, "otlp": e.OTLP.Endpoint != nil, "syslog": e.Syslog.Address != "",
	} {
		if is {
			given = append(given, name)
		}
	}
	if slices.Sort(given); len(given) > 1 {
		l.Errorf(at, "has %s: choose one", strings.Join(given, " and "))
	}
	if e.HTTP.URL == nil && (!e.HTTP.Secret.IsEmpty() || e.HTTP.Private) && !l.Failed(at+".http.url") {
		l.Errorf(at+".http.url", "is required with secret or private: set the URL of the collector")
	}
	if e.HTTP.URL != nil {
		l.checkHook(at+".http", e.HTTP.URL, e.HTTP.Secret, e.HTTP.Private)
		if e.HTTP.Secret.IsEmpty() && !l.Failed(at+".http.secret") {
			l.Errorf(at+".http.secret", "is required with url: set a secret of at least 16 random characters")
		}
	}
	if e.OTLP.Endpoint == nil && len(e.OTLP.Headers) > 0 && !l.Failed(at+".otlp.endpoint") {
		l.Errorf(at+".otlp.endpoint", "is required with headers: set the URL of the collector")
	}
	l.checkCollector(at+".otlp.endpoint", e.OTLP.Endpoint)
	l.checkHeaders(at+".otlp.headers", e.OTLP.Headers)
	if address := e.Syslog.Address; address != "" {
		if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" || !printable(address) {
			l.Errorf(at+".syslog.address", "is not an address: want a host and a port, such as syslog.example:6514")
		}
	}
	l.checkRoots(at+".roots", &e.Roots)
}

// checkHook checks the URL and the secret of a webhook.
func (l *loader) checkHook(at string, u *url.URL, s Secret, private bool) {
	if secret := s.Reveal(); !s.IsEmpty() && (len(secret) < shortToken || !printable(secret)) {
		l.Errorf(at+".secret", "is short enough to guess: use at least %d random characters", shortToken)
	}
	if u == nil {
		return
	}
	if err := fetch.New(fetch.Options{AllowInsecure: private}).Check(u, nil); err != nil {
		l.Errorf(at+".url", "%v: for a webhook inside your network, set private: true", err)
	}
}

// checkCollector checks the endpoint of an OpenTelemetry collector, if there is one.
func (l *loader) checkCollector(at string, endpoint *url.URL) {
	if endpoint == nil {
		return
	}
	for _, signal := range []string{"traces", "metrics", "logs"} {
		if strings.HasSuffix(endpoint.Path, "/v1/"+signal) {
			l.Errorf(at, "must not end with /v1/%s: the gateway appends the path of each signal", signal)
		}
	}
}

// checkHeaders checks the headers that are sent to a collector.
func (l *loader) checkHeaders(at string, headers map[string]Value) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		text, ok := strictjson.ScalarText(headers[name].Tree())
		if path := at + "[" + strconv.Quote(name) + "]"; !ok || strings.TrimSpace(text) == "" || !printable(text) {
			l.Errorf(path, "cannot be in a header: want text or a number, on one line")
		} else {
			l.header(path, name)
		}
	}
}
