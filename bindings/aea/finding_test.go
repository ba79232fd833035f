package aea_test

import (
	gosched "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill/directory"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// equals returns the constraint that an attribute has a text.
func equals(name, text string) search.Expr {
	return search.Constraint{Attribute: name, Test: search.Relation{Value: search.Text(text)}}
}

// price returns the constraint that a price is at most this many minor units.
func price(most int64) search.Expr {
	return search.Constraint{Attribute: "price", Test: search.Relation{Operator: search.LessOrEqual, Value: search.Int(most)}}
}

// near returns the constraint that a location is at most 5 kilometres away.
func near(lat, lon float64) search.Expr {
	return search.Constraint{Attribute: "location", Test: search.Distance{Center: search.Location{Lon: lon, Lat: lat}, Kilometres: 5}}
}

// oef sends a request to the directory of the gateway and returns the reply.
func oef(t *testing.T, a *aeatest.Agent, m protocol.OEFMessage) protocol.OEFMessage {
	t.Helper()
	p := &protocol.OEFSearch
	if m.Older {
		p = &protocol.OEF
	}
	a.Start(t, p, m)
	answer, ok := a.Next(t).Content.(protocol.OEFMessage)
	if !ok || answer.Older != m.Older {
		t.Fatalf("got %+v", answer)
	}
	return answer
}

func searches(constraints ...search.Expr) protocol.OEFMessage {
	return protocol.OEFMessage{Performative: protocol.OEFSearchServices, Query: search.Query{Constraints: constraints}.Encode()}
}

// finds searches until the directory returns an agent, or reports that it does not.
func finds(t *testing.T, a *aeatest.Agent, m protocol.OEFMessage, address string) bool {
	t.Helper()
	answer := oef(t, a, m)
	if answer.Performative != protocol.OEFSearchResult {
		t.Fatalf("got %+v, want a result", answer)
	}
	return slices.Contains(answer.Agents, address)
}

// registered waits until the directory has the number of descriptions with models of their own.
func registered(g *gatetest.Gate, n int) {
	g.Helper()
	for {
		for _, s := range activity(g).Skills {
			if state, ok := s.State.(directory.Status); ok && state.Descriptions == n && state.Agents > 0 {
				return
			}
		}
		if g.T.Context().Err() != nil {
			g.Fatal("the intents are not registered")
		}
		gosched.Gosched()
	}
}

// pieces returns the four descriptions with which the framework's generic_seller describes itself.
func pieces(service string) []search.Description {
	text := func(name, value string) search.KeyValue { return search.KeyValue{Key: name, Value: search.Text(value)} }
	return []search.Description{
		search.Describe("location_agent", search.KeyValue{Key: "location", Value: search.Location{Lon: 0.1270, Lat: 51.5194}}),
		search.Describe("set_service_key", text("key", "seller_service"), text("value", service)),
		search.Describe("personality_agent", text("piece", "genus"), text("value", "data")),
		search.Describe("personality_agent", text("piece", "classification"), text("value", "seller")),
	}
}

// TestAgentsFindServiceAndEachOther registers agents over each connection, as the framework's generic_seller does, and searches as its
// generic_buyer does.
func TestAgentsFindServiceAndEachOther(t *testing.T) {
	t.Parallel()
	for way := range dialers {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			g := gatetest.New(t, strings.Replace(settings, "aea: {", "aea: {location: '51.5194, 0.1270', ", 1))
			registered(g, 2)
			service := addresses(g)["address"]
			seller, buyer := agent(g, way, 2), agent(g, way, 3)
			for _, d := range pieces("weather") {
				if m := oef(t, seller, aeatest.Register(d)); m.Performative != protocol.OEFSuccess {
					t.Fatalf("%s: %+v", d.Model.Name, m)
				}
			}
			older := protocol.OEFMessage{Performative: protocol.OEFSearchAgents, Older: true, Query: searches(equals("genus", "data")).Query}
			byModel := protocol.OEFMessage{
				Performative: protocol.OEFSearchServices, Query: search.Query{Model: &search.DataModel{Name: "uim_intent"}}.Encode(),
			}
			for name, row := range map[string]struct {
				query           protocol.OEFMessage
				service, seller bool
			}{
				"generic_buyer":          {searches(near(51.5194, 0.1270), equals("seller_service", "weather")), false, true},
				"generic_buyer, service": {searches(near(51.5194, 0.1270), equals("seller_service", gatetest.Searching)), true, false},
				"elsewhere":              {searches(near(48, 11), equals("seller_service", "weather")), false, false},
				"personality":            {searches(equals("genus", "data"), equals("classification", "seller")), false, true},
				"an intent":              {searches(equals("intent_uid", gatetest.Ordering)), true, false},
				"of two intents":         {searches(equals("intent_uid", gatetest.Ordering), equals("intent_name", "Search")), false, false},
				"everything":             {searches(), true, true},
				"by model":               {byModel, true, false},
				"by its price":           {searches(equals("intent_uid", gatetest.Ordering), price(25), equals("currency_id", "EUR")), true, false},
				"by a lower price":       {searches(equals("intent_uid", gatetest.Ordering), price(24)), false, false},
				"a free intent":          {searches(equals("intent_uid", gatetest.Searching), price(0)), true, false},
				"nothing":                {searches(equals("seller_service", "nothing")), false, false},
				"by the older protocol":  {older, false, true},
			} {
				if got := finds(t, buyer, row.query, service); got != row.service {
					t.Errorf("%s: found the service: %t, want %t", name, got, row.service)
				}
				if got := finds(t, buyer, row.query, seller.Address()); got != row.seller {
					t.Errorf("%s: found the seller: %t, want %t", name, got, row.seller)
				}
			}
			remove := search.Describe("remove_service_key", search.KeyValue{Key: "key", Value: search.Text("seller_service")})
			if m := oef(t, seller, aeatest.Unregister(remove)); m.Performative != protocol.OEFSuccess {
				t.Errorf("got %+v", m)
			}
			if finds(t, buyer, searches(equals("seller_service", "weather")), seller.Address()) {
				t.Error("found a service that was removed")
			}
			if m := oef(t, seller, aeatest.Unregister(pieces("")[0])); m.Performative != protocol.OEFSuccess {
				t.Errorf("got %+v", m)
			}
			if finds(t, buyer, searches(), seller.Address()) {
				t.Error("found an agent that was removed")
			}
			m := oef(t, seller, aeatest.Unregister(pieces("")[0]))
			if m.Performative != protocol.OEFError || m.Operation != protocol.OEFOperationUnregister {
				t.Errorf("got %+v, want an error", m)
			}
		})
	}
}

