package agent

import (
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxText       = 500 // characters of a stranger's text in our errors
	maxViolations = 64
	maxRetryAfter = 365 * 24 * time.Hour
	maxSeconds    = int64(maxRetryAfter / time.Second)
)

// clean makes a stranger's text fit to be shown: on one line, without control characters (a terminal
// obeys them) and not longer than maxText.
func clean(s string) string {
	if len(s) > 8*maxText {
		s = s[:8*maxText]
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029'
	}), " ")
	if runes := []rune(s); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return s
}

// symbol keeps what looks like a code of the protocol, and nothing else.
func symbol(v any) string {
	s, _ := v.(string)
	if len(s) > 64 || !only(s, "_-") {
		return ""
	}
	return s
}

// only reports whether a text is made of ASCII letters, digits and these others.
func only(s, others string) bool {
	for _, r := range s {
		letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune(others, r) {
			return false
		}
	}
	return true
}

func mediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// jsonType reports whether a body of this type may be JSON: static hosts know no better than text.
func jsonType(kind string) bool {
	switch kind {
	case "", "application/json", "text/json", "text/plain", "application/octet-stream", "binary/octet-stream":
		return true
	}
	return strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}

// readError reads what a service answered instead of doing what was asked, in the shapes that are found:
// {"error": {code, message, details}} of UIM core 3.3 and the draft, {"error": "…"}, {"detail": …} of web
// frameworks, and RFC 9457. Every answer gives an Error; one that says nothing has its status alone.
func readError(a fetch.Answer) *Error {
	e := &Error{Status: a.Status, RequestID: symbolic(a.Header.Get("Uim-Request-Id")), Replayed: replayed(a.Header)}
	e.Charge, _ = parseCharge(a.Header.Get("Uim-Charge"))
	if !jsonType(mediaType(a.Header)) || len(a.Body) > maxErrorBody {
		return e.header(a.Header)
	}
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return e.header(a.Header)
	}
	switch inner := tree["error"].(type) {
	case map[string]any:
		e.envelope(inner)
	case string:
		e.Message = clean(inner)
	default:
		e.loose(tree)
	}
	if e.Charge == nil {
		e.Charge = chargeOf(e.Details["charge"])
	}
	return e.header(a.Header)
}

// header takes what stands in the header; Retry-After there wins.
func (e *Error) header(h http.Header) *Error {
	e.RateLimit = parseRateLimit(h)
	if wait, ok := parseRetryAfter(h.Get("Retry-After"), h.Get("Date")); ok {
		e.RetryAfter = wait
	}
	return e
}

func (e *Error) envelope(inner map[string]any) {
	e.Code = symbol(inner["code"])
	e.Message, _ = inner["message"].(string)
	e.Message = clean(e.Message)
	d, _ := inner["details"].(map[string]any)
	e.Details = d
	e.Reason, e.UIMCode = symbol(d["reason"]), symbol(d["uim_code"])
	suggestion, _ := d["suggestion"].(string)
	e.Suggestion = clean(suggestion)
	if list, ok := d["violations"].([]any); ok {
		e.Violations = readViolations(list)
	}
	switch outcome := symbol(d["outcome"]); outcome {
	case "not_sent", "failed", "done", "unknown":
		e.Outcome = outcome
	}
	if seconds, ok := wholeNumber(d["retry_after"]); ok {
		e.RetryAfter = min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if policy, ok := d["policy"].(map[string]any); ok {
		e.Offered, _ = policy["digest"].(string)
		if !digestForm(e.Offered) {
			e.Offered = ""
		}
		e.offeredUID, _ = policy["uid"].(string)
	}
}

// loose reads errors that are not UIM's.
func (e *Error) loose(tree map[string]any) {
	e.Code = symbol(tree["code"])
	for _, name := range []string{"message", "detail", "title"} {
		switch v := tree[name].(type) {
		case string:
			e.Message = clean(v)
		case []any: // FastAPI: [{"loc": […], "msg": "…"}]
			for _, item := range v[:min(len(v), maxViolations)] {
				m, _ := item.(map[string]any)
				if text, ok := m["msg"].(string); ok {
					e.Violations = append(e.Violations, intents.Violation{Pointer: location(m["loc"]), Message: clean(text)})
				}
			}
			e.Message = "the request does not have the form that is asked for"
		case map[string]any:
			e.envelope(v)
		}
		if e.Message != "" {
			return
		}
	}
}

// location makes a pointer into the parameters of FastAPI's loc: ["body", "parameters", "city"].
func location(v any) string {
	list, _ := v.([]any)
	var b strings.Builder
	for i, item := range list {
		s, ok := item.(string)
		if n, isNumber := item.(json.Number); isNumber {
			s, ok = n.String(), true
		}
		if !ok || i > 16 {
			break
		}
		if i < 2 && (s == "body" || s == "parameters") {
			continue
		}
		b.WriteString("/" + strictjson.Escape(clean(s)))
	}
	return b.String()
}

func readViolations(list []any) []intents.Violation {
	var out []intents.Violation
	for _, item := range list[:min(len(list), maxViolations)] {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		v := intents.Violation{Keyword: symbol(m["keyword"]), Reason: intents.Reason(symbol(m["reason"])), Limit: m["limit"]}
		for name, to := range map[string]*string{"pointer": &v.Pointer, "message": &v.Message, "nearest": &v.Nearest} {
			text, _ := m[name].(string)
			*to = clean(text)
		}
		known, _ := m["known"].([]any)
		for _, k := range known[:min(len(known), maxViolations)] {
			if text, ok := k.(string); ok {
				v.Known = append(v.Known, clean(text))
			}
		}
		out = append(out, v)
	}
	return out
}

// wholeNumber reads a number that is not negative.
func wholeNumber(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	return i, err == nil && i >= 0 && i <= maxSeconds
}

// parseRetryAfter reads seconds or a date, which is held against the answer's own Date. RFC 9110 10.2.3.
func parseRetryAfter(text, date string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, false
	}
	if text[0] >= '0' && text[0] <= '9' {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 {
			return 0, false
		}
		return time.Duration(min(seconds, maxSeconds)) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	from, err := http.ParseTime(date)
	if err != nil {
		return 0, false
	}
	return min(max(0, at.Sub(from)), maxRetryAfter), true
}

func replayed(h http.Header) bool { return strings.EqualFold(h.Get("Idempotency-Replayed"), "true") }

// symbolic keeps a request id in the form the protocol gives it.
func symbolic(s string) string {
	if len(s) > 64 || !only(s, "._-") {
		return ""
	}
	return s
}

// digestForm reports whether a text looks like a policy digest.
func digestForm(s string) bool {
	rest, ok := strings.CutPrefix(s, "sha-256:")
	return ok && len(rest) == 43 && symbol(rest) == rest
}
