package relay_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/internal/membudget"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// raw opens a connection and writes the beginning of a request on it.
func (h *host) raw(text string) net.Conn {
	h.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	h.must(err)
	h.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprint(conn, text)
	h.must(err)
	return conn
}

// signedText returns the text of a signed request without its body.
func (a *agent) signedText(method, target, from, body string, length int) string {
	headers := http.Header{"X-From": {from}}
	wire.Sign(headers, a.private, a.at(), method, target, wire.Sum([]byte(body)))
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", method, target, length)
	a.must(headers.Write(&text))
	return text.String() + "\r\n"
}

// holdUpload sends the beginning of an upload, but not its end.
func (h *host) holdUpload(a *agent, from string, bytes int) net.Conn {
	h.Helper()
	return h.raw(a.signedText("POST", "/v1/blobs", from, "another", bytes+1) + strings.Repeat("x", bytes))
}

func dirBytes(dir string) (n int64) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// A message whose body ends early is not accepted.
func TestTruncatedMessage(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a := h.agent().known()
	body := message(a.key(), `"whole"`)
	conn := h.raw(a.signedText("POST", "/v1/messages", "", body, len(body)) + body[:len(body)-3])
	h.must(conn.(*net.TCPConn).CloseWrite())
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	h.must(err)
	_ = answer.Body.Close()
	if list := a.poll(""); answer.StatusCode != http.StatusBadRequest || len(list) != 0 {
		t.Errorf("%s, and %d messages", answer.Status, len(list))
	}
}

// If the disk cannot store blobs, uploads are temporarily refused, and no record of a blob is left.
func TestBlobsWithoutDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	h := newHost(t, "", func(o *relay.Options) { o.Blobs = dir })
	a := h.agent().known()
	kept := h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", "kept")).BlobID
	h.must(os.Rename(dir, dir+".gone"))
	h.wants(http.StatusServiceUnavailable, "internal_error", a.do("POST", "/v1/blobs", "bytes"))
	if got := a.do("GET", "/v1/blobs/"+kept, ""); got.Status < http.StatusInternalServerError {
		t.Errorf("a blob whose bytes cannot be read: %d %s; want at least %v", got.Status, got.Raw, http.StatusInternalServerError)
	}
	h.must(os.Rename(dir+".gone", dir))
	h.wants(http.StatusOK, "", a.do("GET", "/v1/blobs/"+kept, ""))
	if got := h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", "bytes")); got.Header.Get("X-M2M-Storage-Used") != "9" {
		t.Errorf("got %v", got.Header)
	}
}

// The response to any number of ranges is not longer than the blob and some headers.
func TestHostileRanges(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a := h.agent().known()
	blob := h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", strings.Repeat("x", 100_000))).BlobID
	for _, ranges := range []string{
		strings.Repeat("0-99999,", 500) + "0-1", strings.Repeat("0-0,", 1500) + "0-0", strings.Repeat("-1,", 3000) + "-1",
		"0-18446744073709551616", "9223372036854775807-9223372036854775807", "5-1", "a-b", "-",
	} {
		got := a.do("GET", "/v1/blobs/"+blob, "", "Range", "bytes="+ranges)
		if len(got.Raw) > 500_000 || got.Status >= http.StatusInternalServerError {
			t.Errorf("%.40s: %d with %d bytes", ranges, got.Status, len(got.Raw))
		}
	}
}

// Concurrent large frames on many sockets stay within the memory for bodies, and do not delay others.
func TestConcurrentLargeFrames(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", many, func(o *relay.Options) { o.Budget = membudget.NewBudget(4<<20, func() {}) })
	lines := make([]*line, atOnce)
	for i := range lines {
		lines[i] = h.agent().known().connect()
	}
	to := h.agent().known()
	frame := `{"type":"send","message":` + message(to.key(), `"`+strings.Repeat("x", 1<<20-2)+`"`) + `}`
	var all sync.WaitGroup
	for _, l := range lines {
		all.Go(func() {
			if l.Write(h.Context(), websocket.MessageText, []byte(frame)) != nil {
				return // the relay has ended it
			}
			if _, _, err := l.Read(h.Context()); err != nil && websocket.CloseStatus(err) != websocket.StatusTryAgainLater {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	h.wants(http.StatusOK, "", to.do("GET", to.path(), ""))
	got := to.do("GET", "/v1/messages?limit=1", "")
	for got.Status == http.StatusServiceUnavailable && h.Context().Err() == nil { // the memory of the last frames is not free yet
		got = to.do("GET", "/v1/messages?limit=1", "")
	}
	if got.Status != http.StatusOK {
		t.Errorf("got %d, want %d", got.Status, http.StatusOK)
	}
}
