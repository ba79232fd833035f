package openapi

import (
	"encoding/json"
	"strings"
)

// The initial limits of the policy, for each intent and agent.
const (
	readsPerHour  = 1000
	writesPerHour = 60
	// maxTargets is how many intents are named one by one: publishing a policy compares each pair of rules. With more
	// there is one limit over all of them.
	maxTargets = 2000
)

type odrlPolicy struct {
	Context    string           `json:"@context"`
	Type       string           `json:"type"`
	UID        string           `json:"uid"`
	Profile    string           `json:"profile"`
	Permission []odrlPermission `json:"permission"`
}

type odrlPermission struct {
	UID        string              `json:"uid"`
	Target     []string            `json:"target"`
	Action     string              `json:"action"`
	Constraint []map[string]any    `json:"constraint"`
	Duty       []map[string]string `json:"duty,omitempty"`
}

// policy permits every intent that is offered: those that change nothing more often than others, whose uses are all
// recorded. Nothing costs anything. Every target has a counter of its own, unless there are more than maxTargets.
func (i *Import) policy(agents map[string]any) []byte {
	uid := "https://" + i.Namespace + "/policy/1"
	var reads, writes []string
	for _, v := range list(agents["intents"]) {
		in := object(v)
		name := text(in["intent_uid"])
		if name == "" {
			name = text(in["uid"])
		}
		if name == "" || flag(in["retired"]) {
			continue
		}
		method := strings.ToUpper(text(object(in["endpoint"])["method"]))
		safe, said := in["safe"].(bool)
		if !said {
			safe = method == "GET" || method == "HEAD"
		}
		if safe {
			reads = append(reads, name)
		} else {
			writes = append(writes, name)
		}
	}
	limit := func(n int) []map[string]any {
		return []map[string]any{{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": n, "unit": "hour"}}
	}
	logged := []map[string]string{{"action": "logUsage"}}
	p := odrlPolicy{Context: "http://www.w3.org/ns/odrl.jsonld", Type: "Set", UID: uid, Profile: "http://example.com/profile/odrl-uim"}
	if len(reads)+len(writes) > maxTargets {
		all := []string{"https://" + i.Namespace + "/api/intents"}
		p.Permission = append(p.Permission,
			odrlPermission{UID: uid + "#all", Target: all, Action: "execute", Constraint: limit(readsPerHour), Duty: logged})
		reads, writes = nil, nil
	}
	if len(reads) > 0 {
		p.Permission = append(p.Permission,
			odrlPermission{UID: uid + "#reads", Target: reads, Action: "execute", Constraint: limit(readsPerHour)})
	}
	if len(writes) > 0 {
		p.Permission = append(p.Permission, odrlPermission{
			UID: uid + "#writes", Target: writes, Action: "execute", Constraint: limit(writesPerHour), Duty: logged,
		})
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil { // it contains only texts and numbers
		return []byte("{}\n")
	}
	return append(data, '\n')
}
