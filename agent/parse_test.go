package agent_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// fit reports whether a foreign text is safe to show on a terminal.
func fit(s string) bool {
	return utf8.ValidString(s) && len(s) <= 4*501+3 &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.C, r) || r == '\u2028' })
}

// FuzzParseCharge checks that an error comes without a charge, and that a charge survives String and another parse.
func FuzzParseCharge(f *testing.F) {
	for _, s := range []string{
		"0.01 USD; id=0192f0c1-7d00-7000-8000-000000000000; state=captured", "1 EUR;state=pending;id=x", "0.01 USD",
		"1e3 USD; id=a; state=released", "-1 USD; id=a; state=pending", ";;;",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := agent.ParseCharge(s)
		if err != nil {
			if c != nil {
				t.Fatal("got both a charge and an error")
			}
			return
		}
		again, err := agent.ParseCharge(c.String())
		if err != nil || *again != *c {
			t.Errorf("%q is %v, which parses as %v, %v", s, c, again, err)
		}
		if !fit(c.String()) || c.Nano < 0 {
			t.Errorf("%q: %v", s, c)
		}
	})
}

// FuzzParseRateLimit checks that no number is negative and no duration longer than a year.
func FuzzParseRateLimit(f *testing.F) {
	f.Add(`"hour";r=99;t=60, "day";r=5`, `"hour";q=100;w=3600, "day";q=1000`, "", "", "")
	f.Add(`default;r=50;t=30`, `default;q=100;pk=:cHsdsRa894==:`, "", "", "")
	f.Add("", "", "100;w=60", "5", "1763726400")
	f.Add(`"a\"b";r=-1;t=-5;x="y";z`, `"a\"b";q=9223372036854775807`, "1", "2", "3")
	f.Add(`limit=100, remaining=50, reset=5`, "", "", "", "")
	f.Fuzz(func(t *testing.T, field, policy, limit, left, reset string) {
		h := http.Header{"Date": {"Fri, 21 Nov 2025 12:00:00 GMT"}}
		for name, value := range map[string]string{
			"Ratelimit": field, "Ratelimit-Policy": policy,
			"X-Ratelimit-Limit": limit, "X-Ratelimit-Remaining": left, "X-Ratelimit-Reset": reset,
		} {
			if value != "" {
				h.Set(name, value)
			}
		}
		r := agent.ParseRateLimit(h)
		if r != nil && (r.Limit < 0 || r.Remaining < 0 || r.Reset < 0 || r.Reset > 366*24*time.Hour) {
			t.Errorf("got %+v", r)
		}
	})
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	date := "Fri, 21 Nov 2025 12:00:00 GMT" // 1763726400
	for name, tt := range map[string]struct {
		header []string
		want   *agent.RateLimit
	}{
		"none": {nil, nil},
		"the tightest": {
			[]string{"RateLimit", `"hour";r=99;t=60, "day";r=5;t=7`, "RateLimit-Policy", `"hour";q=100;w=3600,"day";q=1000`},
			&agent.RateLimit{Limit: 1000, Remaining: 5, Reset: 7 * time.Second},
		},
		"tokens": {
			[]string{"RateLimit", `default; r=50; t=30`, "RateLimit-Policy", `default;q=100;w=60`},
			&agent.RateLimit{Limit: 100, Remaining: 50, Reset: 30 * time.Second},
		},
		"other parameters":  {[]string{"RateLimit", `"a";pk=:cHsdsRa894==:;r=50;x=1.5;y=?1;z;u="a;b,c"`}, &agent.RateLimit{Remaining: 50}},
		"a comma in a name": {[]string{"RateLimit", `"a,b;c";r=1`, "RateLimit-Policy", `"a,b;c";q=2`}, &agent.RateLimit{Limit: 2, Remaining: 1}},
		"broken":            {[]string{"RateLimit", `"hour;r=99`}, nil},
		"trailing comma":    {[]string{"RateLimit", `"hour";r=99,`}, nil},
		"inner lists":       {[]string{"RateLimit", `("hour" "day");r=3`}, nil},
		"more than 64":      {[]string{"RateLimit", strings.TrimSuffix(strings.Repeat(`"a";r=1,`, 65), ",")}, nil},
		"a decimal":         {[]string{"RateLimit", `"hour";r=9.5`}, nil},
		"separate fields": {
			[]string{"RateLimit-Limit", "100;w=60", "RateLimit-Remaining", "5", "RateLimit-Reset", "9"},
			&agent.RateLimit{Limit: 100, Remaining: 5, Reset: 9 * time.Second},
		},
		"X fields, epoch": {
			[]string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1763726460", "Date", date},
			&agent.RateLimit{Limit: 100, Reset: time.Minute},
		},
		"negative": {[]string{"X-RateLimit-Remaining", "-4"}, nil},
	} {
		h := http.Header{}
		for i := 0; i+1 < len(tt.header); i += 2 {
			h.Set(tt.header[i], tt.header[i+1])
		}
		if diff := cmp.Diff(tt.want, agent.ParseRateLimit(h)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// FuzzReadError checks that every answer gives an error with printable texts and plausible numbers.
func FuzzReadError(f *testing.F) {
	for _, s := range []string{
		`{"error":{"code":"TOO_MANY_REQUESTS","message":"m","details":{"reason":"RATE_LIMIT_EXCEEDED","uim_code":"UIM-AUZ-004",` +
			`"retry_after":5,"charge":{"amount":"0.01","currency":"USD","id":"x","state":"captured"}}}}`,
		`{"error":{"details":{"violations":[{"pointer":"/a","keyword":"maximum","limit":5,"known":["a"]}],` +
			`"policy":{"uid":"u","digest":"sha-256:AAAA"}}}}`,
		`{"error":{"code":"INVALID_PARAMETER","details":{"upstream":{"status":404,"message":"no\u0007"}}}}`,
		`{"detail":[{"loc":["body","parameters","city",0],"msg":"field required","type":"x"}]}`,
		`{"detail":"no"}`, `{"error":"no"}`, `{"title":"t"}`, "\x1b[31m", `{"detail":{"detail":{}}}`,
	} {
		f.Add(429, "application/json", "5", []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, kind, after string, body []byte) {
		e := agent.ReadError(fetch.Answer{Status: status, Header: http.Header{"Content-Type": {kind}, "Retry-After": {after}}, Body: body})
		if e == nil || e.Status != status || e.RetryAfter < 0 || e.RetryAfter > 366*24*time.Hour {
			t.Fatalf("got %+v", e)
		}
		texts := []string{e.Error(), e.Code, e.Reason, e.UIMCode, e.Message, e.Suggestion, e.RequestID, e.Outcome, e.Offered, e.Upstream}
		for _, v := range e.Violations {
			texts = append(texts, v.Pointer, v.Message, v.Nearest, v.Keyword, string(v.Reason))
			texts = append(texts, v.Known...)
		}
		for _, s := range texts {
			if !fit(s) {
				t.Errorf("not printable: %q", s)
			}
		}
	})
}

// FuzzReadResult checks that an error comes without a result, and that a result's Raw decodes to its Output.
func FuzzReadResult(f *testing.F) {
	for _, s := range []string{
		`{"a":1}`, `{"status":"success","data":{"a":[1,2.50]},` +
			`"meta":{"charge":{"amount":"1","currency":"EUR","id":"i","state":"pending"},"rate_limit":{"remaining":1,"reset":9}}}`,
		`{"status":"error","error":"x"}`, ``, `[]`, `"\u2028"`, `1e5`,
	} {
		f.Add("application/json", "0.01 USD; id=a; state=captured", []byte(s))
	}
	f.Fuzz(func(t *testing.T, kind, charge string, body []byte) {
		r, err := agent.ReadResult(fetch.Answer{Status: 200, Header: http.Header{"Content-Type": {kind}, "Uim-Charge": {charge}}, Body: body})
		if err != nil {
			if r.Output != nil || r.Raw != nil || r.Charge != nil {
				t.Error("got both a result and an error")
			}
			if !fit(err.Error()) {
				t.Errorf("not printable: %q", err)
			}
			return
		}
		tree, err := strictjson.Decode(r.Raw)
		if err != nil {
			t.Fatalf("%q: %v", r.Raw, err)
		}
		if diff := cmp.Diff(r.Output, tree); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
	})
}

// FuzzReadPAT checks that an error comes without a session, and that a PAT is valid in a header.
func FuzzReadPAT(f *testing.F) {
	for _, s := range []string{
		`{"uim-pat":"e30.eyJqdGkiOiJhIiwiZXhwIjoxNzYzNzI2NDAwLCJzY29wZSI6WyJhIl19.e30","expires_at":"2026-11-21T12:00:00Z",` +
			`"scope":["a"],"scope_omitted":[{"entry":"b","reason":"C"}]}`,
		`{"data":{"token":"abc"},"expires_at":"2026-11-21T12:00:00.123456"}`, `{"status":"pending","agreement_id":"x"}`, `{"uim-pat":"a\nb"}`,
		`{"uim-pat":"a.eyJleHAiOjk5OTk5OTk5OTk5OTk5OTk5OTl9.b"}`,
	} {
		f.Add(200, []byte(s))
	}
	c, err := agent.New(agent.Options{AgentID: "robot"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		s, err := agent.ReadPAT(c, agent.Session{Issuer: "shop.example"}, fetch.Answer{Status: status, Body: body})
		if err != nil {
			if s.Agreed() || s.Issuer != "" {
				t.Error("got both a session and an error")
			}
			return
		}
		if token := s.Token(); token == "" || strings.ContainsAny(token, " \r\n\t\x00") || !s.Agreed() {
			t.Errorf("got %q", token)
		}
		for _, entry := range s.Scope {
			if !fit(entry) {
				t.Errorf("got %q", entry)
			}
		}
	})
}

// FuzzTarget checks that an error comes without URLs, and that all URLs are absolute, http or https, and without credentials.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"shop.example", "https://shop.example", "http://127.0.0.1:8080/x/agents.json", "localhost:8080", "::1", "[::1]:80",
		"https://a:b@c", "SHOP.example.", "https://h/?q", "//x", "a b", "https://h/p/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		urls, domain, err := agent.Targets(s)
		if err != nil {
			if urls != nil || domain != "" {
				t.Error("got both URLs and an error")
			}
			return
		}
		if len(urls) == 0 {
			t.Error("got neither a URL nor an error")
		}
		for _, u := range urls {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
			if err != nil || request.URL.User != nil || request.URL.Host == "" || request.URL.Scheme != "https" && request.URL.Scheme != "http" {
				t.Errorf("%q: %q: %v", s, u, err)
			}
		}
	})
}

