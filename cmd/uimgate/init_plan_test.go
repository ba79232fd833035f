package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/gatewaycmd"
)

const initPlanned = `
openapi: 3.0.3
info: {title: A Shop, version: 1.0.0}
servers: [{url: https://api.shop.example}]
paths:
  /products: {get: {operationId: findProducts, responses: {'200': {description: ok}}}}
`

const stock = "  /stock: {get: {operationId: getStock, responses: {'200': {description: ok}}}}\n"

// A shop is a directory with a document and the configuration that init made from it.
type shop struct {
	t              *testing.T
	document, gate string
}

func newInitShop(t *testing.T) *shop {
	t.Helper()
	dir := t.TempDir()
	s := &shop{t: t, document: filepath.Join(dir, "api.yaml"), gate: filepath.Join(dir, "gate")}
	s.write(s.document, initPlanned)
	if _, err := s.init(nil); err != nil {
		t.Fatal(err)
	}
	s.write(s.document, initPlanned+stock)
	return s
}

func (s *shop) write(path, text string) {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) agents() string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.gate, "agents.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// init runs the command, and returns what it prints.
func (s *shop) init(stdin io.Reader, more ...string) (string, error) {
	s.t.Helper()
	var out bytes.Buffer
	c := gatewaycmd.Init()
	c.SetArgs(append([]string{"--openapi", s.document, "--namespace", "shop.example", "--out", s.gate}, more...))
	if stdin != nil {
		c.SetIn(stdin)
	} else {
		c.SetIn(strings.NewReader(""))
	}
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(s.t.Context())
	return out.String(), err
}

func (s *shop) plan() string {
	s.t.Helper()
	out, err := s.init(nil)
	id := regexp.MustCompile(`--apply=([a-z2-7]{16});`).FindStringSubmatch(out)
	if err != nil || id == nil {
		s.t.Fatalf("no plan in %s: %v", out, err)
	}
	return id[1]
}

// A plan is applied only as long as the document and the files are those from which it was made.
func TestApplyRefusesAnotherPlan(t *testing.T) {
	s := newInitShop(t)
	id, before := s.plan(), s.agents()
	s.write(s.document, initPlanned+stock+strings.NewReplacer("stock", "news", "getStock", "getNews").Replace(stock))
	if out, err := s.init(nil, "--apply="+id); err == nil || s.agents() != before {
		t.Errorf("the document has changed: %s, %v, want an error and no change", out, err)
	}
	s.write(s.document, initPlanned+stock)
	s.write(filepath.Join(s.gate, "agents.json"), strings.Replace(before, "FindProducts", "Find", 1))
	edited := s.agents()
	if out, err := s.init(nil, "--apply="+id); err == nil || s.agents() != edited {
		t.Errorf("a file has changed: %s, %v, want an error and no change", out, err)
	}
	s.write(filepath.Join(s.gate, "agents.json"), before)
	if out, err := s.init(nil, "--apply="+id); err != nil || !strings.Contains(s.agents(), "get-stock:v1") {
		t.Errorf("the same plan: %s, %v, want no error and the new intent", out, err)
	}
	applied := s.agents()
	if out, err := s.init(nil, "--apply="+id); err != nil || s.agents() != applied || !strings.Contains(out, "nothing changes") {
		t.Errorf("the plan again: %s, %v, want no error and no change", out, err)
	}
}

// answers is a standard input that changes the document before it returns the last answer.
type answers struct {
	first, last string
	before      func()
}

func (a *answers) Read(p []byte) (int, error) {
	if a.first != "" {
		n := copy(p, a.first)
		a.first = a.first[n:]
		return n, nil
	}
	if a.last == "" {
		return 0, io.EOF
	}
	a.before()
	n := copy(p, a.last)
	a.last = ""
	return n, nil
}

func TestDocumentChangesDuringTheQuestion(t *testing.T) {
	s := newInitShop(t)
	before := s.agents()
	out, err := s.init(&answers{"\nn\n", "y\n", func() { s.write(s.document, initPlanned+stock+"# more\n") }}, "--ask")
	if err == nil || !strings.Contains(err.Error(), "have changed since the plan was made") || s.agents() != before {
		t.Errorf("%s, %v, want an error and no change", out, err)
	}
	if out, err := s.init(&answers{"\nn\n", "y\n", func() {}}, "--ask"); err != nil || !strings.Contains(s.agents(), "get-stock:v1") {
		t.Errorf("%s, %v, want no error and the new intent", out, err)
	}
}
