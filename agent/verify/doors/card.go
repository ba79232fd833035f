package doors

import (
	"context"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// a2a is the state of the checks of the A2A endpoint.
type a2a struct {
	url    string
	card   strictjson.Object
	rest   string // URL of the HTTP+JSON interface; empty if there is none
	open   bool   // whether it accepts messages without a token
	taken  bool   // whether the PAT was accepted
	called reply  // to the sample call
}

const (
	cardPath = "/.well-known/agent-card.json"
	// manySkills is the number of skills above which a card need not list all intents.
	manySkills = 500
	maxList    = 10_000
)

func (d *Doors) a2aURL(context.Context) point.Finding {
	address, f := d.named("uim-a2a")
	d.a2a.url = address
	return f
}

// a2aCard reads the agent card and checks its required members. A2A 1.0, 4.4.1.
func (d *Doors) a2aCard(ctx context.Context) point.Finding {
	card, f := d.document(ctx, at(d.a2a.url, cardPath))
	if !f.Ok() {
		return f
	}
	var bad []string
	for _, name := range []string{"name", "description", "version"} {
		if card.Text(name) == "" {
			bad = append(bad, name+" is not a non-empty string")
		}
	}
	for _, name := range []string{"supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"} {
		if list := card.List(name); len(list) == 0 || len(list) > maxList {
			bad = append(bad, fmt.Sprintf("%s is not a list of 1 to %d items", name, maxList))
		}
	}
	if card.Object("capabilities") == nil {
		bad = append(bad, "capabilities is not an object")
	}
	for i, item := range card.List("skills") {
		skill, _ := strictjson.AsObject(item)
		if skill.Text("id") == "" || skill.Text("name") == "" || skill.Text("description") == "" || len(skill.List("tags")) == 0 {
			bad = append(bad, fmt.Sprintf("/skills/%d does not have id, name, description and tags", i))
		}
	}
	d.a2a.card = card
	return point.WrongIfAny(bad)
}

func (d *Doors) a2aInterfaces(context.Context) point.Finding {
	var bad []string
	named := false
	for i, item := range d.a2a.card.List("supportedInterfaces") {
		one, _ := strictjson.AsObject(item)
		where := fmt.Sprintf("/supportedInterfaces/%d", i)
		address := one.Text("url")
		if f := d.OwnURL(where, address); !f.Ok() {
			bad = append(bad, f.Detail)
		}
		if one.Text("protocolBinding") == "" || one.Text("protocolVersion") == "" {
			bad = append(bad, where+" does not have protocolBinding and protocolVersion")
		}
		if d.a2a.rest == "" && one.Text("protocolBinding") == "HTTP+JSON" && one.Text("protocolVersion") == "1.0" {
			d.a2a.rest = address
		}
		named = named || address == d.a2a.url && one.Text("protocolBinding") == "JSONRPC" && one.Text("protocolVersion") == "1.0"
	}
	if !named {
		bad = append(bad, "none of them is uim-a2a with JSONRPC and 1.0")
	}
	return point.WrongIfAny(bad)
}

// a2aSkills compares the skills with the intents, by uid.
func (d *Doors) a2aSkills(context.Context) point.Finding {
	offered, permitted := d.offered()
	skills := d.a2a.card.List("skills")
	have := map[string]bool{}
	var bad []string
	for _, item := range skills {
		skill, _ := strictjson.AsObject(item)
		id := skill.Text("id")
		have[id] = true
		if uid, err := intents.ParseUID(id); len(offered) > 0 && (err != nil || offered[uid] == nil) {
			bad = append(bad, fmt.Sprintf("%.128q is not an intent", id))
		}
	}
	if len(skills) < manySkills {
		missing := slices.DeleteFunc(permitted, func(uid intents.UID) bool { return have[uid.String()] })
		for _, uid := range missing {
			bad = append(bad, uid.String()+" is not a skill")
		}
	}
	return point.WrongIfAny(bad)
}