// FuzzPythonDumps checks that the output is printable ASCII and equal to the document as JSON.
func FuzzPythonDumps(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.50,"täg\u007f\u2028/<>&😀\ud83d\ude00"],"b":{}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		tree, err := strictjson.Decode(doc)
		if err != nil {
			return
		}
		out, err := agent.PythonDumps(doc)
		if err != nil {
			t.Fatal(err)
		}
		again, err := strictjson.Decode(out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree, again); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
		for _, c := range out {
			if c < ' ' || c > '~' {
				t.Fatalf("%q contains %#x", out, c)
			}
		}
	})
}

func TestPythonDumps(t *testing.T) {
	t.Parallel()
	// As Python 3.12 prints json.dumps(json.loads(doc)).
	for doc, want := range map[string]string{
		`{"b":[1,2.5,{}],"a":"täglich / 😀\u007f\n\u0001<&>"}`: `{"b": [1, 2.5, {}], "a": "t\u00e4glich / \ud83d\ude00\u007f\n\u0001<&>"}`,
		"{\n  \"x\" : [ ]\n}": `{"x": []}`,
	} {
		got, err := agent.PythonDumps([]byte(doc))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", doc, got, err)
		}
	}
}

// A PAT may name its expiry only in the claim exp, and a response may name the reset of a limit as a Unix time.
func TestUnixTimesAreRead(t *testing.T) {
	t.Parallel()
	c, err := agent.New(agent.Options{AgentID: "robot"})
	if err != nil {
		t.Fatal(err)
	}
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"exp":1763726400}`))
	s, err := agent.ReadPAT(c, agent.Session{}, fetch.Answer{Status: http.StatusOK, Body: []byte(`{"uim-pat":"e30.` + claims + `.e30"}`)})
	if want := time.Unix(1763726400, 0); err != nil || !s.ExpiresAt.Equal(want) {
		t.Errorf("the PAT expires at %s; want %s; %v", s.ExpiresAt, want, err)
	}
	r, err := agent.ReadResult(fetch.Answer{
		Status: http.StatusOK, Header: http.Header{"Date": {time.Unix(1763726400, 0).UTC().Format(http.TimeFormat)}},
		Body: []byte(`{"status":"success","data":{},"meta":{"rate_limit":{"remaining":5,"reset":1763726460}}}`),
	})
	if err != nil || r.RateLimit == nil || r.RateLimit.Reset != time.Minute {
		t.Errorf("%+v, %v; want a reset in a minute", r.RateLimit, err)
	}
}
