package gateway

import (
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/nearest"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// readObject reads one JSON object of at most most bytes from a request.
func readObject(r *http.Request, most int64) (map[string]any, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || (kind != "application/json" && kind != mediaTypeUIM) || !utf8Charset(params["charset"]) {
		return nil, newFault("UNSUPPORTED_MEDIA_TYPE", "The body must be JSON in UTF-8.")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, newFault("UNSUPPORTED_MEDIA_TYPE", "The body must not be compressed.")
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, newFault("BODY_TOO_LARGE", "The body is larger than this gateway takes.").with("max_bytes", most)
	case isTimeout(err):
		return nil, newFault("REQUEST_TIMEOUT", "The body did not arrive in time.")
	case err != nil:
		return nil, newFault("MALFORMED_REQUEST", "The body did not arrive whole.").because(err)
	}
	tree, err := strictjson.DecodeObject(data)
	if err != nil {
		return nil, malformed(err)
	}
	return tree, nil
}

func utf8Charset(charset string) bool { return charset == "" || strings.EqualFold(charset, "utf-8") }

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func malformed(err error) *Fault {
	f := newFault("MALFORMED_REQUEST", "The body is not the JSON that is asked for.")
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		f.Message = "The body is not acceptable JSON: " + e.Reason + "."
		f.with("line", e.Line).with("column", e.Column)
		if e.Pointer != "" {
			f.with("pointer", e.Pointer)
		}
	}
	return f
}

// members takes the known members out of an object and refuses what it does not know: a member
// misspelt must not be a member ignored.
type members struct {
	object map[string]any
	known  []string
	err    error
}

func (m *members) take(name string) (any, bool) {
	m.known = append(m.known, name)
	v, ok := m.object[name]
	return v, ok
}

// text takes a string member; required ones must be there and not empty.
func (m *members) text(name string, required bool) string {
	v, ok := m.take(name)
	s, isText := v.(string)
	switch {
	case m.err != nil:
	case !ok && required, isText && required && s == "":
		m.err = m.wrong(name, "is missing")
	case ok && !isText && v != nil:
		m.err = m.wrong(name, "must be a string")
	}
	return s
}

func (m *members) wrong(name, what string) error {
	f := newFault("MALFORMED_REQUEST", "The member "+name+" "+what+".").with("pointer", "/"+strictjson.Escape(name))
	if _, ok := m.object[name]; !ok {
		for other := range m.object {
			if nearest.Name(other, []string{name}) != "" {
				f.Message = "The member " + name + " " + what + "; the body has one that looks like it."
			}
		}
	}
	return f
}

// done reports the first thing wrong: a member missing or of the wrong type, then one unknown.
func (m *members) done() error {
	if m.err != nil {
		return m.err
	}
	for _, name := range slices.Sorted(maps.Keys(m.object)) {
		if slices.Contains(m.known, name) {
			continue
		}
		f := newFault("MALFORMED_REQUEST", "The body has a member that is not known here.").with("known", m.known)
		if len(name) <= 64 {
			f.with("pointer", "/"+strictjson.Escape(name))
		}
		if near := nearest.Name(name, m.known); near != "" {
			f.Message = "The body has a member that is not known here; perhaps " + near + " is meant."
		}
		return f
	}
	return nil
}

// parseExecute reads the body of an execute call: core's form, or the draft's with an intent object.
// UIM core 3.2; draft-uim-protocol-core-01.
func parseExecute(tree map[string]any) (Request, error) {
	outer := &members{object: tree}
	proof := outer.text("proof", false)
	if v, ok := outer.take("intent"); ok {
		outer.take("context")
		intent, isObject := v.(map[string]any)
		if !isObject {
			return Request{}, outer.wrong("intent", "must be an object")
		}
		if err := outer.done(); err != nil {
			return Request{}, err
		}
		inner := &members{object: intent}
		r := Request{IntentUID: inner.text("uid", true), Parameters: inner.objectMember("parameters"), Proof: proof}
		return r, inner.done()
	}
	r := Request{IntentUID: outer.text("intent_uid", true), Parameters: outer.objectMember("parameters"), Proof: proof}
	return r, outer.done()
}

// objectMember takes an object member; left out it is empty.
func (m *members) objectMember(name string) map[string]any {
	v, ok := m.take(name)
	o, isObject := v.(map[string]any)
	if ok && !isObject && m.err == nil {
		m.err = m.wrong(name, "must be an object")
	}
	if o == nil {
		o = map[string]any{}
	}
	return o
}
