package verify

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// requestIDSent is what error-404 sends and request-id looks for.
const requestIDSent = "uimgate-verify-1"

// status judges the status of a refusal. What its body says is judged with all others, by error-envelope.
func status(a fetch.Answer, want ...int) finding {
	switch {
	case slices.Contains(want, a.Status):
		return good
	case a.Status >= http.StatusInternalServerError:
		return failed(a)
	case a.Status == http.StatusTooManyRequests:
		return skipped("the service takes no more requests of this kind now")
	}
	return wrong("it is answered %d, not %d", a.Status, want[0])
}

func (v *visit) error404(ctx context.Context) finding {
	a, err := v.ask(ctx, http.MethodGet, v.at("/uimgate-verify/no-such-path"), http.Header{"Uim-Request-Id": {requestIDSent}}, "")
	if err != nil {
		return broken(err)
	}
	v.nothing = a
	return status(a, http.StatusNotFound)
}

func (v *visit) requestID(context.Context) finding {
	switch got := v.nothing.Header.Get("Uim-Request-Id"); got {
	case requestIDSent:
		return good
	case "":
		return missing("there is no UIM-Request-ID")
	default:
		return wrong("another UIM-Request-ID comes back than was sent")
	}
}

func (v *visit) error405(ctx context.Context) finding {
	address, f := v.executeAt(ctx)
	if f.outcome != Holds {
		return f
	}
	a, err := v.ask(ctx, http.MethodDelete, address, nil, "")
	if err != nil {
		return broken(err)
	}
	if f := status(a, http.StatusMethodNotAllowed); f.outcome != Holds {
		return f
	}
	if !strings.Contains(a.Header.Get("Allow"), http.MethodPost) {
		return wrong("the 405 has no Allow that names POST")
	}
	return good
}

var jsonBody = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}

// reach finds the address among several that is there, by asking each with POST.
func (v *visit) reach(ctx context.Context, addresses []string, body string) (string, fetch.Answer, finding) {
	if v.service == nil {
		return "", fetch.Answer{}, skipped("no agent reads this agents.json: %v", v.findErr)
	}
	last := missing("there is no address to ask")
	for _, address := range addresses {
		a, err := v.ask(ctx, http.MethodPost, address, jsonBody, body)
		switch {
		case err != nil:
			last = broken(err)
		case notThere(a):
			last = missing("%s answers %d", shown(a.URL.Path), a.Status)
		default:
			return address, a, good
		}
	}
	return "", fetch.Answer{}, last
}

// executeAt is where intents are executed.
func (v *visit) executeAt(ctx context.Context) (string, finding) {
	if v.executeURL != "" {
		return v.executeURL, good
	}
	var list []string
	if v.service != nil {
		list = v.service.Endpoints().Execute
	}
	body, err := v.body(v.noIntent(), map[string]any{})
	if err != nil {
		return "", broken(err)
	}
	address, a, f := v.reach(ctx, list, body)
	v.executeURL, v.unpaid = address, a
	return address, f
}

// issueAt is where agreements are sent; it asks with what is no JSON, so that nothing comes of it.
func (v *visit) issueAt(ctx context.Context) (string, finding) {
	if v.issueURL != "" {
		return v.issueURL, good
	}
	var list []string
	if v.service != nil {
		list = v.service.Endpoints().Issue
	}
	address, a, f := v.reach(ctx, list, `{"agent_id":`)
	v.issueURL, v.malformed = address, a
	return address, f
}

func (v *visit) error400(ctx context.Context) finding {
	if _, f := v.issueAt(ctx); f.outcome != Holds {
		return f
	}
	return status(v.malformed, http.StatusBadRequest)
}

func (v *visit) error415(ctx context.Context) finding {
	a, err := v.ask(ctx, http.MethodPost, v.issueURL, http.Header{"Content-Type": {"text/plain"}}, "hello")
	if err != nil {
		return broken(err)
	}
	return status(a, http.StatusUnsupportedMediaType)
}

func (v *visit) error401(ctx context.Context) finding {
	if _, f := v.executeAt(ctx); f.outcome != Holds {
		return f
	}
	return status(v.unpaid, http.StatusUnauthorized)
}

func (v *visit) errorChallenge(context.Context) finding {
	challenge := strings.Join(v.unpaid.Header.Values("WWW-Authenticate"), ", ")
	switch {
	case challenge == "":
		return missing("there is no WWW-Authenticate")
	case !strings.Contains(strings.ToLower(challenge), "bearer"):
		return wrong("it asks for another scheme than Bearer")
	}
	return good
}

