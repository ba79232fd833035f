package config_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/config"
)

func open(t *testing.T, path string) *config.DataDir {
	t.Helper()
	d, err := config.OpenDataDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// mode is the permissions of a path.
func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func newKey(t *testing.T) []byte {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func TestOneProcessHoldsADataDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "data")
	first := open(t, path)
	if mode(t, path) != 0o700 || mode(t, filepath.Join(path, "lock")) != 0o600 {
		t.Error("others can look in")
	}
	second, err := config.OpenDataDir(path)
	if second != nil || !errors.Is(err, config.ErrDataInUse) || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "(process ") {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path)
}

func TestADataDirectoryThatIsNone(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	if _, err := config.OpenDataDir(filepath.Join(dir, "file")); err == nil {
		t.Error("a file is no directory")
	}
	loose := filepath.Join(dir, "loose")
	if err := os.Mkdir(loose, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o777, 0o770, 0o720, 0o702} {
		if err := os.Chmod(loose, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := config.OpenDataDir(loose); err == nil || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if err := errors.Join(os.Chmod(loose, 0o755), os.Chown(loose, 4711, -1)); errors.Is(err, os.ErrPermission) {
		t.Skip("only root gives directories away")
	} else if err != nil {
		t.Fatal(err)
	}
	if _, err := config.OpenDataDir(loose); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Error(err)
	}
}

func TestTheAdminTokenIsMadeOnce(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if got, err := d.AdminToken(config.NewSecret("mine")); err != nil || got.Reveal() != "mine" {
		t.Error(err)
	}
	made, err := d.AdminToken(config.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	if random, err := base64.RawURLEncoding.DecodeString(made.Reveal()); err != nil || len(random) != 32 {
		t.Errorf("%d random bytes, %v", len(random), err)
	}
	file := filepath.Join(path, "admin.token")
	if mode(t, file) != 0o600 {
		t.Error("others can read the token")
	}
	if again, err := d.AdminToken(config.Secret{}); err != nil || !again.Equal(made.Reveal()) {
		t.Errorf("another token, %v", err)
	}
	write(t, file, "\n")
	if _, err := d.AdminToken(config.Secret{}); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Error(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.AdminToken(config.Secret{}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}

func TestASeedIsMadeOnce(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	made, err := d.Seed("uagents", "shop")
	if err != nil || len(made.Reveal()) < 40 {
		t.Fatalf("%d characters, %v", len(made.Reveal()), err)
	}
	file := filepath.Join(path, "uagents.shop.seed")
	if mode(t, file) != 0o600 {
		t.Error("others can read the seed")
	}
	if again, err := d.Seed("uagents", "shop"); err != nil || !again.Equal(made.Reveal()) {
		t.Errorf("another seed, %v", err)
	}
	if other, err := d.Seed("uagents", "books"); err != nil || other.Equal(made.Reveal()) {
		t.Errorf("the seed of another service, %v", err)
	}
	write(t, file, "short\n")
	if _, err := d.Seed("uagents", "shop"); err == nil || !strings.Contains(err.Error(), "holds no seed") ||
		strings.Contains(err.Error(), "short") {
		t.Error(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Seed("uagents", "shop"); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}

func TestAPrivateKeyIsMadeOnce(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	made, err := d.PrivateKey("aea", "shop")
	if _, wrong := hex.DecodeString(made.Reveal()); err != nil || wrong != nil || len(made.Reveal()) != 64 {
		t.Fatalf("%d characters, %v", len(made.Reveal()), err)
	}
	file := filepath.Join(path, "aea.shop.key")
	if mode(t, file) != 0o600 {
		t.Error("others can read the key")
	}
	if again, err := d.PrivateKey("aea", "shop"); err != nil || !again.Equal(made.Reveal()) {
		t.Errorf("another key, %v", err)
	}
	if other, err := d.PrivateKey("aea", "books"); err != nil || other.Equal(made.Reveal()) {
		t.Errorf("the key of another service, %v", err)
	}
	write(t, file, "short\n")
	if _, err := d.PrivateKey("aea", "shop"); err == nil || !strings.Contains(err.Error(), "holds no private key") ||
		strings.Contains(err.Error(), "short") {
		t.Error(err)
	}
}

func TestTheDoorOfAEAIsOpenWhereItsBlockStands(t *testing.T) {
	dir := directory(t)
	key := strings.Repeat("5", 64)
	write(t, filepath.Join(dir, "key.txt"), "0x"+key+"\n")
	for doors, want := range map[string]struct {
		enabled bool
		key     string
		open    []config.AEAConnection
		relay   string
	}{
		"":                                   {},
		"  doors: {mcp: {enabled: false}}\n": {},
		"  doors: {aea: {}}\n":               {enabled: true},
		"  doors: {aea: {key_file: key.txt, tcp: 127.0.0.1:0, delegate: ':9000', stub: files}}\n": {
			true, key, []config.AEAConnection{config.AEADelegate, config.AEATCP, config.AEAStub}, "",
		},
		"  doors: {aea: {mailbox: ':0', relay: {}}}\n":                    {true, "", []config.AEAConnection{config.AEAMailbox}, "600/minute"},
		"  doors: {aea: {mailbox: ':0', relay: {per_agent: 5/second}}}\n": {true, "", []config.AEAConnection{config.AEAMailbox}, "5/second"},
	} {
		c, problems := load(t, dir, five+doors, config.Overrides{})
		if c == nil {
			t.Fatal(doors, problems)
		}
		a := c.Services[0].Doors.AEA
		if a.Enabled != want.enabled || a.Key.Reveal() != want.key || !a.HTTP || a.Clear || a.KeyFile.Data != nil ||
			!slices.Equal(a.Open(), want.open) || a.Relay.Enabled != (want.relay != "") ||
			a.Relay.Enabled && a.Relay.PerAgent.String() != want.relay || a.Stub != "" && a.Stub != filepath.Join(dir, "files") {
			t.Errorf("%s: %+v", doors, a)
		}
	}
}

func TestTheDoorOfUAgentsIsOpenWhereItsBlockStands(t *testing.T) {
	dir := directory(t)
	write(t, filepath.Join(dir, "seed.txt"), "a seed of the operator\n")
	for doors, want := range map[string]struct {
		enabled bool
		seed    string
	}{
		"":                                   {},
		"  doors: {mcp: {enabled: false}}\n": {},
		"  doors: {uagents: {}}\n":           {true, ""},
		"  doors: {uagents: {key_file: seed.txt}}": {true, "a seed of the operator"},
	} {
		c, problems := load(t, dir, five+doors, config.Overrides{})
		if c == nil {
			t.Fatal(doors, problems)
		}
		if u := c.Services[0].Doors.UAgents; u.Enabled != want.enabled || u.Seed.Reveal() != want.seed ||
			u.Path != "/submit" || u.KeyFile.Data != nil {
			t.Errorf("%s: %+v", doors, u)
		}
	}
}

// An envelope names its service by the address that comes of the seed, so no two services have one.
func TestNoTwoServicesShareASeed(t *testing.T) {
	dir := directory(t)
	write(t, filepath.Join(dir, "one.txt"), "a seed of the operator\n")
	write(t, filepath.Join(dir, "two.txt"), "a seed of the operator\r\n")
	write(t, filepath.Join(dir, "three.txt"), "another seed of the operator\n")
	file := "services:\n"
	for i, name := range []string{"one", "two", "three"} {
		file += fmt.Sprintf("- {id: %[1]s, issuer: %[1]s, hosts: [%[1]s.example], public_url: https://%[1]s.example, agents_file: agents.json, "+
			"policy_file: policy.json, upstream: {url: http://127.0.0.1:900%[2]d}, doors: {uagents: {key_file: %[1]s.txt}}}\n", name, i)
	}
	_, problems := load(t, dir, file, config.Overrides{})
	text := fmt.Sprint(problems)
	if !strings.Contains(text, "services[1].doors.uagents.key_file: its seed belongs to services[0] already") ||
		strings.Contains(text, "services[2]") || strings.Contains(text, "of the operator") {
		t.Error(text)
	}
}

func TestWhereAgentsTakeAnswers(t *testing.T) {
	dir := directory(t)
	const agent = "agent1qf5gfqm48k9acegez3sg82ney2aa6l5fvpwh3n3z0ajh0nam3ssgwnn5me7"
	for rules, want := range map[string]string{
		`"http://127.0.0.1:8001/submit"`:                  "[http://127.0.0.1:8001/submit]",
		`[http://a.example/, "https://b.example:8001/x"]`: "[http://a.example https://b.example:8001/x]",
		"[]":              "",
		"ftp://a.example": "",
		"[7]":             "",
		"{a: b}":          "",
		"[" + strings.Repeat("http://a,", 11) + "]": "",
	} {
		c, problems := load(t, dir, five+"  doors: {uagents: {rules: {"+agent+": "+rules+"}}}\n", config.Overrides{})
		switch {
		case want == "" && (c != nil || !strings.Contains(problems.Err().Error(), "or a list of 1 to 10")):
			t.Errorf("%s: %v", rules, problems)
		case want != "" && (c == nil || fmt.Sprint(c.Services[0].Doors.UAgents.Rules[agent]) != want):
			t.Errorf("%s: %v", rules, problems)
		}
	}
}

func TestTheAuditStreamIsAppendedTo(t *testing.T) {
	d := open(t, t.TempDir())
	for _, line := range []string{"{\"a\":1}\n", "{\"b\":2", "{\"c\":3}\n"} {
		f, err := d.AuditLog()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, line); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	path := filepath.Join(d.Path(), "audit.jsonl")
	if text, err := os.ReadFile(path); err != nil || string(text) != "{\"a\":1}\n{\"b\":2\n{\"c\":3}\n" {
		t.Errorf("%q, %v", text, err)
	}
	if mode(t, path) != 0o600 {
		t.Error("others can read the audit stream")
	}
	if d.StatePath() != filepath.Join(d.Path(), "state.db") {
		t.Error(d.StatePath())
	}
}

func TestTheKeyFileGivesBackWhatWasSaved(t *testing.T) {
	path := t.TempDir()
	keys := open(t, path).Keys()
	if text, err := keys.Load(); text != nil || err != nil {
		t.Errorf("before anything was saved: %q, %v", text, err)
	}
	for _, key := range [][]byte{newKey(t), newKey(t)} {
		if err := keys.Save(key); err != nil {
			t.Fatal(err)
		}
		if text, err := keys.Load(); err != nil || !bytes.Equal(text, key) {
			t.Errorf("not what was saved: %v", err)
		}
	}
	file := filepath.Join(path, "keys.pem")
	if mode(t, file) != 0o600 {
		t.Error("others can read the keys")
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if text, err := keys.Load(); text != nil || err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}