// TestStockNegotiation follows the messages of the framework's generic_buyer, which signs nothing and does not end the dialogue: the
// gateway ends it, and sends no PAT and no error.
func TestStockNegotiation(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	registered(g, 2)
	buyer := agent(g, "delegate", 2)
	if !finds(t, buyer, searches(near(0, 0), equals("seller_service", gatetest.Ordering)), addresses(g)["address"]) {
		t.Fatal("the service is not found")
	}
	query := search.Query{
		Constraints: []search.Expr{equals("seller_service", gatetest.Ordering)},
		Model: &search.DataModel{Name: "simple_service", Attributes: []search.Attribute{
			{Name: "seller_service", Type: search.TypeString, Required: true, Description: "Service key name."},
		}, Description: "A data model to represent a search for a service."},
	}
	buyer.Start(t, &protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPACFP, Query: query})
	turn, m := buyer.FIPA(t, protocol.FIPAPropose)
	price, _ := m.Proposal.Value("price").(search.Int)
	quantity, _ := m.Proposal.Value("quantity").(search.Int)
	if price <= 0 || quantity < 1 || quantity > 100 || aeatest.TextOf(m.Proposal, "service_id") != gatetest.Ordering ||
		aeatest.TextOf(m.Proposal, "ledger_id") != "fetchai" || aeatest.TextOf(m.Proposal, "tx_nonce") == "" {
		t.Errorf("the buyer would decline %+v", m.Proposal)
	}
	buyer.Reply(t, turn, protocol.FIPAMessage{Performative: protocol.FIPAAccept})
	turn, m = buyer.FIPA(t, protocol.FIPAMatchAcceptWInform)
	if m.Info["pat"] != "" {
		t.Error("a buyer that signed nothing got a PAT")
	}
	buyer.Reply(t, turn, protocol.FIPAMessage{
		Performative: protocol.FIPAInform, Info: map[string]string{"Done": "Sending payment via bank transfer"},
	})
	turn, m = buyer.FIPA(t, protocol.FIPAEnd)
	if state, ended := turn.Dialogue.End(); !ended || state != protocol.Successful || m.Info != nil {
		t.Errorf("got %s, %t, %v", state, ended, m.Info)
	}
	// The reply to a call is the next message: there is no error before it.
	if answer := buyer.Calls(t, call(gatetest.Searching, "")); !strings.Contains(answer, "MISSING_TOKEN") {
		t.Errorf("got %q", answer)
	}
}