// envelope takes the error out of an answer, and says what is wrong with its form.
func envelope(e exchange) (map[string]any, string) {
	kind, _, err := mime.ParseMediaType(e.header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, "is " + orNone(kind) + ", not JSON"
	}
	tree, err := strictjson.DecodeObject(e.body())
	if err != nil {
		return nil, "is no JSON object"
	}
	inner, ok := tree["error"].(map[string]any)
	if !ok {
		return nil, "has no error object"
	}
	if notText(inner["code"]) || notText(inner["message"]) {
		return nil, "has no code and message"
	}
	if details, isObject := inner["details"].(map[string]any); inner["details"] != nil && !isObject || details == nil && isObject {
		return nil, "has details that are no object"
	}
	return inner, ""
}

func orNone(s string) string {
	if s == "" {
		return "of no media type"
	}
	return s
}

func (v *visit) errorEnvelope(context.Context) finding {
	var bad []string
	n := 0
	for _, e := range v.record.failures() {
		n++
		if _, what := envelope(e); what != "" {
			bad = append(bad, fmt.Sprintf("%s: the %d %s", e.name(), e.status, what))
		}
	}
	if n == 0 {
		return skipped("no error was seen")
	}
	slices.Sort(bad)
	return offenders(slices.Compact(bad))
}

// statuses are the HTTP statuses that go with the codes of the protocol, for any service: 422 beside 400 because web
// frameworks answer it for invalid parameters. UIM core 3.3.
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

var symbol = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)

func (v *visit) errorCodes(context.Context) finding {
	var bad []string
	for _, e := range v.record.failures() {
		inner, what := envelope(e)
		if what != "" {
			continue
		}
		code, _ := inner["code"].(string)
		if fits, known := statuses[reason.Code(code)]; !symbol.MatchString(code) {
			bad = append(bad, fmt.Sprintf("%s: %.40q is no symbol", e.name(), code))
		} else if known && !slices.Contains(fits, e.status) {
			bad = append(bad, fmt.Sprintf("%s: %s is answered %d", e.name(), code, e.status))
		}
	}
	slices.Sort(bad)
	return offenders(slices.Compact(bad))
}

// errorFailures looks for 5xx. That a gateway says so where what is behind it fails is no failure of its own.
func (v *visit) errorFailures(context.Context) finding {
	var bad []string
	for _, e := range v.record.failures() {
		behind := e.status == http.StatusBadGateway || e.status == http.StatusServiceUnavailable || e.status == http.StatusGatewayTimeout
		if _, what := envelope(e); e.status >= http.StatusInternalServerError && (!behind || what != "") {
			bad = append(bad, fmt.Sprintf("%s: %d", e.name(), e.status))
		}
	}
	slices.Sort(bad)
	return offenders(slices.Compact(bad))
}

// insides are what only those who run a service should read.
var insides = []struct {
	what string
	form *regexp.Regexp
}{
	{"a stack of Go", regexp.MustCompile(`goroutine \d+ \[|[/\w-]+\.go:\d+`)},
	{"a stack of Python", regexp.MustCompile(`Traceback \(most recent call last\)|File \\?"[^"\n]+\\?", line \d+`)},
	{"a stack of Java", regexp.MustCompile(`\bat [\w.$]+\([\w$]+\.(java|kt):\d+\)`)},
	{"a stack of JavaScript", regexp.MustCompile(`\bat [^\n]{0,200}\.[cm]?[jt]s:\d+:\d+`)},
	{"a stack of PHP or Ruby", regexp.MustCompile(`[/\w-]+\.(php|rb):\d+|on line <b>\d+`)},
	{"SQL", regexp.MustCompile(`SQLSTATE|ORA-\d{5}|syntax error at or near|\bSELECT\b.{1,200}\bFROM\b|\bINSERT INTO\b`)},
	{"a path of its file system", regexp.MustCompile(`/(home|var/www|var/lib|usr/(local/)?lib|opt|root|srv)/[\w.-]+/|[A-Z]:\\\\?(Users|Windows|inetpub)`)},
	{"an address of its own network", regexp.MustCompile(`\b(dial tcp|connect ECONNREFUSED)\b|\b(10\.\d{1,3}|192\.168|172\.(1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(:\d+)?\b`)},
}

func (v *visit) errorInternals(context.Context) finding {
	var bad []string
	for _, e := range v.record.failures() {
		for _, in := range insides {
			if in.form.Match(e.body()) {
				bad = append(bad, fmt.Sprintf("%s: the %d holds %s", e.name(), e.status, in.what))
			}
		}
	}
	slices.Sort(bad)
	return offenders(slices.Compact(bad))
}
