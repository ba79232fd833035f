package export_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/protobuf/proto"

	"github.com/uimgate/uimgate/gateway/record/export"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/test/collector"
)

var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// A stream is an audit stream in a directory.
type stream struct {
	t    *testing.T
	dir  string
	file *os.File
	n    int
}

func newStream(t *testing.T) *stream {
	t.Helper()
	s := &stream{t: t, dir: t.TempDir()}
	s.open()
	t.Cleanup(func() { _ = s.file.Close() })
	return s
}

func (s *stream) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stream) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stream) open() {
	s.t.Helper()
	f, err := os.OpenFile(s.path("audit.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	s.must(err)
	s.file = f
}

func (s *stream) text(text string) {
	s.t.Helper()
	_, err := s.file.WriteString(text)
	s.must(err)
}

// add adds records.
func (s *stream) add(n int) {
	s.t.Helper()
	for range n {
		s.n++
		at := start.Add(time.Duration(s.n) * time.Second).Format(time.RFC3339Nano)
		s.text(fmt.Sprintf("{\"at\":%q,\"service\":\"shop\",\"request_id\":\"%d\"}\n", at, s.n))
	}
}

// rotate moves the file, and opens a new one.
func (s *stream) rotate(to string) {
	s.t.Helper()
	s.must(os.Rename(s.path("audit.jsonl"), s.path(to)))
	s.must(s.file.Close())
	s.open()
}

func (s *stream) compress(name string) {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	s.must(err)
	out, err := os.Create(s.path(name + ".gz"))
	s.must(err)
	z := gzip.NewWriter(out)
	_, err = z.Write(text)
	s.must(errors.Join(err, z.Close(), out.Close(), os.Remove(s.path(name))))
}

// A memory is a Sender that keeps the records that it accepts.
type memory struct {
	mu       sync.Mutex
	fails    bool
	got      []export.Record
	arrived  chan struct{}
	attempts chan struct{}
}

func newMemory() *memory {
	return &memory{arrived: make(chan struct{}, 10_000), attempts: make(chan struct{}, 10_000)}
}

func (m *memory) Send(_ context.Context, records []export.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attempts <- struct{}{}
	if m.fails {
		return errors.New("not now")
	}
	for _, r := range records {
		m.got = append(m.got, r)
		m.arrived <- struct{}{}
	}
	return nil
}

func (*memory) Close() {}

func (m *memory) fail(fails bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = fails
}

// await waits for a number of records, and compares all records so far with a list of their numbers.
func (m *memory) await(t *testing.T, n int, want ...int) {
	t.Helper()
	for range n {
		<-m.arrived
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var got []int
	ids := map[string]bool{}
	for _, r := range m.got {
		var line struct {
			ID string `json:"request_id"`
		}
		if err := json.Unmarshal(r.JSON, &line); err != nil || r.Service != "shop" || !r.At.After(start) {
			t.Errorf("%+v: %v", r, err)
		}
		number, _ := strconv.Atoi(line.ID)
		got = append(got, number)
		ids[r.ID] = true
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%v; want %v", got, want)
	}
	if len(ids) != len(got) {
		t.Errorf("%d ids for %d records", len(ids), len(got))
	}
}

// run exports a stream until stop is called, or until the test ends.
func run(t *testing.T, s *stream, to export.Sender) (e *export.Exporter, logged *observer.ObservedLogs, stop func()) {
	t.Helper()
	core, logged := observer.New(zap.WarnLevel)
	e, err := export.New(export.Options{
		Stream: s.path("audit.jsonl"), Cursor: s.path("cursor.json"), Send: to, Sent: func(int, bool) {}, Log: zap.New(core),
		Now: func() time.Time { return start.Add(time.Hour) }, Every: time.Millisecond,
	})
	s.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return e, logged, stop
}

func TestExportFollowsTheStream(t *testing.T) {
	t.Parallel()
	s, to := newStream(t), newMemory()
	s.add(2)
	_, _, stop := run(t, s, to)
	to.await(t, 2, 1, 2)
	s.text(`{"at":"2026-11-28T12:30:00Z",`) // a line that is written in two parts
	s.text(`"service":"shop","request_id":"99"}` + "\n")
	to.await(t, 1, 1, 2, 99)
	stop()
	s.add(1)
	_, _, stop = run(t, s, to) // the next process
	to.await(t, 1, 1, 2, 99, 3)
	stop()
}

func TestExportContinuesInRotatedFiles(t *testing.T) {
	t.Parallel()
	for name, compressed := range map[string]bool{"plain": false, "compressed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, to := newStream(t), newMemory()
			s.add(2)
			_, _, stop := run(t, s, to)
			to.await(t, 2, 1, 2)
			stop()
			s.add(1)
			s.rotate("audit.jsonl.1") // the process does not run, and the file is rotated twice
			s.add(2)
			s.must(os.Rename(s.path("audit.jsonl.1"), s.path("audit.jsonl.2")))
			s.rotate("audit.jsonl.1")
			s.add(1)
			if compressed {
				s.compress("audit.jsonl.2")
			}
			_, logged, _ := run(t, s, to)
			to.await(t, 4, 1, 2, 3, 4, 5, 6)
			s.rotate("audit.jsonl-20261128") // while it runs
			s.add(2)
			to.await(t, 2, 1, 2, 3, 4, 5, 6, 7, 8)
			if logged.Len() > 0 {
				t.Error(logged.All())
			}
		})
	}
}

func TestRecordsThatAreAddedAfterTheFileMoved(t *testing.T) {
	t.Parallel()
	s, to := newStream(t), newMemory()
	s.add(1)
	run(t, s, to)
	to.await(t, 1, 1)
	s.must(os.Rename(s.path("audit.jsonl"), s.path("audit.jsonl.1"))) // the gateway still writes to it
	s.add(1)
	to.await(t, 1, 1, 2)
	s.must(s.file.Close())
	s.open()
	s.add(1)
	to.await(t, 1, 1, 2, 3)
}

func TestMissingFileIsReported(t *testing.T) {
	t.Parallel()
	s, to := newStream(t), newMemory()
	s.add(1)
	_, _, stop := run(t, s, to)
	to.await(t, 1, 1)
	stop()
	s.add(1)
	s.rotate("audit.jsonl.1")
	s.must(os.Remove(s.path("audit.jsonl.1")))
	s.add(1)
	_, logged, _ := run(t, s, to)
	to.await(t, 1, 1, 3)
	if logged.FilterMessage("audit records are missing from the export").Len() != 1 {
		t.Error(logged.All())
	}
}

func TestLinesThatAreNoRecords(t *testing.T) {
	t.Parallel()
	s, to := newStream(t), newMemory()
	s.add(1)
	s.text("{\"at\":\"2026-11-28T12:30:00Z\",\n\n") // cut off by a crash, and ended by the next start
	s.text(strings.Repeat("x", 9<<20) + "\n")
	s.add(1)
	_, logged, _ := run(t, s, to)
	to.await(t, 2, 1, 2)
	if got := logged.FilterMessage("audit records are missing from the export").Len(); got != 2 {
		t.Error(logged.All())
	}
}

func TestOutageOfTheCollector(t *testing.T) {
	t.Parallel()
	s, to := newStream(t), newMemory()
	to.fail(true)
	s.add(3)
	e, _, stop := run(t, s, to)
	<-to.attempts
	<-to.attempts
	if got, want := e.Lag(), time.Hour-time.Second; got != want { // record 1 ended a second after the start
		t.Errorf("the lag is %s; want %s", got, want)
	}
	stop()
	if _, err := os.Stat(s.path("cursor.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cursor moved: %v, want %v", err, os.ErrNotExist)
	}
	to.fail(false)
	e, _, stop = run(t, s, to)
	to.await(t, 3, 1, 2, 3)
	stop()
	if e.Lag() != 0 {
		t.Errorf("got %v, want 0", e.Lag())
	}
}

func TestDamagedCursor(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	s.must(os.WriteFile(s.path("cursor.json"), []byte(`{"offset": -1}`), 0o600))
	_, err := export.New(export.Options{Stream: s.path("audit.jsonl"), Cursor: s.path("cursor.json")})
	if err == nil || !strings.Contains(err.Error(), "delete the file") {
		t.Errorf("got %v, want an error that contains %q", err, "delete the file")
	}
}

func record(text string) export.Record {
	return export.Record{ID: "id-1", At: start, Service: "shop", JSON: []byte(text)}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	status := http.StatusNoContent
	var events []map[string]any
	c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err = errors.Join(err, json.Unmarshal(body, &events)); err != nil {
			t.Error(err)
		}
		if got := r.Header.Get(wire.SignatureHeader); got != wire.Sign("0123456789abcdef", start, body) {
			t.Errorf("the signature %q", got)
		}
		if got := r.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/cloudevents-batch+json") {
			t.Errorf("got %q, want a text that starts with %q", got, "application/cloudevents-batch+json")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(c.Close)
	h := export.NewHTTP(c.URL, "0123456789abcdef", false, nil, func() time.Time { return start })
	defer h.Close()
	if err := h.Send(t.Context(), []export.Record{record(`{"service":"shop"}`)}); err != nil {
		t.Fatal(err)
	}
	data, _ := events[0]["data"].(map[string]any)
	if e := events[0]; e["specversion"] != "1.0" || e["id"] != "id-1" || e["source"] != "/services/shop" || data["service"] != "shop" ||
		e["type"] != "io.uimgate.audit.call.v1" || e["time"] != "2026-11-28T12:00:00Z" || e["datacontenttype"] != "application/json" {
		t.Errorf("got %v", e)
	}
	status = http.StatusInternalServerError
	if err := h.Send(t.Context(), []export.Record{record("{}")}); err == nil {
		t.Error("a failure counts as delivered")
	}
}

func TestOTLP(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	o := export.NewOTLP(c.URL+"/v1/logs", map[string]string{"X-Key": "secret"}, nil)
	defer o.Close()
	if err := o.Send(t.Context(), []export.Record{record(`{"request_id":"r-1"}`)}); err != nil {
		t.Fatal(err)
	}
	if !c.Contains("r-1") {
		t.Error("the collector has no record")
	}
}

func TestRecordsThatTheCollectorRejects(t *testing.T) {
	t.Parallel()
	answer, err := proto.Marshal(&logs.ExportLogsServiceResponse{PartialSuccess: &logs.ExportLogsPartialSuccess{RejectedLogRecords: 1}})
	if err != nil {
		t.Fatal(err)
	}
	requests := make(chan struct{}, 100)
	c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(answer)
		requests <- struct{}{}
	}))
	t.Cleanup(c.Close)
	s := newStream(t)
	s.add(2)
	_, logged, stop := run(t, s, export.NewOTLP(c.URL, nil, nil))
	<-requests
	s.add(1)
	<-requests // the first batch is not sent again
	stop()
	if got := logged.FilterMessage("audit records are missing from the export").Len(); got == 0 || len(requests) > 0 {
		t.Error(logged.All(), len(requests))
	}
}

func TestSyslog(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	s := export.NewSyslog(ln.Addr().String(), nil)
	defer s.Close()
	for range 2 { // the second time, the server has closed the connection
		accepted := make(chan net.Conn, 1)
		go func() {
			c, err := ln.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- c
		}()
		if err := s.Send(t.Context(), []export.Record{record(`{"n":1}`), record(`{"n":22}`)}); err != nil {
			t.Fatal(err)
		}
		c := <-accepted
		in := bufio.NewReader(c)
		for _, want := range []string{`{"n":1}`, `{"n":22}`} {
			length, err := in.ReadString(' ')
			if err != nil {
				t.Fatal(err)
			}
			n, err := strconv.Atoi(strings.TrimSpace(length))
			if err != nil {
				t.Fatal(err)
			}
			message := make([]byte, n)
			if _, err := io.ReadFull(in, message); err != nil {
				t.Fatal(err)
			}
			if got := string(message); !strings.HasPrefix(got, "<110>1 2026-11-28T12:00:00.000000Z ") || !strings.HasSuffix(got, " audit - "+want) ||
				len(strings.Fields(got)) != 8 {
				t.Errorf("got %q", got)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
