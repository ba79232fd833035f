package mrp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/pat"
)

// An asked is a request to the API.
type asked struct {
	method, path, query string
	header              map[string]string // what is empty is not sent
	body                []byte
	proved              *pat.Proof
}

// ask has the API answer a request of the sender.
func (x *exchange) ask(ctx context.Context, q asked) *told {
	arrival := &door.Arrival{
		Door: Name, Service: x.a.service, Sender: pat.AgentID(x.came.Sender.String()), SenderKey: x.key.Thumbprint(), Confidential: true,
		Proved: q.proved,
	}
	t := &told{header: http.Header{}}
	r, err := http.NewRequestWithContext(arrival.In(ctx), q.method, "/", bytes.NewReader(q.body))
	if err != nil { // the methods are ours
		t.status = http.StatusInternalServerError
		return t
	}
	r.URL = &url.URL{Path: q.path, RawQuery: q.query}
	for name, value := range q.header {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if len(q.body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	x.a.d.API().ServeHTTP(t, r)
	t.WriteHeader(http.StatusOK)
	return t
}

// A told is what the API answers, as far as a message can hold it.
type told struct {
	header http.Header
	status int
	body   bytes.Buffer
	long   bool // there was more
}

// Header returns the header fields.
func (t *told) Header() http.Header { return t.header }

// WriteHeader sets the status, once.
func (t *told) WriteHeader(status int) { t.status = cmp.Or(t.status, status) }

func (t *told) Write(p []byte) (int, error) {
	t.WriteHeader(http.StatusOK)
	if t.long = t.long || t.body.Len()+len(p) > wire.MaxBody; t.long {
		t.body = bytes.Buffer{}
		return len(p), nil
	}
	return t.body.Write(p)
}

// ok reports whether what was asked for was done.
func (t *told) ok() bool { return t.status == http.StatusOK }

// reason is that of a refusal; empty: it is none.
func (t *told) reason() reason.Reason {
	return reason.Reason(textOf(t.body.Bytes(), "/error/details/reason"))
}

// failed answers with the refusal of the API.
func (x *exchange) failed(t *told) answer {
	if t.long {
		return x.long()
	}
	return x.faultOf(t.body.Bytes())
}

// faultOf answers with a refusal, of which the API's body is at hand.
func (x *exchange) faultOf(envelope []byte) answer {
	code := cmp.Or(textOf(envelope, "/error/details/reason"), textOf(envelope, "/error/code"), string(reason.Internal))
	details, _ := strictjson.Find(envelope, "/error/details")
	if text, ok := advice[reason.Reason(code)]; ok {
		if told, err := strictjson.DecodeObject(details); err == nil {
			told["suggestion"] = text
			if advised, err := strictjson.Append(nil, map[string]any(told)); err == nil {
				details = advised
			}
		}
	}
	w := strictjson.NewWriter(nil)
	w.Text("code", strings.ToLower(code))
	w.Text("message", textOf(envelope, "/error/message"))
	w.JSON("details", details)
	return response(wire.ResponseError, "error", w)
}

// fault answers with an error of the protocol's own.
func (x *exchange) fault(f wire.Fault) answer {
	w := strictjson.NewWriter(nil)
	w.Text("code", f.Code)
	w.Text("message", f.Message)
	w.Object("details", f.Details)
	return response(wire.ResponseError, "error", w)
}

// result answers that it was done.
func result(w strictjson.Writer) answer { return response(wire.ResponseOK, "result", w) }

func response(status, member string, content strictjson.Writer) answer {
	inner, err := content.End()
	w := strictjson.NewWriter(nil)
	w.Text("status", status)
	w.JSON(member, inner)
	body, unwritten := w.End()
	if err != nil || unwritten != nil { // texts of ours, and what the API has written
		return answer{wire.TypeResponse, []byte(`{"status":"error","error":{"code":"internal","message":"The answer could not be written."}}`)}
	}
	return answer{wire.TypeResponse, body}
}

// textOf is the text at a pointer; empty: there is none.
func textOf(document []byte, pointer string) (text string) {
	raw, ok := strictjson.Find(document, pointer)
	if !ok || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// keyOf is an idempotency key of a message, and of what is sent because of it.
func keyOf(prefix, id string) string {
	if key, err := execute.ParseIdempotencyKey(prefix + id); err == nil {
		return string(key)
	}
	sum := sha256.Sum256([]byte(id))
	return prefix + hex.EncodeToString(sum[:])
}
