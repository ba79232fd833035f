package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/operatorcmd"
)

func TestOperatorCommandsFindTheirToken(t *testing.T) {
	g := startGatewayWithOperator(t)
	text, err := os.ReadFile(filepath.Join(g.dir, "data", "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(text))
	nowhere := filepath.Join(t.TempDir(), "uimgate.yaml")
	list := []string{"agents", "list", "-c", nowhere}
	if s := command(t, "", append(list, "--admin", g.addresses.Admin)...); s.code != exitWrong ||
		!strings.Contains(s.errors, operatorcmd.EnvAdminToken) {
		t.Errorf("without a token: %+v; want code %v and errors containing %q", s, exitWrong, operatorcmd.EnvAdminToken)
	}
	t.Setenv(operatorcmd.EnvAdminURL, g.addresses.Admin)
	t.Setenv(operatorcmd.EnvAdminToken, "wrong-token-canary")
	if s := command(t, "", list...); s.code != exitWrong || !strings.Contains(s.errors, "admin token") ||
		strings.Contains(s.errors, "canary") {
		t.Errorf("with a wrong token: %+v", s)
	}
	if s := command(t, "", append(list, "--admin-token-file", g.write("token", token+"\n"))...); s.code != exitDone {
		t.Errorf("with a file: %+v, want code %v", s, exitDone)
	}
	t.Setenv(operatorcmd.EnvAdminToken, token)
	if s := command(t, "", list...); s.code != exitDone {
		t.Errorf("with the environment: %+v, want code %v", s, exitDone)
	}
	for name, content := range map[string]string{"empty": "", "lines": "a\nb", "long": strings.Repeat("x", 5000)} {
		s := command(t, "", append(list, "--admin-token-file", g.write(name, content))...)
		if s.code != exitWrong || !strings.Contains(s.errors, "does not contain a valid token") {
			t.Errorf("%s: got %+v; want code %v and errors containing %q", name, s, exitWrong, "does not contain a valid token")
		}
	}
}

// The token is never sent unencrypted to another machine, or to the target of a redirect.
func TestTokenIsNotSentElsewhere(t *testing.T) {
	t.Setenv(operatorcmd.EnvAdminToken, "token-0123456789abcdef")
	t.Setenv(operatorcmd.EnvAdminURL, "")
	for _, u := range []string{
		"http://gateway.example:8081", "http://192.0.2.1:8081", "ftp://127.0.0.1", "127.0.0.1:8081",
		"http://user:pw@127.0.0.1:8081", "http://127.0.0.1:8081/?x=1", "http://localhost.evil.example",
	} {
		if s := command(t, "", "agents", "list", "--admin", u); s.code != exitUsage {
			t.Errorf("%s: got %+v; want code %v", u, s, exitUsage)
		}
	}
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(elsewhere.Close)
	for name, handler := range map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"not ours":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"not found":  func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) },
		"other JSON": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[1]`) },
		"cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{`)
		},
		"no response": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"bad message": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "{\"error\":{\"message\":\"\\u001b[2Jgone\"}}")
		},
	} {
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		for _, args := range [][]string{{"agents", "list"}, {"agents", "show", "x"}, {"reload"}, {"keys", "list"}} {
			got := command(t, "", append(args, "--admin", s.URL)...)
			if got.code != exitWrong || got.out != "" || got.errors == "" || strings.Contains(got.errors, "token-0123456789abcdef") ||
				strings.Contains(got.errors, "\x1b") {
				t.Errorf("%s: %v: %+v", name, args, got)
			}
		}
	}
	if reached {
		t.Error("the token followed a redirect")
	}
}
