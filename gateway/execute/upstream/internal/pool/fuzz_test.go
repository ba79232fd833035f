package pool_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
)

// FuzzAnswer: an answer that is accepted is one that net/http reads as well, as the same; one that is refused is refused by
// net/http, or is of a class that is refused here on purpose.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.0 200 OK\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\nA: b\r\n\r\n", "HTTP/1.1 204\n\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 101 X\r\nUpgrade: y\r\n\r\n",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 200 OK\r\nConnection: a, close\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\n\r\n",
		"HTTP/1.1 503 X\r\nRetry-After: 1\r\nRetry-After:\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}!",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, head bool) {
		if len(raw) > 32<<10 {
			return
		}
		method := http.MethodGet
		if head {
			method = http.MethodHead
		}
		got, body, reusable, err := answerOf(t, method, raw)
		want, wantBody, wantReusable, wantErr := standardAnswer(method, raw)
		switch {
		case err != nil && wantErr == nil:
			if errors.Is(err, io.EOF) || !stricter(raw, err) {
				t.Fatalf("refused (%v), but not by net/http: %d %q", err, want.StatusCode, wantBody)
			}
			return
		case err == nil && wantErr != nil:
			t.Fatalf("accepted (%d %q), but not by net/http: %v", got.Status, body, wantErr)
		case got == nil || want == nil:
			return
		}
		if got.Status != want.StatusCode || got.Length != want.ContentLength || !bytes.Equal(body, wantBody) {
			t.Fatalf("%d, length %d, %q; net/http: %d, length %d, %q",
				got.Status, got.Length, body, want.StatusCode, want.ContentLength, wantBody)
		}
		for _, name := range kept {
			var values []string
			for _, f := range got.Header {
				if f.Name == name {
					values = append(values, f.Value)
				}
			}
			if !slices.Equal(values, want.Header[name]) {
				t.Fatalf("%s: %q; net/http: %q", name, values, want.Header[name])
			}
		}
		if reusable != wantReusable && (reusable || got.Status != http.StatusNoContent && !bothFramed.Match(raw)) {
			t.Fatalf("reusable: %t; with net/http: %t", reusable, wantReusable)
		}
	})
}

// standardAnswer reads an answer by net/http.
func standardAnswer(method string, raw []byte) (resp *http.Response, body []byte, reusable bool, err error) {
	in := bufio.NewReader(bytes.NewReader(raw))
	for {
		if resp, err = http.ReadResponse(in, &http.Request{Method: method}); err != nil {
			return nil, nil, false, err
		}
		if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		body, err = io.ReadAll(resp.Body)
		return resp, body, err == nil && resp.StatusCode >= 200 && !resp.Close && in.Buffered() == 0, err
	}
}

// bothFramed: a length beside chunks. Such an answer is the last on its connection.
var bothFramed = regexp.MustCompile(`(?i)content-length(?s:.*)transfer-encoding|transfer-encoding(?s:.*)content-length`)

// stricter reports whether an answer that net/http reads was refused for what is refused here on purpose: status lines and
// fields that are not as RFC 9112 4 and 5 have them (other versions, more spaces, numbers below 100, spaces in names, fields that go
// on in the next line, control characters), and chunks of HTTP/1.0.
func stricter(raw []byte, refused error) bool {
	lines := bytes.Split(raw, []byte("\n"))
	other := func(want *regexp.Regexp) bool {
		return slices.ContainsFunc(lines, func(line []byte) bool { return !want.Match(bytes.TrimSuffix(line, []byte("\r"))) })
	}
	switch {
	case folded.Match(raw):
		return true
	case errors.Is(refused, pool.ErrStatusLine):
		return other(statusLine)
	case errors.Is(refused, pool.ErrField):
		return other(fieldLine)
	case errors.Is(refused, pool.ErrInterim):
		return interim.Match(raw)
	case errors.Is(refused, pool.ErrTrailer):
		return slices.ContainsFunc(lastChunk.FindAllIndex(raw, -1), func(at []int) bool { return oddTrailer(raw[at[1]:]) })
	default:
		return errors.Is(refused, pool.ErrCoding) && chunksOfOld.Match(raw)
	}
}

// oddTrailer reports whether what stands behind the last chunk is not lines of fields, each with its CR LF, of some length at most.
func oddTrailer(raw []byte) bool {
	for rest := raw; ; {
		line, more, found := bytes.Cut(rest, []byte("\r\n"))
		if found && len(line) == 0 {
			return len(raw)-len(more) > 4<<10
		}
		if !found || !fieldLine.Match(line) {
			return true
		}
		rest = more
	}
}

var (
	lastChunk   = regexp.MustCompile(`(?m)^0+[^\n]*\n`)
	folded      = regexp.MustCompile(`\n[\t ]`)
	statusLine  = regexp.MustCompile(`^HTTP/1\.[0-9] [1-9][0-9]{2}( [^\x00-\x08\x0a-\x1f\x7f]*)?$`)
	fieldLine   = regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9A-Za-z]+:[^\\x00-\\x08\\x0a-\\x1f\\x7f]*$")
	interim     = regexp.MustCompile(`(?is)HTTP/1\.[0-9] 1[0-9]{2}.*\n(transfer-encoding|content-length):`)
	chunksOfOld = regexp.MustCompile(`(?is)HTTP/1\.0.*\ntransfer-encoding:`)
)
