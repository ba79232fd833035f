package relay_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

func TestBlobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().known(), h.agent().known()
		bytes := strings.Repeat("0123456789", 10_000)
		sum := sha256.Sum256([]byte(bytes))
		hash := hex.EncodeToString(sum[:])
		up := h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", bytes, "Content-Type", "text/plain"))
		if up.Hash != hash || up.Size != int64(len(bytes)) || up.Header.Get("X-M2M-Storage-Used") != "100000" ||
			up.Header.Get("X-M2M-Storage-Limit") != "1073741824" {
			t.Errorf("got %s %v", up.Raw, up.Header)
		}
		path := "/v1/blobs/" + up.BlobID
		for _, method := range []string{"GET", "HEAD"} {
			got := h.wants(http.StatusOK, "", a.do(method, path, ""))
			if method == "GET" && string(got.Raw) != bytes || got.Header.Get("X-M2M-Blob-Hash") != hash ||
				got.Header.Get("Content-Type") != "text/plain" || got.Header.Get("Content-Length") != "100000" ||
				got.Header.Get("Content-Disposition") != "attachment" {
				t.Errorf("%s: %v", method, got.Header)
			}
		}
		for header, want := range map[string]string{"bytes=0-4": "01234", "bytes=99995-": "56789", "bytes=-3": "789"} {
			got := a.do("GET", path, "", "Range", header)
			if got.Status != http.StatusPartialContent || string(got.Raw) != want {
				t.Errorf("%s: %d %q", header, got.Status, got.Raw)
			}
		}
		if got := a.do("GET", path, "", "Range", "bytes=100000-"); got.Status != http.StatusRequestedRangeNotSatisfiable {
			t.Errorf("beyond the end: %d, want %d", got.Status, http.StatusRequestedRangeNotSatisfiable)
		}
		if got := a.do("GET", path, "", "Range", "bytes=0-99999,0-99999,0-99999"); len(got.Raw) > 200_000 {
			t.Errorf("ranges that overlap: %d bytes", len(got.Raw))
		}
		h.wants(http.StatusForbidden, "forbidden", b.do("GET", path, ""))
		h.wants(http.StatusForbidden, "forbidden", b.do("DELETE", path, ""))
		for _, id := range []string{"blob_000000000000000000000000", "x", "..%2f..%2fetc%2fpasswd", "%00"} {
			h.wants(http.StatusNotFound, "blob_not_found", a.do("GET", "/v1/blobs/"+id, ""))
		}
		h.wants(http.StatusNoContent, "", a.do("DELETE", path, ""))
		h.wants(http.StatusNotFound, "blob_not_found", a.do("GET", path, ""))
		h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", ""))
		h.wants(http.StatusBadRequest, "bad_request", a.do("POST", "/v1/blobs", "x", "Content-Type", "no type"))
	})
}

func TestBlobQuotas(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a := h.agent().known()
		h.wants(http.StatusRequestEntityTooLarge, "payload_too_large", a.do("POST", "/v1/blobs", strings.Repeat("x", 101)))
		h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", strings.Repeat("x", 100)))
		got := h.wants(http.StatusInsufficientStorage, "insufficient_storage", a.do("POST", "/v1/blobs", strings.Repeat("x", 60)))
		if got.Header.Get("X-M2M-Storage-Used") != "100" || got.Header.Get("X-M2M-Storage-Limit") != "150" {
			t.Errorf("got %v", got.Header)
		}
		h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", "1"))
		h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", "2"))
		h.wants(http.StatusInsufficientStorage, "insufficient_storage", a.do("POST", "/v1/blobs", "3"))
	}, func(o *relay.Options) { o.Limits.Blob, o.Limits.BlobBytes, o.Limits.Blobs = 100, 150, 3 })
}

// A blob is stored only if its content matches the signed hash.
func TestBlobWithWrongHash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := newHost(t, "", func(o *relay.Options) { o.Blobs = dir })
	a := h.agent().known()
	r := a.host.request("POST", "/v1/blobs", "what is sent")
	wire.Sign(r.Header, a.private, a.at(), "POST", "/v1/blobs", wire.Sum([]byte("what is signed")))
	h.wants(http.StatusUnauthorized, "invalid_signature", h.sent(r))

	// A body that ends early.
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	h.must(err)
	defer conn.Close()
	headers := http.Header{}
	wire.Sign(headers, a.private, a.at(), "POST", "/v1/blobs", wire.Sum([]byte("whole")))
	fmt.Fprint(conn, "POST /v1/blobs HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n")
	h.must(headers.Write(conn))
	fmt.Fprint(conn, "\r\nwho")
	h.must(conn.(*net.TCPConn).CloseWrite())
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	h.must(err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("got %s", answer.Status)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("files left: %v, %v; want none, nil", files, err)
	}
}

func TestBlobsExpire(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := newHost(t, "", func(o *relay.Options) { o.Blobs = dir })
	a := h.agent().known()
	blob := h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", "bytes")).BlobID
	h.pass(31 * 24 * time.Hour)
	h.wants(http.StatusNotFound, "blob_not_found", a.do("GET", "/v1/blobs/"+blob, ""))
	h.relay.Swept(t.Context())
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("files left: %v, %v; want none, nil", files, err)
	}
}
