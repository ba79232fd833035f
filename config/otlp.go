package config

import (
	"crypto/x509"
	"net/url"
)

// OTLP configures the export of telemetry to an OpenTelemetry collector, by OTLP over HTTP.
type OTLP struct {
	Endpoint    *url.URL         `yaml:"endpoint" doc:"The collector, such as https://collector.example:4318, without /v1/traces. Default: the OTEL_* variables decide what is exported, and where."` // nil: none
	Headers     map[string]Value `yaml:"headers" max:"32" doc:"Headers: name to value."`
	Roots       File             `yaml:"roots" doc:"PEM file with the CA certificates to trust in connections to the collector. Default: the CA certificates of the system."`
	Traces      bool             `yaml:"traces" default:"true" doc:"Export traces."`
	SampleOneIn int              `yaml:"sample_one_in" default:"1" min:"1" max:"1000000" doc:"Export one in this many of the traces that begin in the gateway. A trace that the sender began is exported if the sender sampled it. Requests that fail through no fault of the agent are always exported."`
	Metrics     bool             `yaml:"metrics" default:"false" doc:"Export the metrics of /metrics, each minute."`
	Logs        bool             `yaml:"logs" default:"false" doc:"Export the log, in addition to stderr."`
}

// URL returns the URL for a signal: traces, metrics or logs. Endpoint must not be nil.
func (o *OTLP) URL(signal string) string { return o.Endpoint.JoinPath("v1", signal).String() }

// RootPool returns the CA certificates of roots, or nil if roots is not set.
func (o *OTLP) RootPool() *x509.CertPool { return poolOf(o.Roots) }

// Sent returns the values of the headers by name. They may be secrets.
func (o *OTLP) Sent() map[string]string { return headerTexts(o.Headers) }

func (l *loader) checkOTLP(at string, o *OTLP) {
	if o.Endpoint == nil && !l.Failed(at+".endpoint") &&
		(len(o.Headers) > 0 || o.Roots.Path != "" || o.Metrics || o.Logs || !o.Traces || o.SampleOneIn > 1) {
		l.Errorf(at+".endpoint", "is required with the other keys of otlp: set the URL of the collector")
	}
	l.checkCollector(at+".endpoint", o.Endpoint)
	l.checkHeaders(at+".headers", o.Headers)
	l.checkRoots(at+".roots", &o.Roots)
}
