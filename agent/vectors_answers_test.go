package agent_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/fetch"
)

// An answerVector is a response to a call.
type answerVector struct {
	name   string
	status int
	header map[string]string
	body   string
}

func (a answerVector) answer() fetch.Answer {
	h := http.Header{}
	for name, value := range a.header {
		h.Set(name, value)
	}
	return fetch.Answer{Status: a.status, Header: h, Body: []byte(a.body)}
}

func (a answerVector) object(want object) object {
	return object{"name": a.name, "status": a.status, "headers": a.header, "body": a.body, "want": want}
}

const (
	vectorCharge = "0.05 EUR; id=0192f0c1-7d00-7000-8000-000000000001; state=captured"
	vectorPlain  = "application/json"
)

var resultAnswers = []answerVector{
	{"outputs", 200, map[string]string{
		"Content-Type": vectorPlain, "UIM-Charge": vectorCharge, "UIM-Request-ID": "req-1", "Date": "Sat, 21 Nov 2026 12:00:00 GMT",
		"RateLimit-Policy": `"minute";q=30;w=60, "hour";q=100;w=3600`, "RateLimit": `"minute";r=29;t=60, "hour";r=12;t=1800`,
	}, `{"order_id": "o-1", "total": 49.90}`},
	{"a repetition", 200, map[string]string{"Content-Type": vectorPlain, "Idempotency-Replayed": "true", "UIM-Charge": vectorCharge}, `{"order_id":"o-1"}`},
	{"free", 200, map[string]string{"Content-Type": vectorPlain}, `{"products":[]}`},
	{"outputs that are a list", 200, map[string]string{"Content-Type": vectorPlain}, `[1,2]`},
	{"no body", 204, map[string]string{}, ``},
	{
		"an envelope", 200,
		map[string]string{"Content-Type": "application/uim+json"},
		`{"status":"success","data":{"order_id":"o-1"},"meta":{"charge":{"amount":"0.05","currency":"EUR","id":"e-1","state":"pending"},"receipt":"a.b.c"}}`,
	},
	{"outputs that resemble an envelope", 200, map[string]string{"Content-Type": vectorPlain}, `{"status":"success","data":1,"order":2}`},
	{"a receipt", 200, map[string]string{"Content-Type": vectorPlain, "UIM-Charge": vectorCharge, "UIM-Receipt": "a.b.c"}, `{}`},
	{"terms that end", 200, map[string]string{
		"Content-Type": vectorPlain, "Deprecation": "@1795262400", "Sunset": "Tue, 01 Dec 2026 00:00:00 GMT",
	}, `{}`},
	{"HTML", 200, map[string]string{"Content-Type": "text/html; charset=utf-8", "UIM-Charge": vectorCharge}, `<!doctype html><p>welcome`},
	{"half of a JSON text", 200, map[string]string{"Content-Type": vectorPlain, "UIM-Charge": vectorCharge}, `{"order_id": "o-`},
	{"a member twice", 200, map[string]string{"Content-Type": vectorPlain}, `{"a":1,"a":2}`},
}

