package daemon_test

import (
	"net/http"
	"strings"
	"testing"
)

const withRego = testConfig + "  policy_rego: extra.rego\n"

func TestOperatorRegoRefusesPermittedCalls(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{
		config: withRego + "  policy_rego_time: 1s\n", // allows for a slow machine
		files:  map[string]string{"extra.rego": "package uimgate.extra\n\ndeny if {\n\tinput.agent == \"agent-2\"\n\tendswith(input.intent, \":search-products:v1\")\n\tinput.facts.version == \"v1\"\n\tinput.now_ns > 0\n}\n"},
	})
	first, second := g.newAgent("agent-1").agree(), g.newAgent("agent-2").agree()
	parameters := map[string]any{"query": "lamp"}
	if got := first.execute(search, parameters, nil); got.status != http.StatusOK {
		t.Errorf("agent-1: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	got := second.execute(search, parameters, nil)
	if got.status != http.StatusForbidden || got.reason(t) != "POLICY_VIOLATION" ||
		!strings.Contains(string(got.body), "data.uimgate.extra.deny") {
		t.Errorf("agent-2: %d %s", got.status, got.body)
	}
	if n := len(g.upstream.calls()); n != 1 {
		t.Errorf("%d calls reached the upstream, want 1", n)
	}

	g.write("extra.rego", "package uimgate.extra\n\ndeny contains \"closed\" if input.agent == \"agent-1\"\n")
	if got := g.adminDo("POST", "/admin/v1/reload", nil); got.status != http.StatusOK {
		t.Fatalf("reload: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	if got := second.execute(search, parameters, nil); got.status != http.StatusOK {
		t.Errorf("after a reload: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	if got := first.execute(search, parameters, nil); got.reason(t) != "POLICY_VIOLATION" {
		t.Errorf("after a reload: %d %s", got.status, got.body)
	}
	g.write("extra.rego", "package uimgate.extra\n\ndeny if http.send({})\n")
	if got := g.adminDo("POST", "/admin/v1/reload", nil); got.status == http.StatusOK || !strings.Contains(string(got.body), "http.send") {
		t.Errorf("reload of Rego that may not run: %d %s", got.status, got.body)
	}
	if got := first.execute(search, parameters, nil); got.reason(t) != "POLICY_VIOLATION" {
		t.Errorf("after a refused reload: %d %s", got.status, got.body)
	}
}

func TestFailingOperatorRegoRefuses(t *testing.T) {
	for name, rego := range map[string]string{
		"too slow": "deny if {\n\tsome a in numbers.range(1, 1000000)\n\tsome b in numbers.range(1, 1000000)\n\ta * b == -1\n}",
		"an error": "deny if to_number(input.agent) > 5",
		"no set":   `deny := "x"`,
	} {
		t.Run(name, func(t *testing.T) {
			g := startGate(t, setup{config: withRego, files: map[string]string{"extra.rego": "package uimgate.extra\n\n" + rego + "\n"}})
			a := g.newAgent("agent-1").agree()
			got := a.execute(search, map[string]any{"query": "lamp"}, nil)
			if got.status != http.StatusInternalServerError || got.reason(t) != "INTERNAL" {
				t.Errorf("got %d %s", got.status, got.body)
			}
			if n := len(g.upstream.calls()); n != 0 {
				t.Errorf("%d calls reached the upstream, want 0", n)
			}
		})
	}
}

func TestInvalidRegoIsReportedWithItsLine(t *testing.T) {
	t.Parallel()
	for rego, want := range map[string]string{
		"package uimgate.extra\n\ndeny if {\n\thttp.send({})\n}\n": "extra.rego:4: ",
		"package uimgate.extra\n\ndeny if x > 1\n":                 "extra.rego:3: ",
		"package other\n\ndeny if true\n":                          "extra.rego:1: want package uimgate.extra",
		"":                                                         "extra.rego: ",
	} {
		if got := refusal(t, setup{config: withRego, files: map[string]string{"extra.rego": rego}}); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want a text that contains %q", rego, got, want)
		}
	}
	if got := refusal(t, setup{config: withRego}); !strings.Contains(got, "extra.rego") {
		t.Errorf("got %q, want a text that contains %q", got, "extra.rego")
	}
}

func TestDecisionsAreCountedByEngine(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	if got := g.adminDo("GET", "/metrics", nil); !strings.Contains(string(got.body), `uimgate_policy_evaluations_total{engine="plan"} 1`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := g.adminDo("GET", "/admin/v1/status", nil); !strings.Contains(string(got.body), `"engine":"plan"`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
