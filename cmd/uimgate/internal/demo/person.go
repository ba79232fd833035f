package demo

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
)

const (
	redirect = "http://localhost/callback"
	maxPage  = 1 << 20
)

// A person has a browser and an MCP client without a key.
type person struct {
	gateway        string
	browser, tools *fetch.Client // tools prints its exchanges
	cookie         string
}

// person acts as a person who agrees on the consent page, and calls tools with the PAT that the person's client gets.
func (t *tour) person(ctx context.Context, _ *agent.Client) error {
	p := &person{gateway: t.gateway, browser: fetch.New(fetch.Options{}), tools: fetch.New(fetch.Options{Wrap: t.shown.wrap})}
	defer p.browser.Close()
	defer p.tools.Close()
	token, scope, err := p.consent(ctx, t, nil)
	if err != nil {
		return err
	}
	t.printf("   the person agrees, and the client gets a PAT for %s\n", scope)
	if strings.Contains(scope, orderUID) || !strings.Contains(scope, searchUID) {
		return errors.New("expected a scope with only free intents")
	}
	found, err := p.call(ctx, token, searchTool, map[string]any{"query": "lamp"})
	if err != nil || found.output == nil {
		return errors.Join(err, expect(false, "a free call that returns products"))
	}
	refused, err := p.call(ctx, token, orderTool, orderParameters)
	if err != nil {
		return err
	}
	t.printf("   refused: %s\n", refused.message)
	return expect(refused.reason == string(reason.ScopeExceeded), "the order to exceed the scope")
}

// call calls a tool at the MCP endpoint.
func (p *person) call(ctx context.Context, token, tool string, parameters map[string]any) (reply, error) {
	id := rand.Text()
	m, err := via.MCP{URL: p.gateway + "/mcp", Client: "a chat"}.Message(via.Call{
		ID: id, Tool: tool, Parameters: parameters, Header: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		return reply{}, err
	}
	a, err := p.tools.Do(ctx, fetch.Request{Method: http.MethodPost, URL: m.URL, Header: m.Header, Body: m.Body, Max: maxPage})
	if err != nil {
		return reply{}, err
	}
	return readReply(id, a)
}

// consent performs the OAuth 2.1 flow of an MCP client: it registers the client, agrees as the person, and exchanges the code for a PAT.
// spending holds the form fields with which the person permits the client to spend money; it is nil if the person does not.
func (p *person) consent(ctx context.Context, t *tour, spending url.Values) (token, scope string, err error) {
	var client struct {
		ID string `json:"client_id"`
	}
	registered, err := p.post(ctx, "/oauth/register", "application/json", `{"client_name":"A chat","redirect_uris":["`+redirect+`"]}`)
	if err == nil {
		err = json.Unmarshal(registered.Body, &client)
	}
	if err != nil {
		return "", "", fmt.Errorf("registering the client: %w", err)
	}
	verifier := rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	form, err := p.page(ctx, t, url.Values{
		"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {redirect}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "resource": {p.gateway + "/mcp"},
	})
	if err != nil {
		return "", "", err
	}
	form.Set("decision", "agree")
	maps.Copy(form, spending)
	sent, err := p.post(ctx, "/oauth/authorize", formType, form.Encode())
	if err != nil {
		return "", "", err
	}
	back, err := url.Parse(sent.Header.Get("Location"))
	if err != nil || back.Query().Get("code") == "" {
		return "", "", fmt.Errorf("the consent page responded to the agreement with status %d and without a code", sent.Status)
	}
	var given struct {
		Token string `json:"access_token"`
		Scope string `json:"scope"`
	}
	tokens, err := p.post(ctx, "/oauth/token", formType, url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {redirect}, "client_id": {client.ID},
		"code_verifier": {verifier}, "resource": {p.gateway + "/mcp"},
	}.Encode())
	if err == nil {
		err = json.Unmarshal(tokens.Body, &given)
	}
	return given.Token, given.Scope, err
}

const formType = "application/x-www-form-urlencoded"

var fieldOfPage = regexp.MustCompile(`<input type="(hidden|checkbox)" name="([^"]*)" value="([^"]*)"(?: checked)?>`)

// page opens the consent page, prints the offer on the page, checks its text, and returns the fields of its form.
func (p *person) page(ctx context.Context, t *tour, query url.Values) (url.Values, error) {
	at := p.gateway + "/oauth/authorize"
	t.printf("   a client without a key sends its user to %s\n", at)
	a, err := p.browser.Do(ctx, fetch.Request{Method: http.MethodGet, URL: at + "?" + query.Encode(), Max: maxPage})
	if err != nil {
		return nil, err
	}
	p.cookie, _, _ = strings.Cut(a.Header.Get("Set-Cookie"), ";")
	form := fieldsOf(a.Body, "hidden")
	form["scope"] = fieldsOf(a.Body, "checkbox")["scope"]
	for _, entry := range form["scope"] {
		t.printf("   the page offers %s\n", entry)
	}
	for _, text := range []string{"A chat", t.policy.Digest, "Your consent costs nothing unless you permit it below"} {
		if !strings.Contains(string(a.Body), text) {
			return nil, fmt.Errorf("expected the page to contain %q", text)
		}
	}
	t.printf("   it shows the digest of the terms, and promises that consent costs nothing unless the person permits it\n")
	return form, nil
}

// fieldsOf returns the input fields of one type on a page.
func fieldsOf(body []byte, kind string) url.Values {
	form := url.Values{}
	for _, field := range fieldOfPage.FindAllStringSubmatch(string(body), -1) {
		if field[1] == kind {
			form.Add(field[2], html.UnescapeString(field[3]))
		}
	}
	return form
}

// post sends a POST request, as the browser or as the client.
func (p *person) post(ctx context.Context, path, kind, body string) (fetch.Answer, error) {
	h := http.Header{"Content-Type": {kind}}
	if p.cookie != "" {
		h.Set("Cookie", p.cookie)
	}
	return p.browser.Do(ctx, fetch.Request{Method: http.MethodPost, URL: p.gateway + path, Header: h, Body: []byte(body), Max: maxPage})
}