// TestSearchErrors checks that every request that fails gets an oef_error.
func TestSearchErrors(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	a := agent(g, "tcp", 2)
	deep := equals("a", "b")
	for range 1000 {
		deep = search.Not{Expr: deep}
	}
	remove := search.Describe("remove_service_key", search.KeyValue{Key: "key", Value: search.Text("k")})
	broken := func(p protocol.Performative) protocol.OEFMessage {
		return protocol.OEFMessage{Performative: p, Query: []byte{0xff}, Description: []byte{0xff}}
	}
	for name, row := range map[string]struct {
		request   protocol.OEFMessage
		operation protocol.OEFOperation
	}{
		"a deep query":             {searches(deep), protocol.OEFOperationSearch},
		"a broken query":           {broken(protocol.OEFSearchServices), protocol.OEFOperationSearch},
		"a broken description":     {broken(protocol.OEFRegisterService), protocol.OEFOperationRegister},
		"no description":           {protocol.OEFMessage{Performative: protocol.OEFRegisterService}, protocol.OEFOperationRegister},
		"a long description":       {aeatest.Register(search.Describe("m", longValues()...)), protocol.OEFOperationRegister},
		"the removal of a service": {aeatest.Register(remove), protocol.OEFOperationRegister},
		"nothing to take back":     {aeatest.Unregister(pieces("x")[1]), protocol.OEFOperationUnregister},
		"of the older protocol":    {protocol.OEFMessage{Performative: protocol.OEFRegisterService, Older: true}, protocol.OEFOperationRegister},
	} {
		if m := oef(t, a, row.request); m.Performative != protocol.OEFError || m.Operation != row.operation {
			t.Errorf("%s: got %+v, want an error of the operation %d", name, m, row.operation)
		}
	}
	failed := 0
	for i := range 70 { // more than one agent may have
		d := search.Describe("mine", search.KeyValue{Key: "n", Value: search.Int(i)})
		if oef(t, a, aeatest.Register(d)).Performative == protocol.OEFError {
			failed++
		}
	}
	if failed != 70-64 {
		t.Errorf("%d of 70 registrations failed, want 6", failed)
	}
	for range 240 {
		if oef(t, a, searches()).Performative == protocol.OEFError {
			return // the agent searched too often
		}
	}
	t.Error("an agent may search without limit")
}

func longValues() (values []search.KeyValue) {
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		values = append(values, search.KeyValue{Key: name, Value: search.Text(strings.Repeat("x", 4000))})
	}
	return values
}

