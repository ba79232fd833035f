package via_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const id = "m-1"

var (
	mcp  = via.MCP{URL: "https://shop.example/mcp"}
	rpc  = via.A2A{URL: "https://shop.example/a2a"}
	rest = via.A2A{URL: "https://shop.example/a2a/v1", REST: true}
)

// result returns a JSON-RPC response.
func result(text string) string { return `{"jsonrpc":"2.0","id":"m-1","result":` + text + `}` }

func failed(text string) string { return `{"jsonrpc":"2.0","id":"m-1","error":` + text + `}` }

func tool(members string) string { return result(`{"resultType":"complete",` + members + `}`) }

// task returns an A2A task in a state, with more members.
func task(state, members string) string {
	return `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_` + state + `"}` + members + `}}`
}

const uimError = `{"error":{"code":"FORBIDDEN","message":"No.","details":{"reason":"POLICY_VIOLATION"}}}`

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// A readTest is a response and the result of Read for it.
type readTest struct {
	name   string
	door   via.Door
	status int // of the answer; 0: 200 OK
	kind   string
	body   string
	want   int    // status of the result; 0: Read returns an error
	says   string // body of the result, or part of the error
	fields map[string]string
}

const (
	stream   = "text/event-stream"
	notified = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n"
	pinged   = "data: {\"jsonrpc\":\"2.0\",\"id\":\"m-1\",\"method\":\"ping\"}\n\n"
)

