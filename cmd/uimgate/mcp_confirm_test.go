package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clients is the directory of the official clients, which make clients installs.
const clients = "../../bindings/testdata/node"

// node runs a script with the official clients. If they are not installed, it skips the test, or fails it if UIMGATE_REQUIRE_LANGUAGES is
// 1.
func node(t *testing.T, args ...string) []byte {
	t.Helper()
	_, err := exec.LookPath("node")
	if _, missing := os.Stat(filepath.Join(clients, "node_modules")); err != nil || missing != nil {
		if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
			t.Fatal("the clients are not installed: install Node.js 20 or later and npm, then make clients")
		}
		t.Skip("the clients are not installed: make clients")
	}
	var problems strings.Builder
	c := exec.CommandContext(t.Context(), "node", args...)
	c.Dir, c.Stderr = clients, &problems
	out, err := c.Output()
	if err != nil {
		t.Fatalf("node %s: %v\n%s\n%s", args[0], err, out, problems.String())
	}
	return out
}

// The official clients of both eras order by the bridge, whose owner confirms each order on a page.
func TestOfficialClientsAskTheOwner(t *testing.T) { //nolint:tparallel // the parts count the orders of one shop
	t.Parallel()
	shop := newShop(t)
	program, err := exec.LookPath("uimgate")
	if err != nil {
		t.Fatal(err)
	}
	// The digest of this code in the file takes 10 rounds. The one that the command writes takes 600,000: a tenth of a second each time.
	const code = "correct horse"
	quick, err := os.ReadFile("../../agent/bridge/confirm/testdata/code.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, era := range []string{"2025", "2026"} {
		for mode, orders := range map[string]int64{"url": 1, "text": 1, "lie": 0} {
			t.Run(era+" "+mode, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "data")
				if mode == "url" {
					set := exec.Command(program, "agent", "--data", dir, "confirm-code")
					set.Stdin = strings.NewReader(code + "\n")
					if out, err := set.CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				} else if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "confirm.json"), quick, 0o600)); err != nil {
					t.Fatal(err)
				}
				before := shop.orders.Load()
				args := append([]string{"bridge.mjs", era, mode, code, program}, shop.bridgeTo(dir, "1 EUR/month")[1:]...)
				var seen struct {
					Version string
					Asked   []struct{ Mode, Message, URL, ElicitationID string }
					Pressed struct {
						Page   string
						Status int
					}
					First, Second struct {
						IsError           bool
						Error             string
						Content           []struct{ Text string }
						StructuredContent map[string]any
					}
					Completed []string
				}
				out := node(t, append(args, "--confirm-above", "0.04 EUR")...)
				if err := json.Unmarshal(out, &seen); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				if got := shop.orders.Load() - before; got != orders {
					t.Errorf("%d orders, want %d: %s", got, orders, out)
				}
				made := seen.First
				switch mode {
				case "lie":
					if len(seen.Asked) != 1 || seen.First.Error == "" {
						t.Errorf("got %s", out)
					}
					return
				case "text":
					if !seen.First.IsError || !strings.Contains(seen.First.Content[0].Text, "Ask the owner to open http://127.0.0.1:") {
						t.Errorf("got %+v", seen.First)
					}
					made = seen.Second
				case "url":
					if len(seen.Asked) != 1 || seen.Asked[0].Mode != "url" || !strings.Contains(seen.Asked[0].Message, "up to 0.05 EUR") {
						t.Errorf("asked %+v", seen.Asked)
					}
					if era == "2025" && (len(seen.Completed) != 1 || seen.Completed[0] != seen.Asked[0].ElicitationID) {
						t.Errorf("completed %v", seen.Completed)
					}
				}
				if made.IsError || made.StructuredContent == nil || seen.Pressed.Status != 200 || !strings.Contains(seen.Pressed.Page, "desk-lamp") {
					t.Errorf("got %s", out)
				}
			})
		}
	}
}

// planned makes the details of a product need a plan: free, twice a day, or pro, for 0.01 EUR.
func planned() string {
	const details = `{"target": "shop.example:product-details:v1", "action": "execute", "constraint": [` +
		`{"leftOperand": "uim:plan", "operator": "eq", "rightOperand": `
	return `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/plans",
	  "profile": "http://example.com/profile/odrl-uim", "permission": [` + details + `"free"}, {"leftOperand": "count", "operator": "lteq",
	  "rightOperand": 2, "unit": "day"}]}, ` + details + `"pro"}], "duty": [{"action": "pay", "amount": "0.01", "unit": "EUR"}]}]}`
}

// The bridge chooses the plan of --plan when it agrees. With another plan it agrees again, and the price is that of the plan.
func TestBridgeChoosesAPlan(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	shop.offer(func(string) string { return planned() })
	home := t.TempDir()
	dir, lamp := filepath.Join(home, "data"), map[string]any{"product_id": "desk-lamp"}
	for _, step := range []struct{ plan, refused, charge string }{{"partner", "UNKNOWN_PLAN", ""}, {"free", "", ""}, {"pro", "", "0.01 EUR"}} {
		a := assist(t, home, "2025-11-25", append(shop.bridgeTo(dir, "1 EUR/month"), "--plan", step.plan)...)
		if step.refused != "" {
			a.refused("product-details_v1", lamp, step.refused)
			continue
		}
		got := a.call("product-details_v1", lamp)
		charge, _ := got.Meta["UIM-Charge"].(string)
		if got.IsError || !strings.HasPrefix(charge, step.charge) || (charge == "") != (step.charge == "") {
			t.Errorf("%s: %+v %s", step.plan, got, block(got, 0))
		}
	}
}