// TestRegistrationsEndWithConnection checks that an agent is not found after it has left, and that an agent on an unauthenticated
// connection cannot replace the registration of one that has proved its address.
func TestRegistrationsEndWithConnection(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	buyer, at := agent(g, "delegate", 4), addresses(g)
	secure := agent(g, "mailbox", 2)
	impostor := aeatest.NewAgent(aeatest.TCP(t, at["tcp"], secure.Address()), at["address"], secure.Key, identity.Fetchai)
	for who, name := range map[*aeatest.Agent]string{secure: "true", impostor: "false"} {
		if m := oef(t, who, aeatest.Register(pieces(name)[1])); m.Performative != protocol.OEFSuccess {
			t.Fatalf("got %+v", m)
		}
	}
	if finds(t, buyer, searches(equals("seller_service", "false")), secure.Address()) {
		t.Error("found what an agent with a claimed address registered")
	}
	if !finds(t, buyer, searches(equals("seller_service", "true")), secure.Address()) {
		t.Error("did not find the agent with a proved address")
	}
	way := aeatest.TCP(t, at["tcp"], aeatest.Numbered(t, 7).Public(identity.Fetchai).Address())
	leaving := aeatest.NewAgent(way, at["address"], aeatest.Numbered(t, 7), identity.Fetchai)
	oef(t, leaving, aeatest.Register(pieces("short")[1]))
	if !finds(t, buyer, searches(equals("seller_service", "short")), leaving.Address()) {
		t.Error("did not find the agent before it left")
	}
	g.Must(way.Raw.Close())
	for peers := 2; peers > 1; {
		for _, c := range activity(g).Connections {
			if strings.Contains(c.ID, "tcp") {
				peers = c.Peers
			}
		}
		if t.Context().Err() != nil {
			t.Fatal("the connection does not end")
		}
		gosched.Gosched()
	}
	if finds(t, buyer, searches(equals("seller_service", "short")), leaving.Address()) {
		t.Error("found the agent after it left")
	}
}

// TestSkillsFollowConfiguration reloads the configuration while an agent is connected: skills are added and removed without a new agent,
// and the intents are registered again.
func TestSkillsFollowConfiguration(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	registered(g, 2)
	a := agent(g, "delegate", 2)
	reload := func(skills string) {
		t.Helper()
		g.Write("uimgate.yaml", strings.Replace(g.Settings, "aea: {", "aea: {"+skills, 1))
		g.Reload()
	}
	said := func() protocol.DefaultMessage {
		t.Helper()
		a.Start(t, &protocol.Default, aeatest.Text("hello"))
		m, _ := a.Next(t).Content.(protocol.DefaultMessage)
		return m
	}
	if m := said(); m.Performative != protocol.DefaultError {
		t.Errorf("got %+v, want an error", m)
	}
	reload("skills: {echo: true, search: false}, ")
	if m := said(); string(m.Bytes) != "hello" {
		t.Errorf("got %+v, want the bytes", m)
	}
	if m := oef(t, a, searches()); m.Performative != protocol.OEFError || m.Operation != protocol.OEFOperationSearch {
		t.Errorf("got %+v, want an error", m)
	}
	token := a.Agrees(t, gatetest.Searching)
	if answer := a.Calls(t, call(gatetest.Searching, token)); answer != `{"ok":true}` {
		t.Errorf("got %q, want %q", answer, `{"ok":true}`)
	}
	reload("location: '10,20', attributes: {name: intent_name}, ")
	registered(g, 2)
	for name, row := range map[string]struct {
		query protocol.OEFMessage
		want  bool
	}{
		"the new location":      {searches(near(10, 20)), true},
		"the old location":      {searches(near(0, 0)), false},
		"the new attribute":     {searches(equals("name", "Order")), true},
		"the default attribute": {searches(equals("seller_service", gatetest.Ordering)), false},
	} {
		if got := finds(t, a, row.query, addresses(g)["address"]); got != row.want {
			t.Errorf("%s: %t, want %t", name, got, row.want)
		}
	}
	registers := func(b runtime.BehaviourStatus) bool {
		return b.Name == "register intents" && b.Runs > 0 && b.Failed == 0
	}
	if s := activity(g); len(s.Skills) != 3 || s.Inside == 0 || !slices.ContainsFunc(s.Resources.Behaviours, registers) {
		t.Errorf("got %+v", s)
	}
}