var errorAnswers = []answerVector{
	{
		"parameters", 400,
		map[string]string{"Content-Type": vectorPlain, "UIM-Request-ID": "req-2"},
		`{"error":{"code":"INVALID_PARAMETER","message":"quantity must be at most 10","details":{"reason":"PARAMETER_OUT_OF_RANGE",
		"suggestion":"Correct what violations lists.","request_id":"req-2","uim_code":"UIM-VAL-001","violations":[
		{"pointer":"/parameters/quantity","keyword":"maximum","reason":"PARAMETER_OUT_OF_RANGE","limit":10,"message":"must be at most 10"},
		{"pointer":"/parameters/colour","keyword":"additionalProperties","reason":"UNKNOWN_PARAMETER","message":"is not a parameter","known":["color","quantity"],"nearest":"color"}]}}}`,
	},
	{
		"a limit", 429,
		map[string]string{"Content-Type": vectorPlain, "Retry-After": "17", "RateLimit-Policy": `"hour";q=60;w=3600`, "RateLimit": `"hour";r=0;t=17`},
		`{"error":{"code":"TOO_MANY_REQUESTS","message":"60 calls an hour","details":{"reason":"RATE_LIMIT_EXCEEDED","retry_after":16}}}`,
	},
	{
		"an unknown outcome", 504,
		map[string]string{"Content-Type": vectorPlain, "UIM-Charge": "0.05 EUR; id=e-1; state=pending"},
		`{"error":{"code":"GATEWAY_TIMEOUT","message":"no answer","details":{"reason":"UPSTREAM_TIMEOUT","outcome":"unknown","retry_after":60}}}`,
	},
	{
		"rejected by the service", 409,
		map[string]string{"Content-Type": vectorPlain},
		`{"error":{"code":"CONFLICT","message":"refused","details":{"reason":"UPSTREAM_REJECTED","upstream":{"status":409,"message":"sold out"},
		"charge":{"amount":"0.05","currency":"EUR","id":"e-1","state":"released"},"receipt":"a.b.c"}}}`,
	},
	{
		"other terms", 403,
		map[string]string{"Content-Type": vectorPlain},
		`{"error":{"code":"FORBIDDEN","message":"the terms changed","details":{"reason":"POLICY_REQUIRES_AGREEMENT",
		"policy":{"uid":"https://shop.example/policy/2","digest":"sha-256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
		"changes":[{"about":"shop.example:place-order:v1","text":"costs 0.07 EUR instead of 0.05 EUR"}]}}}`,
	},
	{
		"controls in the texts", 400,
		map[string]string{"Content-Type": vectorPlain},
		`{"error":{"code":"BAD CODE!","message":"a\u001b[31mred\r\nline\u2028b   c","details":{"reason":"no reason at all"}}}`,
	},
	{"a problem document", 422, map[string]string{"Content-Type": "application/problem+json"}, `{"type":"about:blank","title":"Unprocessable","detail":"no such colour","status":422}`},
	{"FastAPI", 422, map[string]string{"Content-Type": vectorPlain}, `{"detail":[{"loc":["body","parameters","city",0],"msg":"field required","type":"missing"}]}`},
	{"a text as error", 500, map[string]string{"Content-Type": vectorPlain}, `{"error":"boom"}`},
	{"HTML", 502, map[string]string{"Content-Type": "text/html", "Retry-After": "5"}, `<h1>Bad Gateway</h1>`},
	{"half of a JSON text", 503, map[string]string{"Content-Type": vectorPlain}, `{"error":{"code":"SERV`},
	{"no body", 404, map[string]string{}, ``},
}

