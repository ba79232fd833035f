package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// consent registers a client, and agrees on the consent page of $GATEWAY as a person would, with the invitation in a file that uimgate
// agents invite -o json printed. It sets AGREEMENT to the id of the agreement. Negated, it expects that the page asks again.
func consent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 1 {
		ts.Fatalf("usage: consent [INVITATION]")
	}
	var invitation struct{ Code string }
	if len(args) == 1 {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &invitation))
	}
	const callback = "http://localhost/callback"
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(resp *http.Response, err error) (*http.Response, []byte) {
		ts.Check(err)
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		ts.Check(err)
		return resp, body
	}
	oauth := ts.Getenv("GATEWAY") + "/oauth/"
	var client struct {
		ID string `json:"client_id"`
	}
	_, body := send(browser.Post(oauth+"register", "application/json", strings.NewReader(`{"client_name": "Assistant", "redirect_uris": ["`+callback+`"]}`)))
	ts.Check(json.Unmarshal(body, &client))
	verifier := rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	_, page := send(browser.Get(oauth + "authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {callback}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])},
	}.Encode()))
	form := url.Values{"decision": {"agree"}, "invitation": {invitation.Code}}
	for _, field := range fieldOfConsent.FindAllStringSubmatch(string(page), -1) {
		form.Add(field[1], html.UnescapeString(field[2]))
	}
	answer, page := send(browser.PostForm(oauth+"authorize", form))
	if neg {
		if answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "asks for an invitation") {
			ts.Fatalf("consenting: %s %s", answer.Status, page)
		}
		return
	}
	back, err := answer.Location()
	if err != nil {
		ts.Fatalf("consenting: %s %s", answer.Status, page)
	}
	var tokens struct {
		Access string `json:"access_token"`
	}
	_, body = send(browser.PostForm(oauth+"token", url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {callback}, "client_id": {client.ID},
		"code_verifier": {verifier},
	}))
	ts.Check(json.Unmarshal(body, &tokens))
	parts := strings.Split(tokens.Access, ".")
	if len(parts) != 3 {
		ts.Fatalf("no PAT in %s", body)
	}
	var claims struct {
		Agreement string `json:"agr"`
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	ts.Check(err)
	ts.Check(json.Unmarshal(text, &claims))
	ts.Setenv("AGREEMENT", claims.Agreement)
}

var fieldOfConsent = regexp.MustCompile(`<input type="(?:hidden|checkbox)" name="([^"]*)" value="([^"]*)"(?: checked)?>`)