var readTests = []readTest{
	// Tools.
	{name: "structured", door: mcp, body: tool(`"structuredContent":{"b" : 1.50},"content":[]`), want: 200, says: `{"b" : 1.50}`},
	{
		name: "structured and another text", door: mcp, want: 200, says: `{"a":1}`,
		body: tool(`"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":2}"}]`),
	},
	{name: "text alone", door: mcp, body: tool(`"content":[{"type":"text","text":"[1, 2]"}]`), want: 200, says: `[1, 2]`},
	{name: "text that is not JSON", door: mcp, body: tool(`"content":[{"type":"text","text":"Done!"}]`), says: "no JSON output"},
	{name: "two texts", door: mcp, body: tool(`"content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]`), says: "no JSON output"},
	{name: "nothing", door: mcp, body: tool(`"content":[]`), says: "no JSON output"},
	{
		name: "header fields in _meta", door: mcp, want: 200, says: `{}`,
		body: tool(`"structuredContent":{},"_meta":{"UIM-Charge":"1 EUR","RateLimit":["\"a\";r=1","\"b\";r=2"],"Idempotency-Replayed":"true",` +
			`"UIM-Request-ID":7,"Set-Cookie":"a=b"}`),
		fields: map[string]string{
			"Uim-Charge": "1 EUR", "Ratelimit": `"a";r=1`, "Idempotency-Replayed": "true", "Uim-Request-Id": "", "Set-Cookie": "",
		},
	},
	{
		name: "refused with structured content", door: mcp, want: 403, says: uimError,
		body: tool(`"isError":true,"structuredContent":{"ordered":true},"content":[{"type":"text","text":"No."},` +
			`{"type":"text","text":` + quoted(uimError) + `}]`),
	},
	{
		name: "refused with a text", door: mcp, body: tool(`"isError":true,"content":[{"type":"text","text":"Sorry."}]`), want: 500,
		says: `{"error":{"details":{"outcome":"unknown"},"message":"Sorry."}}`,
	},
	{
		name: "pointers", door: mcp, want: 400,
		body: tool(`"isError":true,"content":[{"type":"text","text":` + quoted(`{"error":{"code":"INVALID_PARAMETER","message":"m","details":`+
			`{"pointer":"/arguments/a","violations":[{"pointer":"/arguments/b"},{"pointer":"/x"},7]}}}`) + `}]`),
		says: `{"error":{"code":"INVALID_PARAMETER","details":{"pointer":"/parameters/a",` +
			`"violations":[{"pointer":"/parameters/b"},{"pointer":"/x"},7]},"message":"m"}}`,
	},
	{name: "isError is a string", door: mcp, body: tool(`"isError":"false","structuredContent":{}`), says: "isError is not a boolean"},
	{
		name: "a question instead", door: mcp,
		body: result(`{"resultType":"input_required","structuredContent":{}}`),
		says: "requests something",
	},
	{name: "no resultType", door: mcp, body: result(`{"structuredContent":{}}`), want: 200, says: `{}`},
	{name: "wrong id", door: mcp, body: strings.Replace(tool(`"structuredContent":{}`), "m-1", "m-2", 1), says: "the id of another"},
	{name: "a number as id", door: mcp, body: strings.Replace(tool(`"structuredContent":{}`), `"m-1"`, "1", 1), says: "the id of another"},
	{name: "no id", door: mcp, body: `{"jsonrpc":"2.0","id":null,"result":{"structuredContent":{}}}`, says: "the id of another"},
	{name: "result and error", door: mcp, body: `{"jsonrpc":"2.0","id":"m-1","result":{},"error":{"code":1,"message":""}}`, says: "or both"},
	{name: "two results", door: mcp, body: `{"jsonrpc":"2.0","id":"m-1","result":{},"result":{}}`, says: "not a message"},
	{name: "neither", door: mcp, body: `{"jsonrpc":"2.0","id":"m-1"}`, says: "neither"},
	{name: "a result that is a list", door: mcp, body: result(`[]`), says: "neither"},
	{name: "a request", door: mcp, body: `{"jsonrpc":"2.0","id":"m-1","method":"tools/call","result":{}}`, says: "neither"},
	{name: "a list of messages", door: mcp, body: `[` + tool(`"structuredContent":{}`) + `]`, says: "not a message"},
	{name: "trailing data", door: mcp, body: tool(`"structuredContent":{}`) + `{}`, says: "not a message"},
	{name: "empty", door: mcp, status: 202, says: "not a message"},
	{
		name: "too deep", door: mcp,
		body: tool(`"structuredContent":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)),
		says: "not a message",
	},
	{
		name: "an error without data", door: mcp, want: 400,
		body: failed(`{"code":-32602,"message":"Unknown tool"}`),
		says: `{"error":{"details":{},"message":"Unknown tool"}}`,
	},
	{
		name: "an error with UIM's", door: mcp, status: 401, want: 403,
		body: failed(`{"code":-32600,"message":"x","data":` + uimError + `}`),
		says: uimError,
	},
	{
		name: "an error before it was read", door: mcp, status: 400, want: 400,
		body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
	},
	{name: "an internal error", door: mcp, body: failed(`{"code":-32603,"message":"x"}`), want: 500},
	{name: "an error without a code", door: mcp, body: failed(`{"message":"x"}`), want: 500},
	{name: "a status that the error lacks", door: mcp, body: failed(`{"code":-32602,"message":"x"}`), status: 503, want: 503},
	{name: "an error that is a text", door: mcp, body: failed(`"x"`), says: "neither"},
	{
		name: "a result under an error's status", door: mcp, status: 500, want: 500,
		body: tool(`"structuredContent":{}`),
		says: tool(`"structuredContent":{}`),
	},
	{name: "an error from a proxy", door: mcp, body: uimError, status: 429, want: 429, says: uimError},
	{name: "a page of a proxy", door: mcp, kind: "text/html", body: "<p>", status: 502, want: 502, says: "<p>"},
	// Streams.
	{
		name: "a notification first", door: mcp, kind: stream,
		body: notified + pinged + "event: message\r\ndata: " + tool(`"structuredContent":{}`) + "\r\n\r\n",
		want: 200, says: `{}`,
	},
	{
		name: "data in several lines", door: mcp, kind: stream + "; charset=utf-8", want: 200, says: "{\n}",
		body: ": hello\nid: 1\ndata:\n\ndata: " + strings.Replace(tool(`"structuredContent":{§}`), "§", "\ndata: ", 1) + "\n\n",
	},
	{name: "only a notification", door: mcp, kind: stream, body: notified, says: "ended without a response"},
	{name: "cut off", door: mcp, kind: stream, body: "data: " + tool(`"structuredContent":{}`) + "\n", says: "ended without a response"},
	{
		name: "two responses", door: mcp, kind: stream, says: "several responses",
		body: strings.Repeat("data: "+tool(`"structuredContent":{}`)+"\n\n", 2),
	},
	{name: "an event that is not a message", door: mcp, kind: stream, body: "data: hello\n\n", says: "not a message"},
	{
		name: "a stream with another id", door: mcp, kind: stream, says: "another request",
		body: `data: {"jsonrpc":"2.0","id":9,"result":{}}` + "\n\n",
	},
	// Tasks.
	{
		name: "completed", door: rpc, want: 200, says: `{"a" : 1}`,
		body: result(task("COMPLETED", `,"artifacts":[{"artifactId":"t","parts":[{"data":{"a" : 1}}],"metadata":{"`+via.Extension+
			`":{"charge":{"amount":"1","currency":"EUR","id":"t","state":"captured"},`+
			`"rate_limit":{"remaining":3,"reset":60},"request_id":"r","replayed":true}}}]`)),
		fields: map[string]string{
			"Uim-Charge": "1 EUR; id=t; state=captured", "Ratelimit-Remaining": "3", "Ratelimit-Reset": "60",
			"Uim-Request-Id": "r", "Idempotency-Replayed": "true",
		},
	},
	{name: "completed, HTTP+JSON", door: rest, body: task("COMPLETED", `,"artifacts":[{"parts":[{"data":[]}]}]`), want: 200, says: `[]`},
	{
		name: "two artifacts", door: rpc,
		body: result(task("COMPLETED", `,"artifacts":[{"parts":[{"data":1}]},{"parts":[{"data":2}]}]`)),
		says: "unexpected state, or not exactly one artifact",
	},
	{
		name: "two parts", door: rpc,
		body: result(task("COMPLETED", `,"artifacts":[{"parts":[{"data":1},{"data":2}]}]`)),
		says: "exactly one data part",
	},
	{name: "a text", door: rpc, body: result(task("COMPLETED", `,"artifacts":[{"parts":[{"text":"Done!"}]}]`)), says: "exactly one data part"},
	{name: "no artifact", door: rpc, body: result(task("COMPLETED", ``)), says: "not exactly one artifact"},
	{name: "a message", door: rpc, body: result(`{"message":{"parts":[{"text":"Hello"}]}}`), says: "not a task"},
	{
		name: "task and message", door: rpc,
		body: result(`{"message":{},` + task("COMPLETED", `,"artifacts":[{"parts":[{"data":1}]}]`)[1:]),
		says: "not a task",
	},
	{name: "no state", door: rpc, body: result(`{"task":{"id":"t"}}`), says: "no state"},
	{name: "a state of another version", door: rpc, body: result(`{"task":{"status":{"state":"completed"}}}`), says: "no state"},
	{name: "a question", door: rpc, body: result(task("INPUT_REQUIRED", "")), says: "unexpected state"},
	{
		name: "rejected", door: rpc, want: 403, says: uimError, body: result(`{"task":{"artifacts":[{"parts":[{"data":1}]}],"status":` +
			`{"state":"TASK_STATE_REJECTED","message":{"parts":[{"text":"No."},7,{"data":` + uimError + `}]}}}}`),
	},
	{
		name: "rejected with a text", door: rpc, want: 403,
		body: result(`{"task":{"status":{"state":"TASK_STATE_REJECTED","message":{"parts":[{"text":"No."}]}}}}`),
		says: `{"error":{"details":{},"message":"No."}}`,
	},
	{
		name: "failed without a text", door: rpc, want: 500,
		body: result(task("FAILED", "")),
		says: `{"error":{"details":{"outcome":"unknown"},"message":""}}`,
	},
	{name: "cancelled", door: rest, body: task("CANCELED", ""), want: 500, says: `{"error":{"details":{"outcome":"unknown"},"message":""}}`},
	{name: "in progress", door: rpc, body: result(task("WORKING", "")), want: 409, fields: map[string]string{"Retry-After": "1"}},
	{name: "wrong id, A2A", door: rpc, body: strings.Replace(result(task("WORKING", "")), "m-1", "m-2", 1), says: "the id of another"},
	{
		name: "a fault with UIM's error", door: rpc, want: 403, says: uimError,
		body: failed(`{"code":-32602,"message":"x","data":[7,{"@type":"type.googleapis.com/google.protobuf.Struct","value":` + uimError + `}]}`),
	},
	{
		name: "a fault with a reason", door: rpc, want: 401, says: `{"error":{"details":{"reason":"REVOKED_TOKEN"},"message":"x"}}`,
		body: failed(`{"code":-32600,"message":"x","data":[` +
			`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"REVOKED_TOKEN","domain":"shop.example"},` +
			`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org"}]}`),
	},
	{
		name: "a fault without data", door: rpc, want: 400,
		body: failed(`{"code":-32009,"message":"x"}`),
		says: `{"error":{"details":{"reason":""},"message":"x"}}`,
	},
	{
		name: "a fault, HTTP+JSON", door: rest, status: 400, want: 403, says: uimError,
		body: `{"error":{"code":400,"status":"X","message":"x","details":[` +
			`{"@type":"type.googleapis.com/google.protobuf.Struct","value":` + uimError + `}]}}`,
	},
	{name: "UIM's own, HTTP+JSON", door: rest, body: uimError, status: 403, want: 403, says: uimError},
	{name: "nothing, HTTP+JSON", door: rest, body: "", says: "not a message"},
	{name: "a page, HTTP+JSON", door: rest, kind: "text/html", body: "<p>", status: 502, want: 502, says: "<p>"},
	{name: "a fault under success, HTTP+JSON", door: rest, body: `{"error":{"code":400,"details":[]}}`, says: "not a task"},
}

func (r readTest) answer() fetch.Answer {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.kind == "" {
		r.kind = "application/json"
	}
	return fetch.Answer{Status: r.status, Header: http.Header{"Content-Type": {r.kind}}, Body: []byte(r.body), URL: &url.URL{}}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, r := range readTests {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			got, err := r.door.Read(id, r.answer())
			if r.want == 0 {
				if !errors.Is(err, via.ErrAnswer) || !strings.Contains(err.Error(), r.says) {
					t.Fatalf("%d %s, %v; want an error with %q", got.Status, got.Body, err, r.says)
				}
				return
			}
			if err != nil || got.Status != r.want {
				t.Fatalf("%d %s, %v; want %d", got.Status, got.Body, err, r.want)
			}
			if r.says != "" && !equalJSON(got.Body, r.says) {
				t.Errorf("%s; want %s", got.Body, r.says)
			}
			for name, value := range r.fields {
				if got.Header.Get(name) != value {
					t.Errorf("%s: %q; want %q", name, got.Header.Get(name), value)
				}
			}
		})
	}
}

