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

// FuzzAnswer compares the reader with net/http: if it accepts a response, net/http reads the same one. If it refuses a response, net/http
// refuses it too, or the pool is stricter on purpose.
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

// standardAnswer reads a response with net/http.
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

// bothFramed matches responses with both a Content-Length and a Transfer-Encoding. They end the connection.
var bothFramed = regexp.MustCompile(`(?i)content-length(?s:.*)transfer-encoding|transfer-encoding(?s:.*)content-length`)

// stricter reports whether the pool refuses on purpose a response that net/http accepts: its status line or fields do not follow RFC 9112
// sections 4 and 5 (other versions, more spaces, status codes below 100, spaces in names, folded lines, control characters), or it has
// chunks in HTTP/1.0.
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

// oddTrailer reports whether the bytes after the last chunk are anything but field lines that end with CR LF and have at most 4 KiB.
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
