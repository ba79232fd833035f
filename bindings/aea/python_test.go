package aea_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/bindings"
	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// TestPythonAgentAgreesAndCalls runs an agent that shares no code with the gateway, over both connections. The agent negotiates and calls,
// and its signature proves the agreement.
func TestPythonAgentAgreesAndCalls(t *testing.T) {
	t.Parallel()
	python := bindtest.Python(t)
	g := gatetest.New(t, settings)
	var calls atomic.Int64
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"calls":%d}`, calls.Add(1)) }
	at := addresses(g)
	for i, args := range [][]string{{"tcp", at["tcp"], at["address"], "-"}, {"delegate", at["delegate"], at["address"], at["node_key"]}} {
		var out, problems bytes.Buffer
		args = append(append([]string{"-B", "testdata/shop.py"}, args...), gatetest.Ordering, `{"product": "lamp"}`)
		c := exec.CommandContext(t.Context(), python, args...)
		c.Stdout, c.Stderr = &out, &problems
		if err := c.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", args[2], err, problems.Bytes())
		}
		var reply struct {
			Address, Intent, Agreement, Output, Body string
			Price, Status                            int
		}
		g.Must(json.Unmarshal(out.Bytes(), &reply))
		if reply.Intent != gatetest.Ordering || reply.Price != 25 || reply.Status != http.StatusOK ||
			reply.Output != fmt.Sprintf(`{"calls":%d}`, 2*i+1) || reply.Body != fmt.Sprintf(`{"calls":%d}`, 2*i+2) {
			t.Errorf("%s: %+v", args[2], reply)
		}
		a, err := g.Store.Agreement(t.Context(), "default", pat.AgreementID(reply.Agreement))
		g.Must(err)
		policy, err := g.Store.Policy(t.Context(), "default", a.PolicyDigest)
		g.Must(err)
		bundle, err := pat.Export(a, policy, bindings.Forms())
		g.Must(err)
		e, err := pat.VerifyExport(bundle, bindings.Forms())
		if err != nil || string(e.Agreement.AgentID) != reply.Address || e.Agreement.Form != "aea-1" ||
			!strings.HasPrefix(reply.Address, "fetch1") {
			t.Errorf("%s: %+v, %v", args[2], e.Agreement, err)
		}
	}
}

// TestPythonBuyerAndSeller runs a seller and a buyer that share no code with the gateway over its node. They find each other and negotiate,
// and the buyer, which signs nothing, negotiates with the service.
func TestPythonBuyerAndSeller(t *testing.T) {
	t.Parallel()
	python := bindtest.Python(t)
	g := gatetest.New(t, strings.Replace(settings, "aea: {", "aea: {relay: {}, ", 1))
	registered(g, 2)
	at := addresses(g)
	c := exec.CommandContext(t.Context(), python, "-B", "testdata/market.py", at["delegate"], at["address"], at["node_key"], gatetest.Ordering)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, problems.Bytes())
	}
	var reply struct {
		Address, Seller, Data string
		Told                  []string
		Last                  []int
		Again, Operation      int
	}
	g.Must(json.Unmarshal(out.Bytes(), &reply))
	if reply.Address != reply.Seller || reply.Data != "rain" || strings.Join(reply.Told, " ") != "policy_sha256 sign tx_nonce" ||
		len(reply.Last) != 1 || reply.Last[0] != 9 || reply.Again != 5 || reply.Operation != 1 {
		t.Errorf("got %+v", reply)
	}
}

// TestSearchConnectionOfDocumentation runs the search connection that the documentation gives for the framework's stock skills, on classes
// with the interfaces of the framework.
func TestSearchConnectionOfDocumentation(t *testing.T) {
	t.Parallel()
	python := bindtest.Python(t)
	g := gatetest.New(t, settings)
	registered(g, 2)
	at := addresses(g)
	c := exec.CommandContext(t.Context(), python, "-B", "testdata/search_connection.py", "../../docs/protocols/aea.md",
		at["delegate"], at["address"], at["node_key"], gatetest.Ordering)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, problems.Bytes())
	}
	var reply struct {
		Agents []string
		Offer  []int
		Left   int
	}
	g.Must(json.Unmarshal(out.Bytes(), &reply))
	if len(reply.Agents) != 1 || reply.Agents[0] != at["address"] || len(reply.Offer) != 1 || reply.Offer[0] != 13 || reply.Left != 0 {
		t.Errorf("got %+v", reply)
	}
}
