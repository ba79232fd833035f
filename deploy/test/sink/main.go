// Command sink is an OpenTelemetry collector for the test of the packages. It listens on 127.0.0.1:4318, accepts OTLP over HTTP, and writes
// a line of JSON for each span to stdout, with its trace id, its name and its attributes.
package main

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

const maxBody = 64 << 20 // bytes, decompressed

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		if err := write(os.Stdout, r); err != nil {
			fmt.Fprintln(os.Stderr, "sink:", err)
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	mux.HandleFunc("POST /", func(http.ResponseWriter, *http.Request) {}) // metrics and logs
	s := &http.Server{Addr: "127.0.0.1:4318", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintln(os.Stderr, "sink:", s.ListenAndServe())
	os.Exit(1)
}

func write(w io.Writer, r *http.Request) error {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = z
	}
	data, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		return err
	}
	var request traces.ExportTraceServiceRequest
	if err := proto.Unmarshal(data, &request); err != nil {
		return err
	}
	out := json.NewEncoder(w)
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				line := map[string]any{"trace": hex.EncodeToString(span.GetTraceId()), "name": span.GetName(), "attributes": span.GetAttributes()}
				if err := out.Encode(line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
