package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// exchanges prints each request of an agent, and the response, on a few lines.
type exchanges struct {
	out  io.Writer
	mu   sync.Mutex
	last string
	same int
}

func (e *exchanges) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		var sent []byte
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			sent = body
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		answer, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		got, err := io.ReadAll(answer.Body)
		if err != nil {
			return nil, err
		}
		answer.Body = io.NopCloser(bytes.NewReader(got))
		e.print(r, sent, answer, got)
		return answer, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// shownFields are the header fields that are printed, in this order.
var shownFields = []string{
	"Authorization", "Idempotency-Key", "UIM-Proof", "RateLimit", "UIM-Charge", "UIM-Receipt", "Idempotency-Replayed", "Retry-After",
	"WWW-Authenticate",
}

func (e *exchanges) print(r *http.Request, sent []byte, answer *http.Response, got []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	summary := fmt.Sprintf("%s %s → %s", r.Method, r.URL.RequestURI(), answer.Status)
	if summary == e.last && bytes.Contains(sent, []byte(`"desk"`)) { // one of the many equal calls up to the limit
		e.same++
		return
	}
	if e.same > 0 {
		fmt.Fprintf(e.out, "   │ … and %d more like it\n", e.same)
	}
	e.last, e.same = summary, 0
	fmt.Fprintf(e.out, "   ┌ %s %s\n", r.Method, r.URL.RequestURI())
	e.fields(r.Header)
	e.body("→", sent)
	fmt.Fprintf(e.out, "   ├ %s\n", answer.Status)
	e.fields(answer.Header)
	e.body("←", got)
	fmt.Fprintln(e.out, "   └")
}

func (e *exchanges) fields(h http.Header) {
	for _, name := range shownFields {
		if value := h.Get(name); value != "" {
			fmt.Fprintf(e.out, "   │ %s: %s\n", name, shortened(value))
		}
	}
}

// body prints at most the first 300 bytes of a document, on one line. It prints nothing if the document is empty.
func (e *exchanges) body(arrow string, body []byte) {
	const most = 300
	if len(body) == 0 {
		return
	}
	var line bytes.Buffer
	if json.Compact(&line, body) != nil {
		line.Reset()
		line.Write(body)
	}
	text := shortened(strings.ReplaceAll(line.String(), "\n", " "))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + fmt.Sprintf(" … (%d bytes)", len(body))
	}
	fmt.Fprintf(e.out, "   │ %s %s\n", arrow, text)
}

var compactJWS = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`)

// shortened abbreviates PATs, agreements and proofs in s, so that they remain recognizable but cannot be used.
func shortened(s string) string {
	return compactJWS.ReplaceAllStringFunc(s, func(jws string) string { return jws[:8] + "…" })
}