func resultVectors(t *testing.T) []object {
	t.Helper()
	var list []object
	for _, one := range resultAnswers {
		r, err := agent.ReadResult(one.answer())
		if e, ok := errors.AsType[*agent.Error](err); ok {
			want := errorWant(e)
			delete(want, "message") // the client's own words
			want["unusable"] = errors.Is(err, agent.ErrAnswer)
			list = append(list, one.object(want))
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		want := object{"output": json.RawMessage(r.Raw), "raw": string(r.Raw)}
		addAccount(want, r.Charge, r.RateLimit, r.RequestID, r.Replayed, r.Sent)
		if r.Sunset != nil {
			want["sunset"] = object{"at": r.Sunset.At.Unix(), "terms": r.Sunset.Terms}
		}
		list = append(list, one.object(want))
	}
	return list
}

func errorVectors() []object {
	var list []object
	for _, one := range errorAnswers {
		list = append(list, one.object(errorWant(agent.ReadError(one.answer()))))
	}
	return list
}

// errorWant returns the members of an error that are not empty.
func errorWant(e *agent.Error) object {
	want := object{"status": e.Status}
	for name, text := range map[string]string{
		"code": e.Code, "reason": e.Reason, "uim_code": e.UIMCode, "message": e.Message, "suggestion": e.Suggestion, "upstream": e.Upstream,
		"outcome": e.Outcome, "offered": e.Offered,
	} {
		if text != "" {
			want[name] = text
		}
	}
	if e.RetryAfter > 0 {
		want["retry_after"] = int64(e.RetryAfter / time.Second)
	}
	if len(e.Changes) > 0 {
		want["changes"] = e.Changes
	}
	var violations []object
	for _, v := range e.Violations {
		one := object{}
		for name, text := range map[string]string{
			"pointer": v.Pointer, "keyword": v.Keyword, "reason": string(v.Reason), "message": v.Message, "nearest": v.Nearest,
		} {
			if text != "" {
				one[name] = text
			}
		}
		if v.Limit != nil {
			one["limit"] = v.Limit
		}
		if len(v.Known) > 0 {
			one["known"] = v.Known
		}
		violations = append(violations, one)
	}
	if violations != nil {
		want["violations"] = violations
	}
	addAccount(want, e.Charge, e.RateLimit, e.RequestID, e.Replayed, e.Sent)
	return want
}

func addAccount(want object, c *agent.Charge, l *agent.RateLimit, request string, replayed bool, receipts []string) {
	if c != nil {
		want["charge"] = chargeWant(c)
	}
	if l != nil {
		want["rate_limit"] = limitWant(l)
	}
	if request != "" {
		want["request_id"] = request
	}
	if replayed {
		want["replayed"] = true
	}
	if len(receipts) > 0 {
		want["receipts"] = receipts
	}
}

func chargeWant(c *agent.Charge) object {
	if c == nil {
		return nil
	}
	return object{"amount": c.Decimal(), "currency": c.Currency, "id": c.ExecutionID, "state": c.State}
}

func limitWant(l *agent.RateLimit) object {
	if l == nil {
		return nil
	}
	return object{"limit": l.Limit, "remaining": l.Remaining, "reset": int64(l.Reset / time.Second)}
}

func chargeVectors() []object {
	var list []object
	for _, text := range []string{
		vectorCharge, "1 EUR;state=pending;id=x", "0.000000001 USD; id=e-1; state=released; more=1", "0.05 EUR", "", "0.05 EUR; id=e-1",
		"-1 EUR; id=e; state=captured",
		"1e3 EUR; id=e; state=captured", "0.05 eur; id=e; state=captured", "0.05 EUR; id=e f; state=captured", "0.05 EUR; id=e; state=gone",
		"0.0000000001 EUR; id=e; state=captured", "999999999999 EUR; id=e; state=captured",
	} {
		c, _ := agent.ParseCharge(text)
		list = append(list, object{"header": text, "want": chargeWant(c)})
	}
	return list
}

func limitVectors() []object {
	var list []object
	for _, h := range []map[string]string{
		{"RateLimit-Policy": `"hour";q=60;w=3600`, "RateLimit": `"hour";r=59;t=3540`},
		{"RateLimit-Policy": `"minute";q=30;w=60, "pat";q=100;w=3600`, "RateLimit": `"minute";r=30;t=0, "pat";r=3;t=1200`},
		{"RateLimit": `default;r=5`},
		{"RateLimit": `"a";r=-1`},
		{"RateLimit": `"a`},
		{"RateLimit": `"a";r=1;t=99999999999`},
		{"RateLimit-Limit": "100, 100;w=60", "RateLimit-Remaining": "7", "RateLimit-Reset": "30"},
		{"X-RateLimit-Remaining": "7", "X-RateLimit-Reset": "1795262460", "Date": "Sat, 21 Nov 2026 12:00:00 GMT"},
		{},
	} {
		header := http.Header{}
		for name, value := range h {
			header.Set(name, value)
		}
		list = append(list, object{"headers": h, "want": limitWant(agent.ParseRateLimit(header))})
	}
	return list
}

func targetVectors() []object {
	var list []object
	for _, text := range []string{
		"shop.example", "shop.example:8443", "Shop.Example.", "https://shop.example", "https://shop.example/base/", "http://127.0.0.1:8080", "127.0.0.1:8080",
		"localhost", "[::1]:80", "::1", "https://shop.example/files/agents.json?x=1", "bücher.example", "192.0.2.1", "", "ftp://shop.example", "https://user:pw@shop.example",
		"https://shop.example?x=1", "https://shop.example/#x", "a b", "https://",
	} {
		urls, domain, err := agent.Targets(text)
		if err != nil {
			list = append(list, object{"target": text})
			continue
		}
		list = append(list, object{"target": text, "urls": urls, "domain": domain})
	}
	return list
}