// equalJSON compares errors as trees, and outputs byte for byte, because Read passes an output on unchanged.
func equalJSON(got []byte, want string) bool {
	if !strings.Contains(want, `"error"`) {
		return string(got) == want
	}
	a, errA := strictjson.Decode(got)
	b, errB := strictjson.Decode([]byte(want))
	return errA == nil && errB == nil && cmp.Equal(a, b)
}

// TestHeadersWin checks that Read uses a message's metadata only where the header lacks the field.
func TestHeadersWin(t *testing.T) {
	t.Parallel()
	a := readTest{body: tool(`"structuredContent":{},"_meta":{"UIM-Charge":"1 EUR","Idempotency-Replayed":"true"}`)}.answer()
	a.Header.Set("Uim-Charge", "2 EUR")
	got, err := mcp.Read(id, a)
	if err != nil || got.Header.Get("Uim-Charge") != "2 EUR" || got.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %v, %v", got.Header, err)
	}
	if a.Header.Get("Idempotency-Replayed") != "" {
		t.Error("Read changed the header of the answer")
	}
}

func TestReadCard(t *testing.T) {
	t.Parallel()
	named := &url.URL{Scheme: "https", Host: "shop.example", Path: "/a2a"}
	one := func(at, binding, more string) string {
		return `{"url":"` + at + `","protocolBinding":"` + binding + `","protocolVersion":"1.0"` + more + `}`
	}
	good := one("https://shop.example/a2a", "JSONRPC", "")
	for name, tt := range map[string]struct {
		interfaces string
		want       via.A2A
	}{
		"the first": {
			one("https://shop.example:443/a2a/v1/", "HTTP+JSON", "") + "," + good,
			via.A2A{URL: "https://shop.example:443/a2a/v1", REST: true},
		},
		"gRPC first":              {one("https://shop.example/g", "GRPC", "") + "," + good, rpc},
		"another origin":          {one("https://thief.example/a2a", "JSONRPC", "") + "," + good, rpc},
		"another scheme":          {one("http://shop.example/a2a", "JSONRPC", "") + "," + good, rpc},
		"a tenant":                {one("https://shop.example/a2a", "JSONRPC", `,"tenant":"x"`) + "," + good, rpc},
		"not an object":           {`7,"x",null,` + good, rpc},
		"only at other addresses": {one("https://thief.example/a2a", "JSONRPC", ""), via.A2A{}},
		"another version":         {`{"url":"https://shop.example/a2a","protocolBinding":"JSONRPC","protocolVersion":"0.3"}`, via.A2A{}},
		"none":                    {"", via.A2A{}},
		"beyond the bounds":       {strings.Repeat("7,", 64) + good, via.A2A{}},
	} {
		got, err := via.ReadCard([]byte(`{"supportedInterfaces":[`+tt.interfaces+`]}`), named)
		if got != tt.want || (err == nil) != (tt.want != via.A2A{}) || err != nil && !errors.Is(err, via.ErrAnswer) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tt.want)
		}
	}
	for _, card := range []string{"", "[]", "{}", `{"supportedInterfaces":{}}`, `{"supportedInterfaces":[]}{}`} {
		if got, err := via.ReadCard([]byte(card), named); err == nil {
			t.Errorf("%s: %+v", card, got)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	call := via.Call{
		ID: id, Tool: "suche_v1 ü", Parameters: map[string]any{"query": "tea"},
		Body: []byte(`{"intent_uid":"a:b:v1","parameters":{"query":"tea"}}`),
		Header: http.Header{
			"Authorization": {"Bearer t"}, "Idempotency-Key": {"k"}, "Uim-Proof": {"p"}, "Uim-Request-Id": {"r"}, "Traceparent": {"tp"},
		},
	}
	for name, tt := range map[string]struct {
		door   via.Door
		url    string
		body   string
		fields map[string]string
	}{
		"MCP": {
			via.MCP{URL: "https://shop.example/mcp", Client: "me/2"},
			"https://shop.example/mcp",
			`{"jsonrpc":"2.0","id":"m-1","method":"tools/call","params":{"name":"suche_v1 ü","arguments":{"query":"tea"},"_meta":{` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
				`"io.modelcontextprotocol/clientInfo":{"name":"me","version":"2"},` +
				`"Idempotency-Key":"k","UIM-Proof":"p","UIM-Request-ID":"r","traceparent":"tp"}}}`,
			map[string]string{
				"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?c3VjaGVfdjEgw7w=?=",
				"Accept": "application/json, text/event-stream", "Uim-Proof": "", "Idempotency-Key": "",
			},
		},
		"A2A": {
			rpc, "https://shop.example/a2a",
			`{"jsonrpc":"2.0","id":"m-1","method":"SendMessage","params":` + sentA2A + `}`,
			map[string]string{"A2A-Version": "1.0", "A2A-Extensions": via.Extension, "Idempotency-Key": "k", "Uim-Request-Id": "r", "Uim-Proof": ""},
		},
		"A2A, HTTP+JSON": {
			rest, "https://shop.example/a2a/v1/message:send", sentA2A,
			map[string]string{"A2A-Version": "1.0", "Content-Type": "application/a2a+json", "Idempotency-Key": "k", "Uim-Proof": ""},
		},
	} {
		got, err := tt.door.Message(call)
		if err != nil {
			t.Fatal(name, err)
		}
		tree, err := strictjson.Decode(got.Body)
		want, _ := strictjson.Decode([]byte(tt.body))
		if diff := cmp.Diff(want, tree); diff != "" || err != nil {
			t.Errorf("%s: %v %s; want nil, an empty string", name, err, diff)
		}
		tt.fields["Authorization"] = "Bearer t"
		for field, value := range tt.fields {
			if got.Header.Get(field) != value {
				t.Errorf("%s: %s is %q; want %q", name, field, got.Header.Get(field), value)
			}
		}
		if got.URL != tt.url || call.Header.Get("Uim-Proof") != "p" {
			t.Errorf("%s: %s, %v", name, got.URL, call.Header)
		}
	}
}

const sentA2A = `{"message":{"messageId":"m-1","role":"ROLE_USER","extensions":["https://uimprotocol.com/a2a/v1"],` +
	`"parts":[{"data":{"intent_uid":"a:b:v1","parameters":{"query":"tea"}},"mediaType":"application/json"}],` +
	`"metadata":{"https://uimprotocol.com/a2a/v1":{"proof":"p"}}},"configuration":{"acceptedOutputModes":["application/json"]}}`

// FuzzReadMCP and FuzzReadA2A check that an error comes without a body, that a success is JSON, and that a changed status has an error
// object.
func FuzzReadMCP(f *testing.F) { fuzzRead(f, mcp) }

func FuzzReadA2A(f *testing.F) { fuzzRead(f, rpc, rest) }

func fuzzRead(f *testing.F, doors ...via.Door) {
	f.Helper()
	for _, r := range readTests {
		for i, door := range doors {
			if r.door == door {
				f.Add(i, r.answer().Status, r.answer().Header.Get("Content-Type"), []byte(r.body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, status int, kind string, body []byte) {
		a := fetch.Answer{Status: status, Header: http.Header{"Content-Type": {kind}}, Body: body, URL: &url.URL{}}
		got, err := doors[uint(which)%uint(len(doors))].Read(id, a)
		switch {
		case err != nil:
			if !errors.Is(err, via.ErrAnswer) || got.Body != nil || len(err.Error()) > 200 {
				t.Errorf("got %s, %v", got.Body, err)
			}
		case got.Status/100 == 2:
			if _, err := strictjson.Decode(got.Body); err != nil || status/100 != 2 {
				t.Errorf("got %d %s, %v", status, got.Body, err)
			}
		case got.Status != status:
			tree, err := strictjson.DecodeObject(got.Body)
			if err != nil || tree.Object("error") == nil || got.Status < 400 || got.Status > 599 {
				t.Errorf("got %d %s, %v", got.Status, got.Body, err)
			}
		}
	})
}
