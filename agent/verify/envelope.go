package verify

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// envelope returns the error object of a response and an empty string, or a description of what is wrong with the form of the response.
func envelope(e exchange) (map[string]any, string) {
	kind, _, err := mime.ParseMediaType(e.header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, "is " + mediaTypeOrNone(kind) + ", not JSON"
	}
	tree, err := strictjson.DecodeObject(e.body())
	if err != nil {
		return nil, "is not a JSON object"
	}
	inner, ok := tree["error"].(map[string]any)
	if !ok {
		return nil, "has no error object"
	}
	if isNoText(inner["code"]) || isNoText(inner["message"]) {
		return nil, "has no code and message"
	}
	if details, isObject := inner["details"].(map[string]any); inner["details"] != nil && !isObject || details == nil && isObject {
		return nil, "has details that are not an object"
	}
	return inner, ""
}

func mediaTypeOrNone(s string) string {
	if s == "" {
		return "without a media type"
	}
	return s
}

func (v *verification) errorEnvelope(context.Context) finding {
	var bad []string
	n := 0
	for _, e := range v.recorder.failures() {
		if e.door {
			continue
		}
		n++
		if _, what := envelope(e); what != "" {
			bad = append(bad, fmt.Sprintf("%s: the %d %s", e.name(), e.status, what))
		}
	}
	if n == 0 {
		return skipped("no error was received")
	}
	slices.Sort(bad)
	return point.WrongIfAny(slices.Compact(bad))
}

// statuses are the HTTP statuses that correspond to the codes of the protocol, for any service. 422 is permitted as well as 400, because
// web frameworks return it for invalid parameters. See UIM core, section 3.3.
var statuses = map[reason.Code][]int{
	reason.CodeInvalidParameter:     {http.StatusBadRequest, http.StatusUnprocessableEntity},
	reason.CodeUnauthorized:         {http.StatusUnauthorized},
	reason.CodePaymentRequired:      {http.StatusPaymentRequired},
	reason.CodeForbidden:            {http.StatusForbidden},
	reason.CodeNotFound:             {http.StatusNotFound},
	reason.CodeMethodNotAllowed:     {http.StatusMethodNotAllowed},
	reason.CodeConflict:             {http.StatusConflict},
	reason.CodeUnsupportedMediaType: {http.StatusUnsupportedMediaType},
	reason.CodeTooManyRequests:      {http.StatusTooManyRequests},
	reason.CodeInternalServerError:  {http.StatusInternalServerError},
	reason.CodeBadGateway:           {http.StatusBadGateway},
	reason.CodeServiceUnavailable:   {http.StatusServiceUnavailable},
	reason.CodeGatewayTimeout:       {http.StatusGatewayTimeout},
}

var symbol = regex.Lazy(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)

func (v *verification) errorCodes(context.Context) finding {
	var bad []string
	for _, e := range v.recorder.failures() {
		inner, what := envelope(e)
		if what != "" || e.door {
			continue
		}
		code, _ := inner["code"].(string)
		if fits, known := statuses[reason.Code(code)]; !symbol().MatchString(code) {
			bad = append(bad, fmt.Sprintf("%s: %.40q is not a symbol", e.name(), code))
		} else if known && !slices.Contains(fits, e.status) {
			bad = append(bad, fmt.Sprintf("%s: %s has the status %d", e.name(), code, e.status))
		}
	}
	slices.Sort(bad)
	return point.WrongIfAny(slices.Compact(bad))
}

// errorFailures looks for 5xx responses. It accepts 502, 503 and 504 with an error in the form of the protocol, because the service
// behind the gateway may have failed.
func (v *verification) errorFailures(context.Context) finding {
	var bad []string
	for _, e := range v.recorder.failures() {
		behind := e.status == http.StatusBadGateway || e.status == http.StatusServiceUnavailable || e.status == http.StatusGatewayTimeout
		if _, what := envelope(e); e.status >= http.StatusInternalServerError && (!behind || what != "" && !e.door) {
			bad = append(bad, fmt.Sprintf("%s: %d", e.name(), e.status))
		}
	}
	slices.Sort(bad)
	return point.WrongIfAny(slices.Compact(bad))
}

// internals are patterns of text that only the operator of a service should see.
var internals = []struct {
	what string
	form func() *regexp.Regexp
}{
	{"a Go stack trace", regex.Lazy(`goroutine \d+ \[|[/\w-]+\.go:\d+`)},
	{"a Python stack trace", regex.Lazy(`Traceback \(most recent call last\)|File \\?"[^"\n]+\\?", line \d+`)},
	{"a Java stack trace", regex.Lazy(`\bat [\w.$]+\([\w$]+\.(java|kt):\d+\)`)},
	{"a JavaScript stack trace", regex.Lazy(`\bat [^\n]{0,200}\.[cm]?[jt]s:\d+:\d+`)},
	{"a PHP or Ruby stack trace", regex.Lazy(`[/\w-]+\.(php|rb):\d+|on line <b>\d+`)},
	{"SQL", regex.Lazy(`SQLSTATE|ORA-\d{5}|syntax error at or near|\bSELECT\b.{1,200}\bFROM\b|\bINSERT INTO\b`)},
	{"a path in its file system", regex.Lazy(
		`/(home|var/www|var/lib|usr/(local/)?lib|opt|root|srv)/[\w.-]+/|[A-Z]:\\\\?(Users|Windows|inetpub)`)},
	{"an address in its internal network", regex.Lazy(
		`\b(dial tcp|connect ECONNREFUSED)\b|\b(10\.\d{1,3}|192\.168|172\.(1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(:\d+)?\b`)},
}

func (v *verification) errorInternals(context.Context) finding {
	var bad []string
	found := map[string][]string{} // by body: many errors are equal
	for _, e := range v.recorder.failures() {
		body := string(e.body())
		whats, done := found[body]
		if !done {
			whats = internalsIn(body)
			found[body] = whats
		}
		for _, what := range whats {
			bad = append(bad, fmt.Sprintf("%s: the %d contains %s", e.name(), e.status, what))
		}
	}
	slices.Sort(bad)
	return point.WrongIfAny(slices.Compact(bad))
}

func internalsIn(body string) []string {
	var whats []string
	for _, in := range internals {
		if in.form().MatchString(body) {
			whats = append(whats, in.what)
		}
	}
	return whats
}
