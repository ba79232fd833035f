package gateway_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
)

// collectorOf starts a server that responds to exports in ways in which a collector must not respond.
func collectorOf(t *testing.T, respond http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		respond(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(func() {
		s.CloseClientConnections() // otherwise Close waits for requests that the exporter has not given up
		s.Close()
	})
	return s
}

// A response of a collector that is not a success counts the spans as lost. It is logged once, briefly and without secrets, and does not
// prevent the end of the process.
func TestBadResponsesOfTheCollector(t *testing.T) {
	inside := collectorOf(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	inside.Start()
	for name, test := range map[string]struct {
		secure  bool
		respond http.HandlerFunc
	}{
		"refuses": {respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusServiceUnavailable)
		}},
		"resets": {respond: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"garbage": {respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = io.WriteString(w, "\xff\xff\xff")
		}},
		"a long error with the headers": {respond: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, r.Header.Get("X-Key")+strings.Repeat("x", 1<<20))
		}},
		"an endless response": {respond: func(w http.ResponseWriter, r *http.Request) {
			for line := []byte(strings.Repeat("x", 1<<16)); r.Context().Err() == nil; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}},
		"a slow response": {respond: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
		"a redirect": {respond: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
		}},
		"a redirect to a page": {respond: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, http.StatusFound) }},
		"an unknown CA":        {secure: true, respond: func(http.ResponseWriter, *http.Request) { t.Error("a request") }},
	} {
		t.Run(name, func(t *testing.T) {
			s := collectorOf(t, test.respond)
			if test.secure {
				s.StartTLS()
			} else {
				s.Start()
			}
			e, lost, logged := open(t, s.URL)
			for range 3 {
				e.Traces.Record(call())
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if name != "a slow response" && lost.Load() != 3 { // the wait for it exceeds that of Close
				t.Errorf("%d of 3 spans are counted as lost", lost.Load())
			}
			lines := logged.FilterMessage("telemetry is not exported").All()
			if len(lines) != 1 || lines[0].Level != zapcore.WarnLevel {
				t.Fatalf("the log: %v", logged.All())
			}
			text, _ := lines[0].ContextMap()["error"].(string)
			if text == "" || len(text) > 600 || strings.Contains(text, secret) {
				t.Errorf("the error: %.800q", text)
			}
		})
	}
}
