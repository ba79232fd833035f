package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/fetch"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
	"github.com/uimgate/uimgate/pat/keys"
)

func TestSaveAndLoadSession(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := options(t, shop)
	s := agreed(t, o, shop.URL)
	session := s.Session()
	path := filepath.Join(t.TempDir(), "deep", "er", session.FileName())
	if err := agent.SaveSession(path, session); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got %v, %v", info, err)
	}
	loaded, err := agent.LoadSession(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(session, loaded, cmpopts.IgnoreUnexported(agent.Session{})); diff != "" || loaded.Token() != session.Token() {
		t.Error(diff)
	}
	resumed, err := clientOf(t, o).Resume(loaded)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resumed.Execute(t.Context(), agenttest.Order, nil, agent.ExecuteOptions{}); err != nil {
		t.Fatal(err)
	}
	o.AgentID = "another"
	_, err = clientOf(t, o).Resume(loaded)
	wantErr(t, err, agent.ErrOptions)
	if err := errors.Join(agent.RemoveSession(path), agent.RemoveSession(path)); err != nil {
		t.Error(err)
	}
	_, err = agent.LoadSession(path)
	wantErr(t, err, os.ErrNotExist)
}

func TestResumedServiceKeepsItsEndpoints(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := options(t, shop)
	session := agreed(t, o, shop.URL).Session()
	shop.SetMember("uim-api-execute", "http://127.0.0.1:1/elsewhere")
	shop.SetMember("uim-issuer", "elsewhere.example")
	s, err := clientOf(t, o).Resume(session)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Execute(t.Context(), agenttest.Order, nil, agent.ExecuteOptions{}); err != nil {
		t.Fatal(err)
	}
	if s.Issuer() != agenttest.Issuer {
		t.Errorf("got %v, want %v", s.Issuer(), agenttest.Issuer)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := options(t, shop)
	client := clientOf(t, o)
	s := agreed(t, o, shop.URL)
	session := s.Session()
	token := session.Token()
	key := fmt.Sprintf("%v", o.Key)
	asJSON, err := json.Marshal(session)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{
		session, &session, s, client, o, &o, struct{ S agent.Session }{session}, []agent.Session{session}, map[string]any{"o": o},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			out := fmt.Sprintf(verb, v)
			for _, secret := range []string{token, token[:40], key, fmt.Sprintf("%x", token[:20])} {
				if strings.Contains(out, secret) {
					t.Errorf("%T as %s prints a secret", v, verb)
				}
			}
		}
	}
	if strings.Contains(string(asJSON), token) {
		t.Error("the JSON contains the PAT")
	}
}

func TestErrorsContainNoSecret(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	token := s.Session().Token()
	shop.Script(agenttest.Reply{Status: 302, Header: map[string]string{"Location": "/x?pat=" + token}}, agenttest.Reply{Break: true})
	for range 2 {
		_, err := s.Execute(t.Context(), agenttest.Search, map[string]any{"query": "canary"}, agent.ExecuteOptions{})
		if err == nil || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "canary") {
			t.Errorf("err = %v", err)
		}
	}
}

func TestKeyFilesArePrivate(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{keys.EdDSA, keys.ES256, keys.RS256} {
		path := filepath.Join(t.TempDir(), "config", "agent.pem")
		key := keyOf(t, algorithm)
		if err := agent.SaveKey(path, key); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("got %v, %v", info, err)
		}
		loaded, err := agent.LoadKey(path)
		if err != nil {
			t.Fatal(err)
		}
		a, b := clientOf(t, agent.Options{Key: key}), clientOf(t, agent.Options{Key: loaded})
		if a.KeyID() != b.KeyID() || string(a.AgentID()) != "agent-"+string(a.KeyID()[:12]) {
			t.Error("LoadKey returned another key")
		}
		wantErr(t, agent.SaveKey(path, key), agent.ErrFile)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		_, err = agent.LoadKey(path)
		wantErr(t, err, agent.ErrFile)
	}
}

func TestInvalidKeyAndSessionFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "canary", "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		`{"version":9,"uim-pat":"canary"}`, `[]`, strings.Repeat(" ", 5<<20),
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, keyErr := agent.LoadKey(path)
		_, sessionErr := agent.LoadSession(path)
		for _, err := range []error{keyErr, sessionErr} {
			if !errors.Is(err, agent.ErrFile) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%.20q: %v", text, err)
			}
		}
	}
}

func TestSessionMatches(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	front := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, shop.URL+"/agents.json", http.StatusFound)
	})
	session := discover(t, agent.Options{}, front.URL).Session()
	for target, want := range map[string]bool{
		front.URL: true, front.URL + "/agents.json": true, shop.URL: true, front.URL[len("http://"):]: true,
		"shop.example": false, "": false, front.URL + "/other": false, "http://127.0.0.1:1": false,
	} {
		if got := session.Matches(target); got != want {
			t.Errorf("%s: %v, want %v", target, got, want)
		}
	}
	other := discover(t, agent.Options{AgentID: "other"}, front.URL).Session()
	if session.FileName() == other.FileName() || strings.ContainsAny(session.FileName(), "/\\: ") {
		t.Error(session.FileName(), other.FileName())
	}
}

func TestLocateComesFirst(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	var requests []string
	o := agent.Options{AllowInsecure: true, Locate: func(_ context.Context, domain string) ([]string, error) {
		requests = append(requests, domain)
		return []string{shop.URL + "/agents.json"}, nil
	}}
	if s := discover(t, o, "Shop.Example"); s.Endpoints().Agents != shop.URL+"/agents.json" || !s.Session().Matches("shop.example") {
		t.Error(s)
	}
	if diff := cmp.Diff([]string{"shop.example"}, requests); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	o.AllowInsecure = false // foreign DNS records do not lead to the loopback address
	o.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no DNS here")
	}}
	_, err := clientOf(t, o).Discover(t.Context(), "shop.example")
	wantErr(t, err, fetch.ErrRefused)
}
