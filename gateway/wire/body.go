// Package wire reads and writes the parts of HTTP messages that the agents' listener and the operators' listener share: it reads JSON
// objects strictly and writes refusals. It does not depend on a router.
package wire

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// MediaType is the media type that draft-uim-protocol-core-01 defines for its JSON.
const MediaType = "application/uim+json"

// MaxValues is the maximum number of values in one JSON body, including nested values.
const MaxValues = 100_000

// ReadObject reads the body of a request as one JSON object of at most MaxValues values. maxBytes is the maximum size of the body. The
// memory comes from the membudget share in the context of the request. The error is a *reason.Refusal.
func ReadObject(r *http.Request, maxBytes int64) (strictjson.Object, error) {
	data, err := ReadJSON(r, maxBytes)
	if err != nil {
		return nil, err
	}
	return ObjectOf(data)
}

// ObjectOf parses the body of a request as a JSON object of at most MaxValues values. The error is a *reason.Refusal.
func ObjectOf(data []byte) (strictjson.Object, error) {
	tree, err := strictjson.DecodeObjectOf(data, MaxValues)
	if err != nil {
		return nil, Malformed(err)
	}
	return tree, nil
}

// ReadJSON reads the body of a request whose media type is JSON. maxBytes is the maximum size of the body. In addition
// to JSON, it accepts the media types in also. The memory for the body, and for parsing it with strictjson, comes from
// the membudget share in the context of the request. The error is a *reason.Refusal.
func ReadJSON(r *http.Request, maxBytes int64, also ...string) ([]byte, error) {
	if !acceptable(r.Header.Get("Content-Type"), also...) {
		return nil, reason.UnsupportedMediaType.Refusal("")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, reason.UnsupportedMediaType.Refusal("The body must not be compressed.")
	}
	data, err := ReadBody(r, maxBytes)
	if err != nil {
		return nil, err
	}
	return data, Affords(r.Context(), data)
}

// Affords reserves the memory for parsing text as JSON from the membudget share in ctx. If the memory is not available, it returns an
// Overloaded refusal.
func Affords(ctx context.Context, text []byte) error {
	if membudget.Of(ctx).Take(strictjson.Cost(text)) != nil {
		return overloaded()
	}
	return nil
}

// Holds reserves memory for a response from the membudget share in ctx, because the client may read the response slowly. If wait is true,
// Holds waits for memory until ctx ends: use this for responses that an agent cannot request again. Otherwise, or if ctx ends, it returns
// an Overloaded refusal.
func Holds(ctx context.Context, answer []byte, wait bool) error {
	share, size := membudget.Of(ctx), int64(len(answer))
	take := share.Take
	if wait {
		take = func(n int64) error { return share.Wait(ctx, n) }
	}
	if take(size) != nil {
		return overloaded()
	}
	return nil
}

// acceptable reports whether a Content-Type is JSON or one of also, in UTF-8.
func acceptable(mediaType string, also ...string) bool {
	const usual = "application/json"
	if mediaType == usual {
		return true
	}
	kind, params, err := mime.ParseMediaType(mediaType)
	return err == nil && (kind == usual || kind == MediaType || slices.Contains(also, kind)) && utf8Charset(params["charset"])
}

// shortBody is the maximum size of a body, in bytes, for which readAll allocates the announced length before it reads. For longer bodies, a
// client could announce much and send little.
const shortBody = 4 << 10

// ReadBody reads the body of a request. maxBytes is the maximum size of the body. The memory comes from the membudget share in the context
// of the request. The error is a *reason.Refusal.
func ReadBody(r *http.Request, maxBytes int64) ([]byte, error) {
	data, err := readAll(r, maxBytes)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, reason.BodyTooLarge.Refusal("").With("max_bytes", maxBytes)
	}
	switch {
	case errors.Is(err, membudget.ErrExhausted):
		return nil, overloaded()
	case isTimeout(err):
		return nil, reason.RequestTimeout.Refusal("")
	case err != nil:
		return nil, reason.MalformedRequest.Refusal("The body did not arrive completely.").Because(err)
	}
	return data, nil
}

func readAll(r *http.Request, maxBytes int64) ([]byte, error) {
	share := membudget.Of(r.Context())
	if n := r.ContentLength; 0 <= n && n <= min(maxBytes, shortBody) {
		data := make([]byte, n)
		if _, err := io.ReadFull(r.Body, data); err != nil {
			return nil, err
		}
		return data, share.Take(2 * n)
	}
	return io.ReadAll(membudget.NewReader(http.MaxBytesReader(nil, r.Body, maxBytes), share.Take))
}

func overloaded() error { return reason.Overloaded.Refusal("").After(time.Second) }

func utf8Charset(charset string) bool { return charset == "" || strings.EqualFold(charset, "utf-8") }

func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}

// Malformed returns the refusal of a body that is not acceptable JSON. If err is a *strictjson.Error, the refusal states the problem and
// its position.
func Malformed(err error) *reason.Refusal {
	f := reason.MalformedRequest.Refusal("The body is not the expected JSON.")
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		f.Message = "The body is not acceptable JSON: " + e.Reason + "."
		f.With("line", e.Line).With("column", e.Column)
		if e.Pointer != "" {
			f.With("pointer", e.Pointer)
		}
	}
	return f
}
