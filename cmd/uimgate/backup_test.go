package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/internal/daemon"
)

var ordering = map[string]any{"intent_uid": "shop.example:order:v1", "parameters": map[string]any{"product": "lamp"}}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	before, _ := g.agree("agent-1")
	g.post("/api/intents/execute", before, ordering)
	g.run("usage", "top-up", "agent-1", "10", "EUR", "--reference", "payment 1")
	file := filepath.Join(t.TempDir(), "backup.db")
	s := command(t, "", "backup", file, "-c", g.config(), "-o", "json")
	var made daemon.Copy
	if err := json.Unmarshal([]byte(s.out), &made); err != nil || s.code != exitDone || made.Agreements != 1 || made.Unresolved != 1 ||
		made.Entries != 3 || made.Bytes == 0 || made.RelayMessages != 0 || !strings.Contains(s.out, `"relay_messages"`) {
		t.Fatalf("got %+v, %v", s, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	text, err := os.ReadFile(file)
	if err != nil || bytes.Contains(text, []byte("PRIVATE KEY")) {
		t.Errorf("%v: the backup contains a private key", err)
	}
	if s := command(t, "", "backup", file, "-c", g.config()); s.code != exitWrong || !strings.Contains(s.errors, "choose a new file") {
		t.Errorf("got %+v; want code %v and errors containing %q", s, exitWrong, "choose a new file")
	}
	after, _ := g.agree("agent-2") // after the backup
	g.post("/api/intents/execute", after, ordering)
	if s := command(t, "", "restore", file, "-c", g.config()); s.code != exitWrong ||
		!strings.Contains(s.errors, "in use by another uimgate process") || !strings.Contains(s.errors, "stopped") {
		t.Errorf("beside a gateway: %+v", s)
	}
	g.stop()
	s = command(t, "", "restore", file, "-c", g.config(), "-o", "csv")
	rows, err := csv.NewReader(strings.NewReader(s.out)).ReadAll()
	if err != nil || s.code != exitDone || len(rows) != 2 || rows[1][4] != "1" {
		t.Fatalf("got %+v, %v", s, err)
	}
	for _, want := range []string{"PAT issued so far has ended", "count as used up", "kept as", "Lifetime limits, pat.limit"} {
		if !strings.Contains(s.errors, want) {
			t.Errorf("the output lacks %q: %s", want, s.errors)
		}
	}
	aside := rows[1][len(rows[1])-1]
	if s := command(t, "", "restore", aside, "--data", filepath.Join(t.TempDir(), "elsewhere"), "-c", g.config(), "-o",
		"json"); s.code != exitDone || !strings.Contains(s.out, `"agreements": 2`) && !strings.Contains(s.out, `"agreements":2`) {
		t.Errorf("restoring the former state: %+v", s)
	}
	g.start()
	for _, token := range []string{before, after} {
		if got := string(g.post("/api/intents/execute", token, ordering)); !strings.Contains(got, `"INVALID_TOKEN"`) &&
			!strings.Contains(got, `"REVOKED_TOKEN"`) {
			t.Errorf("an earlier PAT: %s", got)
		}
	}
	again, _ := g.agree("agent-3")
	if got := string(g.post("/api/intents/execute", again, ordering)); !strings.Contains(got, `"UPSTREAM_ERROR"`) {
		t.Errorf("pat.limit refuses a call after the restore: %s, want a text that contains %q", got, `"UPSTREAM_ERROR"`)
	}
	if list := want[api.Page[agreements.Agent]](g, "agents", "list"); len(list.Items) != 2 {
		t.Errorf("got %+v, want Items of length 2", list)
	}
	if got := want[billing.TopUpResult](g, "usage", "top-up", "agent-1", "10", "EUR", "--reference", "payment 1"); !got.Repeated ||
		got.Balance != "9.75" {
		t.Errorf("got %+v", got)
	}
}

// If restore refuses a backup, the state does not change.
func TestRestoreRejectsInvalidBackups(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	g.agree("agent-1")
	good := filepath.Join(t.TempDir(), "backup.db")
	if s := command(t, "", "backup", good, "-c", g.config()); s.code != exitDone {
		t.Fatalf("got %+v, want code %v", s, exitDone)
	}
	g.stop()
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(g.dir, "data", "state.db")
	was, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, says string }{
		"nothing":      {filepath.Join(t.TempDir(), "none.db"), "no such file"},
		"text":         {g.write("text.db", strings.Repeat("no database ", 1000)), "not a database of uimgate"},
		"empty":        {g.write("empty.db", ""), "not a database of uimgate"},
		"half":         {g.write("half.db", string(text[:len(text)/2])), "damaged"},
		"its own keys": {filepath.Join(g.dir, "data", "keys.pem"), "not a database of uimgate"},
	} {
		if s := command(t, "", "restore", c.file, "-c", g.config()); s.code != exitWrong || s.out != "" || !strings.Contains(s.errors, c.says) {
			t.Errorf("%s: got %+v; want code %v, out empty and errors containing %q", name, s, exitWrong, c.says)
		}
		if now, err := os.ReadFile(state); err != nil || !bytes.Equal(now, was) {
			t.Fatalf("%s: the state changed, %v", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(g.dir, "data", ".tmp-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("%v, %v are left", left, err)
	}
	for _, args := range [][]string{
		{"restore"},
		{"restore", good, "--after-external"},
		{"backup"},
		{"backup", "a", "b"},
		{"restore", good, "-o", "xml"},
		{"restore", good, "--limits", "none"},
		{"restore", good, "--limits", ""},
		{"restore", good, "--allowance", "101"},
		{"restore", good, "--allowance", "-1"},
		{"restore", good, "--limits", "fresh", "--allowance", "5"},
	} {
		if s := command(t, "", append(args, "-c", g.config())...); s.code != exitUsage || s.out != "" {
			t.Errorf("%v: %+v; want code %v and out empty", args, s, exitUsage)
		}
	}
}

// A state that is too damaged to open is still set aside completely, with its write-ahead log.
func TestRestoreOverDamagedState(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	g.agree("agent-1")
	good := filepath.Join(t.TempDir(), "backup.db")
	if s := command(t, "", "backup", good, "-c", g.config()); s.code != exitDone {
		t.Fatalf("got %+v, want code %v", s, exitDone)
	}
	g.stop()
	g.write("data/state.db", strings.Repeat("damaged ", 2000))
	g.write("data/state.db-wal", "a log")
	if s := command(t, "", "backup", filepath.Join(t.TempDir(), "b.db"), "-c", g.config()); s.code != exitWrong ||
		!strings.Contains(s.errors, "not a database of uimgate") {
		t.Errorf("a backup of the damaged state: %+v; want code %v and errors containing %q", s, exitWrong, "not a database of uimgate")
	}
	s := command(t, "", "restore", good, "-c", g.config(), "-o", "json")
	var made daemon.Copy
	if err := json.Unmarshal([]byte(s.out), &made); err != nil || s.code != exitDone {
		t.Fatalf("got %+v, %v; want no error and code %v", s, err, exitDone)
	}
	for suffix, want := range map[string]string{"": "damaged damaged", "-wal": "a log"} {
		if text, err := os.ReadFile(made.SetAside + suffix); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: %.20q, %v", suffix, text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(g.dir, "data", "state.db-wal")); err == nil {
		t.Error("the former write-ahead log is next to the new state")
	}
	g.start()
	if list := want[api.Page[agreements.Agent]](g, "agents", "list"); len(list.Items) != 1 {
		t.Errorf("got %+v, want Items of length 1", list)
	}
}

func TestAfterExternalRestore(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	token, _ := g.agree("agent-1")
	if s := command(t, "", "restore", "--after-external", "-c", g.config()); s.code != exitWrong || !strings.Contains(s.errors, "in use") {
		t.Errorf("beside a gateway: %+v; want code %v and errors containing %q", s, exitWrong, "in use")
	}
	g.stop()
	if s := command(t, "", "restore", "--after-external", "-c", g.config()); s.code != exitDone ||
		!strings.Contains(s.errors, "count as used up") {
		t.Fatalf("got %+v; want code %v and errors containing %q", s, exitDone, "count as used up")
	}
	g.start()
	if got := string(g.post("/api/intents/execute", token, ordering)); !strings.Contains(got, `"UNAUTHORIZED"`) {
		t.Errorf("got %s, want a text that contains %q", got, `"UNAUTHORIZED"`)
	}
}
