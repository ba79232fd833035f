package main

import (
	"os"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
)

func TestWaitingAgentsAreApprovedByNumber(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	text, err := os.ReadFile(g.config())
	if err != nil {
		t.Fatal(err)
	}
	g.write("uimgate.yaml", string(text)+"pat: {admission: approval}\n")
	if s := g.run("reload"); s.code != exitDone {
		t.Fatalf("got %+v, want code %v", s, exitDone)
	}
	for _, id := range []string{"c", "a", "b"} {
		if answer, _ := g.propose(id); !strings.Contains(string(answer), `"pending"`) {
			t.Fatalf("got %s", answer)
		}
	}
	if s := g.run("status"); s.code != exitDone || !strings.Contains(s.errors, "Agents waiting for approval: 3") {
		t.Errorf("got %+v; want code %v and errors containing %q", s, exitDone, "Agents waiting for approval: 3")
	}
	list := g.run("agents", "list", "--status", "waiting")
	if lines := strings.Split(list.out, "\n"); len(lines) != 5 || !strings.HasPrefix(lines[0], "NO  AGENT ID  STATUS") ||
		!strings.HasPrefix(lines[2], "2   b         waiting") {
		t.Errorf("got %+v", list)
	}
	for _, c := range []struct {
		stdin string
		args  []string
		want  string // on stderr; empty: an agent is approved
	}{
		{"", []string{"2"}, "not approved"},
		{"n\n", []string{"2"}, "Number 2 is b, key "},
		{"y\n", []string{"4"}, "no waiting agent has the number 4"},
		{"y\n", []string{"0"}, "no waiting agent has the number 0"},
		{"", []string{"2", "--id"}, ""}, // an unused id, which is approved in advance or refused; in either case not agent b
		{"y\n", []string{"2"}, ""},
		{"", []string{"2", "--yes"}, ""}, // agent c, because b has left the list
	} {
		s := g.runWith(c.stdin, append([]string{"agents", "approve"}, c.args...)...)
		if c.want != "" && (s.code != exitWrong || !strings.Contains(s.errors, c.want)) {
			t.Errorf("%v: %+v; want %q", c.args, s, c.want)
		}
	}
	waiting := want[api.Page[agreements.Agent]](g, "agents", "list", "--status", "waiting")
	if len(waiting.Items) != 1 || waiting.Items[0].AgentID != "a" {
		t.Errorf("got %+v; want Items of length 1 and Items[0].AgentID %q", waiting, "a")
	}
	g.propose("1") // an agent whose id is a number
	if s := g.runWith("y\n", "agents", "approve", "1"); s.code != exitWrong ||
		!strings.Contains(s.errors, "is also the id of a waiting agent") {
		t.Errorf("got %+v; want code %v and errors containing %q", s, exitWrong, "is also the id of a waiting agent")
	}
	if got := want[agreements.Agent](g, "agents", "approve", "1", "--id"); !got.Approved || got.AgentID != "1" {
		t.Errorf("got %+v", got)
	}
}
