package agent

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func mediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

const maxViolations = 64

// jsonType reports whether a body of this type may be JSON: static hosts send some JSON files as text or binary data.
func jsonType(kind string) bool {
	switch kind {
	case "", "application/json", "text/json", "text/plain", "application/octet-stream", "binary/octet-stream":
		return true
	}
	return strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}

// readError parses an error response in one of the formats in use: {"error": {code, message, details}} of UIM core 3.3 and the
// draft, {"error": "…"}, {"detail": …} of web frameworks, and RFC 9457. It always returns an Error; if the format is unknown, the
// Error has only the status and the values of the header.
func readError(a fetch.Answer) *Error {
	e := &Error{
		Status: a.Status, RequestID: identifier(a.Header.Get("Uim-Request-Id")), Replayed: replayed(a.Header), Evidence: receiptsOf(a.Header),
	}
	e.Charge, _ = parseCharge(a.Header.Get("Uim-Charge"))
	if !jsonType(mediaType(a.Header)) || len(a.Body) > maxErrorBody {
		return e.parseHeader(a.Header)
	}
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return e.parseHeader(a.Header)
	}
	switch inner := tree["error"].(type) {
	case map[string]any:
		e.parseEnvelope(inner)
	case string:
		e.Message = clean(inner)
	default:
		e.parseForeign(tree)
	}
	if e.Charge == nil {
		e.Charge = chargeOf(e.Details["charge"])
	}
	e.addReceipt(e.Details["receipt"])
	return e.parseHeader(a.Header)
}

// parseHeader adds the values of the header to e and returns e. A Retry-After in the header takes precedence over one in the body.
func (e *Error) parseHeader(h http.Header) *Error {
	e.RateLimit, e.Demand = parseRateLimit(h), e.demandOf(h)
	if wait, ok := fetch.RetryAfter(h); ok {
		e.RetryAfter = wait
	}
	return e
}

func (e *Error) parseEnvelope(inner map[string]any) {
	e.Code = codeName(inner["code"])
	e.Message, _ = inner["message"].(string)
	e.Message = clean(e.Message)
	d, _ := inner["details"].(map[string]any)
	e.Details = d
	e.Reason, e.UIMCode = codeName(d["reason"]), codeName(d["uim_code"])
	suggestion, _ := d["suggestion"].(string)
	e.Suggestion = clean(suggestion)
	upstream, _ := d["upstream"].(map[string]any)
	text, _ := upstream["message"].(string)
	e.Upstream = clean(text)
	if list, ok := d["violations"].([]any); ok {
		e.Violations = readViolations(list)
	}
	switch outcome := codeName(d["outcome"]); outcome {
	case "not_sent", "failed", "done", "unknown":
		e.Outcome = outcome
	}
	if seconds, ok := wholeNumber(d["retry_after"]); ok {
		e.RetryAfter = min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	e.Changes = readChanges(d["changes"])
	if policy, ok := d["policy"].(map[string]any); ok {
		e.Offered, _ = policy["digest"].(string)
		if !IsDigest(e.Offered) {
			e.Offered = ""
		}
		e.offeredUID, _ = policy["uid"].(string)
	}
}

const maxChanges = 20

// readChanges reads the changes of a policy, one line for each change.
func readChanges(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list[:min(len(list), maxChanges)] {
		m, _ := item.(map[string]any)
		about, _ := m["about"].(string)
		if text, ok := m["text"].(string); ok && text != "" {
			out = append(out, strings.TrimSpace(clean(about)+" "+clean(text)))
		}
	}
	return out
}

// parseForeign parses errors in the formats of other protocols and frameworks.
func (e *Error) parseForeign(tree map[string]any) {
	e.Code = codeName(tree["code"])
	for _, name := range []string{"message", "detail", "title"} {
		switch v := tree[name].(type) {
		case string:
			e.Message = clean(v)
		case []any: // FastAPI: [{"loc": […], "msg": "…"}]
			for _, item := range v[:min(len(v), maxViolations)] {
				m, _ := item.(map[string]any)
				if text, ok := m["msg"].(string); ok {
					e.Violations = append(e.Violations, schema.Violation{Pointer: violationPointer(m["loc"]), Message: clean(text)})
				}
			}
			e.Message = "the request does not match the schema of the service"
		case map[string]any:
			e.parseEnvelope(v)
		}
		if e.Message != "" {
			return
		}
	}
}

// violationPointer converts FastAPI's loc, such as ["body", "parameters", "city"], into a JSON pointer into the body.
func violationPointer(v any) string {
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
		if i == 0 && s == "body" {
			continue
		}
		b.WriteString("/" + strictjson.Escape(clean(s)))
	}
	return b.String()
}

func readViolations(list []any) []schema.Violation {
	var out []schema.Violation
	for _, item := range list[:min(len(list), maxViolations)] {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		v := schema.Violation{Keyword: codeName(m["keyword"]), Reason: reason.Reason(codeName(m["reason"])), Limit: m["limit"]}
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

func replayed(h http.Header) bool { return strings.EqualFold(h.Get("Idempotency-Replayed"), "true") }
