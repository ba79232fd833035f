package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/intents/toolset"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// names lists the tools that a host sees.
func (h *host) names() (list []string) {
	h.t.Helper()
	tools, err := h.ListTools(h.t.Context(), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		list = append(list, tool.Name)
	}
	return list
}

func TestToolsOfTheList(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	for name, row := range map[string]struct {
		choice string
		want   []string
	}{
		"few intents": {"", []string{orderTool, searchTool}},
		"all":         {"all", []string{orderTool, searchTool}},
		"no such tag": {"tag:other", nil},
		"search":      {"search", []string{toolset.Call, toolset.Describe, toolset.Search}},
	} {
		choice, err := toolset.ParseChoice(row.choice)
		if err != nil {
			t.Fatal(err)
		}
		o := optionsFor(t, shop)
		o.Tools = choice
		if got := start(t, o).names(); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// TestBrowsing finds, describes and calls an intent of one of two services that have the same intents.
func TestBrowsing(t *testing.T) {
	t.Parallel()
	one, two := agenttest.New(t, agenttest.Canonical), agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, one, two)
	o.Tools.Few, o.Tools.Given = true, true
	h := start(t, o)
	var found struct {
		Intents []struct{ UID, Terms, Left string }
		Total   int
	}
	if err := json.Unmarshal([]byte(text(h.ok(toolset.Search, map[string]any{"query": "order goods"}), 0)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Intents) < 2 || found.Intents[0].UID == found.Intents[1].UID || found.Intents[0].Terms != "Costs 0.01 USD a call." ||
		found.Intents[0].Left != "" {
		t.Fatalf("got %+v", found)
	}
	described := h.ok(toolset.Describe, map[string]any{"uids": []any{found.Intents[0].UID, agenttest.Order}})
	has(t, text(described, 0), found.Intents[0].UID, "Orders goods", "(parameters: {", "Costs 0.01 USD a call.")
	has(t, text(described, 1), "Unknown uid") // both services have it
	ordered := h.ok(toolset.Call, map[string]any{"uid": found.Intents[0].UID, "parameters": map[string]any{"query": "tea"}})
	if ordered.Meta["UIM-Charge"] != "0.01 USD; id=execution-1; state=captured" || len(one.Calls())+len(two.Calls()) != 1 {
		t.Errorf("got %v", ordered.Meta)
	}
	called := found.Intents[0].UID
	if err := json.Unmarshal([]byte(text(h.ok(toolset.Search, map[string]any{"query": "order goods"}), 0)), &found); err != nil {
		t.Fatal(err)
	}
	for _, in := range found.Intents {
		if want := map[bool]string{true: "99 of 100 calls after the last call"}[in.UID == called]; in.Left != want {
			t.Errorf("%s: got %q, want %q", in.UID, in.Left, want)
		}
	}
	if result := h.ok(called, map[string]any{"query": "tea"}); result.Meta["UIM-Charge"] == nil { // it is not listed
		t.Errorf("got %v", result.Meta)
	}
	for name, arguments := range map[string]any{
		toolset.Search: map[string]any{"query": 1}, toolset.Describe: map[string]any{}, toolset.Call: map[string]any{"uid": "x"},
	} {
		if result := h.call(name, arguments); !result.IsError || len(result.Content) != 1 {
			t.Errorf("%s %v: %+v", name, arguments, result)
		}
	}
}

// numbered returns n intents as in agents.json.
func numbered(n int) (list []any) {
	for i := range n {
		list = append(list, map[string]any{
			"intent_uid": fmt.Sprintf("shop.example:order-%d:v1", i), "intent_name": "Order", "description": "Orders goods", "input_parameters": []any{},
		})
	}
	return list
}

// TestManyIntentsAreSearched checks that the bridge offers tools to search a catalogue that has more intents than a list may have, and that
// it notifies hosts when the list changes.
func TestManyIntentsAreSearched(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	shop.SetMember("intents", numbered(listUpTo))
	o := optionsFor(t, shop)
	b, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 10)
	toHost, toBridge := mcp.NewInMemoryTransports()
	session, err := b.server.Connect(t.Context(), toBridge, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	seen, err := client.Connect(t.Context(), toHost, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{seen, t, nil}
	if got := len(h.names()); got != listUpTo {
		t.Errorf("%d tools, want %d", got, listUpTo)
	}
	shop.SetMember("intents", numbered(listUpTo+1))
	b.refresh(t.Context(), 0)
	<-changed
	if got, want := h.names(), []string{toolset.Call, toolset.Describe, toolset.Search}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	_ = seen.Close()
	_ = session.Wait()
}
