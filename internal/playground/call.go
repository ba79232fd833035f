package playground

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/gateway/admin/testcalls"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents/toolname"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// The names of secrets in the texts of an Exchange.
const (
	shownPAT       = "(the PAT)"
	shownSignature = "(the signed agreement)"
	shownProof     = "(the proof of key)"
)

const executePath = "/api/intents/execute"

// Call implements testcalls.Playground. If the test agent has no PAT, Call sends none, and the gateway refuses the call.
func (p *Playground) Call(ctx context.Context, s *service.Service, c testcalls.TestCall) (testcalls.TestResult, error) {
	way, err := p.way(s, c.Door)
	if err != nil {
		return testcalls.TestResult{}, err
	}
	if c.Parameters == nil {
		c.Parameters = strictjson.Object{}
	}
	i, _ := p.identity(s.ID, false) // cannot fail, because nothing is created
	body, err := strictjson.Append(nil, map[string]any{"intent_uid": c.Intent, "parameters": map[string]any(c.Parameters)})
	if err != nil {
		return testcalls.TestResult{}, reason.MalformedRequest.Refusal("The parameters cannot be encoded.").Because(err)
	}
	call := via.Call{
		ID: uuid.NewString(), UID: c.Intent, Tool: toolname.Of(s.Catalog, c.Intent), Parameters: c.Parameters, Body: body,
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}},
	}
	if c.IdempotencyKey != "" {
		call.Header.Set("Idempotency-Key", c.IdempotencyKey)
	}
	hidden := map[string]string{}
	if i.token != "" {
		proof, err := proofOf(&i, s.Issuer, c, p.Now())
		if err != nil {
			return testcalls.TestResult{}, err
		}
		call.Header.Set("Authorization", "Bearer "+i.token)
		call.Header.Set("UIM-Proof", proof)
		hidden[i.token], hidden[proof] = shownPAT, shownProof
	}
	sent, err := way.Message(call)
	if err != nil {
		return testcalls.TestResult{}, reason.MalformedRequest.Refusal("The call cannot be encoded for this protocol.").Because(err)
	}
	answer, err := p.send(ctx, s, sent)
	if err != nil {
		return testcalls.TestResult{}, err
	}
	out := testcalls.TestResult{Exchange: exchange(sent, answer, hidden), RequestID: answer.Header.Get("UIM-Request-ID")}
	if read, err := way.Read(call.ID, answer); err == nil { // a response that cannot be read is shown as it is
		out.Receipt = read.Header.Get("UIM-Receipt")
	}
	return out, nil
}

// proofOf returns a proof of key for a call. Intents that do not need one ignore it.
func proofOf(i *identity, audience string, c testcalls.TestCall, now time.Time) (string, error) {
	digest, err := pat.ExecuteDigest(c.Intent, c.Parameters)
	if err != nil {
		return "", reason.MalformedRequest.Refusal("The parameters cannot be encoded.").Because(err)
	}
	return pat.SignProof(i.secret, pat.ProofBinding{Audience: audience, TokenID: i.tokenID, Digest: digest}, now)
}

// way returns the encoding of calls through a door.
func (p *Playground) way(s *service.Service, name string) (via.Door, error) {
	switch name {
	case "", testcalls.TestUIM:
		return direct{s.At(executePath)}, nil
	case testcalls.TestMCP:
		if u := p.address(s, name); u != nil {
			return via.MCP{URL: u.String(), Client: "uimgate-" + Name + "/1"}, nil
		}
	case testcalls.TestA2A:
		if u := p.address(s, name); u != nil {
			return via.A2A{URL: u.String()}, nil
		}
	default:
		return nil, reason.MalformedRequest.Refusal(
			"The member door must be "+strings.Join(testcalls.TestDoors, " or ")+".",
		).With(
			"pointer",
			"/door",
		)
	}
	return nil, reason.MalformedRequest.Refusal("The service does not have this door.").With("pointer", "/door")
}

// direct sends calls to the execute endpoint.
type direct struct{ url string }

// Message implements via.Door.
func (d direct) Message(c via.Call) (via.Message, error) {
	return via.Message{URL: d.url, Header: c.Header, Body: c.Body}, nil
}

// Read implements via.Door.
func (direct) Read(_ string, a fetch.Answer) (fetch.Answer, error) { return a, nil }

// send passes a message to the handler of the public listener, as if it came from this machine.
func (p *Playground) send(ctx context.Context, s *service.Service, m via.Message) (answer fetch.Answer, err error) {
	target, err := url.Parse(m.URL)
	if err != nil {
		return answer, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return answer, err
	}
	path := strings.TrimPrefix(target.EscapedPath(), strings.TrimSuffix(s.PublicURL.EscapedPath(), "/"))
	if r.URL, err = url.ParseRequestURI(path); err != nil {
		return answer, err
	}
	r.URL.RawQuery = target.RawQuery
	r.Header, r.Host, r.RemoteAddr, r.RequestURI = m.Header.Clone(), s.PublicURL.Host, "127.0.0.1:0", r.URL.RequestURI()
	w := &response{header: http.Header{}}
	defer func() {
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler { //nolint:errorlint // net/http also compares with ==
				panic(v)
			}
			err = reason.Internal.Refusal("The gateway aborted the response.")
		}
	}()
	p.API.ServeHTTP(w, r)
	w.WriteHeader(http.StatusOK)
	return fetch.Answer{Status: w.status, Header: w.header, Body: w.body.Bytes(), URL: target}, nil
}

// maxResponse bounds the body of a response that is read, in bytes.
const maxResponse = 8 << 20

// A response records a response of the handler. It discards what exceeds maxResponse.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) { w.status = cmp.Or(w.status, status) }

// Write implements http.ResponseWriter.
func (w *response) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body.Write(data[:min(len(data), maxResponse-w.body.Len())])
	return len(data), nil
}

// maxShown bounds a string of an Exchange, in bytes.
const maxShown = 64 << 10

// exchange returns the texts of a request and its response. It replaces each secret in hidden with its name.
func exchange(m via.Message, a fetch.Answer, hidden map[string]string) testcalls.Exchange {
	out := testcalls.Exchange{Status: a.Status}
	show := func(first string, h http.Header, body []byte) string {
		var b strings.Builder
		b.WriteString(first + "\n")
		_ = h.WriteSubset(lineEnds{&b}, nil) // a Builder does not fail
		b.WriteString("\n")
		b.Write(body)
		text := b.String()
		for secret, name := range hidden {
			if secret != "" {
				text = strings.ReplaceAll(text, secret, name)
			}
		}
		if len(text) > maxShown {
			out.Shortened, text = true, strings.ToValidUTF8(text[:maxShown], "")
		}
		return text
	}
	request, host := m.URL, ""
	if u, err := url.Parse(m.URL); err == nil {
		request, host = u.RequestURI(), u.Host
	}
	out.Request = show("POST "+request+" HTTP/1.1\nHost: "+host, m.Header, m.Body)
	out.Response = show(fmt.Sprintf("HTTP/1.1 %d %s", a.Status, http.StatusText(a.Status)), a.Header, a.Body)
	return out
}

// lineEnds writes lines that end with CRLF as lines that end with LF.
type lineEnds struct{ out *strings.Builder }

func (w lineEnds) Write(p []byte) (int, error) {
	w.out.Write(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n")))
	return len(p), nil
}
