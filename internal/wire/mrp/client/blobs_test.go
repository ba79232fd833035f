package client_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
)

// keeper returns a relay that stores one blob.
func keeper(t *testing.T) *stub {
	t.Helper()
	var mu sync.Mutex
	var kept []byte
	hash := func(b []byte) string { h := sha256.Sum256(b); return hex.EncodeToString(h[:]) }
	return stubRelay(t, map[string]http.HandlerFunc{
		"POST /v1/blobs": func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			kept, _ = io.ReadAll(r.Body)
			says(201, `{"blob_id":"blob_1","hash":"%s","size":%d,"content_type":%q}`, hash(kept), len(kept), r.Header.Get("Content-Type"))(w, r)
		},
		"GET /v1/blobs/blob_1": func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("X-M2M-Blob-Hash", hash(kept))
			w.Header().Set("Content-Length", fmt.Sprint(len(kept)))
			_, _ = w.Write(kept)
		},
	})
}

func TestBlobs(t *testing.T) {
	c := client(t, keeper(t))
	for _, content := range []string{"what is in it", "", strings.Repeat("x", 3<<20)} {
		kept, err := c.Upload(t.Context(), strings.NewReader(content), "text/plain")
		if err != nil || kept.ID != "blob_1" || kept.Size != int64(len(content)) {
			t.Fatalf("got %+v, %v; want no error, ID %q and Size %v", kept, err, "blob_1", int64(len(content)))
		}
		var got bytes.Buffer
		if _, err := c.Download(t.Context(), "blob_1", kept.Hash, &got); err != nil || got.String() != content {
			t.Errorf("%d bytes, %v", got.Len(), err)
		}
		if info, err := c.BlobInfo(t.Context(), "blob_1"); err != nil || info.Hash != kept.Hash || info.Size != kept.Size {
			t.Errorf("got %+v, %v; want no error, Hash %v and Size %v", info, err, kept.Hash, kept.Size)
		}
		if _, err := c.Download(t.Context(), "blob_1", strings.Repeat("0", 64), io.Discard); !errors.Is(err, mrp.ErrAnswer) {
			t.Errorf("accepted a blob other than the one requested: %v, want %v", err, mrp.ErrAnswer)
		}
	}
}

func TestEncryptedBlobs(t *testing.T) {
	s := keeper(t)
	att, err := client(t, s).Attach(t.Context(), keyB, []byte("for B alone"), "note.txt")
	if err != nil || !att.Encrypted || att.Size == int64(len("for B alone")) || att.Filename != "note.txt" {
		t.Fatalf("got %+v, %v", att, err)
	}
	other := client(t, s, func(o *mrp.Options) { o.Key = b })
	if got, err := other.Attached(t.Context(), wire.Message{Sender: keyA}, att); err != nil || string(got) != "for B alone" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := other.Attached(t.Context(), wire.Message{Sender: keyB}, att); err == nil {
		t.Errorf("accepted from another sender: %q", got)
	}
}

func TestAlteredBlobsAreRejected(t *testing.T) {
	hash := sha256.Sum256([]byte("right"))
	name := hex.EncodeToString(hash[:])
	for what, answer := range map[string]http.HandlerFunc{
		"other bytes": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-M2M-Blob-Hash", name)
			_, _ = w.Write([]byte("wrong"))
		},
		"no hash": says(200, "right"),
		"a hash in upper case": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-M2M-Blob-Hash", strings.ToUpper(name))
			_, _ = w.Write([]byte("right"))
		},
		"truncated bytes": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-M2M-Blob-Hash", name)
			w.Header().Set("Content-Length", "5")
			_, _ = w.Write([]byte("rig"))
		},
	} {
		s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/blobs/b": answer})
		if got, err := client(t, s).Download(t.Context(), "b", "", io.Discard); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	s := stubRelay(t, map[string]http.HandlerFunc{"POST /v1/blobs": says(201, `{"blob_id":"b","hash":%q,"size":5}`, name)})
	if got, err := client(t, s).Upload(t.Context(), strings.NewReader("wrong"), ""); !errors.Is(err, mrp.ErrAnswer) {
		t.Errorf("accepted another hash: %+v, %v, want %v", got, err, mrp.ErrAnswer)
	}
}

// The client does not repeat an upload whose response was lost, because the relay may have stored it. It repeats one that the relay
// refused temporarily.
func TestUploadRetries(t *testing.T) {
	for name, c := range map[string]struct {
		first    http.HandlerFunc
		requests int
	}{
		"lost":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 1},
		"an error":  {says(500, `{"error":{"code":"internal_error"}}`), 1},
		"a limit":   {says(429, `{"error":{"code":"rate_limit_exceeded"}}`), 2},
		"a replay":  {says(409, `{"error":{"code":"replay_detected"}}`), 2},
		"too large": {says(413, `{"error":{"code":"payload_too_large"}}`), 1},
	} {
		var requests atomic.Int32
		s := stubRelay(t, map[string]http.HandlerFunc{"POST /v1/blobs": func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 1 {
				c.first(w, r)
				return
			}
			body, _ := io.ReadAll(r.Body)
			says(201, `{"blob_id":"b","hash":"%x","size":5}`, sha256.Sum256(body))(w, r)
		}})
		_, err := client(t, s).Upload(t.Context(), strings.NewReader("12345"), "")
		if n := int(requests.Load()); n != c.requests || (err == nil) != (c.requests == 2) {
			t.Errorf("%s: %d requests, %v", name, n, err)
		}
	}
}
