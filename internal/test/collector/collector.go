// Package collector has an OpenTelemetry collector for tests. It stores the telemetry that it receives through OTLP over HTTP.
package collector

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	span "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// A Collector receives telemetry. It is safe for concurrent use.
type Collector struct {
	URL string // without /v1/traces

	mu      sync.Mutex
	spans   []Span
	metrics map[string]bool
	logs    []string
	bodies  []string // as received, decompressed
	headers []http.Header
	hold    chan struct{} // not nil: requests wait until it is closed
}

// A Span is one received span.
type Span struct {
	Name, TraceID, ID, ParentID string
	Kind                        span.Span_SpanKind
	Failed                      bool
	Start, End                  time.Time
	Attributes                  map[string]string
	Resource                    map[string]string
}

// New starts a Collector, and stops it when the test ends.
func New(tb testing.TB) *Collector {
	tb.Helper()
	c := &Collector{metrics: map[string]bool{}}
	s := httptest.NewServer(http.HandlerFunc(c.serve))
	tb.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// Hold makes requests wait until the returned function is called.
func (c *Collector) Hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := make(chan struct{})
	c.hold = held
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hold = nil
		close(held)
	}
}

func (c *Collector) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	hold := c.hold
	c.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	if err == nil {
		err = c.receive(r, data)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (c *Collector) receive(r *http.Request, data []byte) error {
	read := proto.Unmarshal
	if r.Header.Get("Content-Type") == "application/json" {
		read = func(data []byte, m proto.Message) error { return protojson.Unmarshal(data, m) }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, string(data))
	c.headers = append(c.headers, r.Header)
	switch r.URL.Path {
	case "/v1/traces":
		var m traces.ExportTraceServiceRequest
		if err := read(data, &m); err != nil {
			return err
		}
		for _, resource := range m.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					c.spans = append(c.spans, Span{
						Name: s.GetName(), TraceID: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
						ParentID: hex.EncodeToString(s.GetParentSpanId()), Kind: s.GetKind(),
						Failed: s.GetStatus().GetCode() == span.Status_STATUS_CODE_ERROR,
						Start:  time.Unix(0, int64(s.GetStartTimeUnixNano())), End: time.Unix(0, int64(s.GetEndTimeUnixNano())),
						Attributes: texts(s.GetAttributes()), Resource: texts(resource.GetResource().GetAttributes()),
					})
				}
			}
		}
		return nil
	case "/v1/metrics":
		var m metrics.ExportMetricsServiceRequest
		if err := read(data, &m); err != nil {
			return err
		}
		for _, resource := range m.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				for _, one := range scope.GetMetrics() {
					c.metrics[one.GetName()] = true
				}
			}
		}
		return nil
	case "/v1/logs":
		var m logs.ExportLogsServiceRequest
		if err := read(data, &m); err != nil {
			return err
		}
		for _, resource := range m.GetResourceLogs() {
			for _, scope := range resource.GetScopeLogs() {
				for _, one := range scope.GetLogRecords() {
					c.logs = append(c.logs, one.GetBody().GetStringValue())
				}
			}
		}
		return nil
	default:
		return http.ErrNotSupported
	}
}

// texts returns attributes as text.
func texts(attributes []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range attributes {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		default:
			out[a.GetKey()] = protojson.Format(a.GetValue())
		}
	}
	return out
}

// Spans returns the spans received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// HasMetric reports whether a metric was received.
func (c *Collector) HasMetric(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metrics[name]
}

// Logs returns the messages of the log entries received so far.
func (c *Collector) Logs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.logs...)
}

// Headers returns the headers of the requests received so far.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

// Contains reports whether any received body contains text.
func (c *Collector) Contains(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, body := range c.bodies {
		if strings.Contains(body, text) {
			return true
		}
	}
	return false
}
