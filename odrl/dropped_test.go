package odrl_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
)

// everywhere calls visit for each node of the tree, with a function that replaces the node.
func everywhere(v any, pointer string, replace func(any), visit func(pointer string, v any, replace func(any))) {
	visit(pointer, v, replace)
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			everywhere(member, pointer+"/"+strictjson.Escape(k), func(n any) { v[k] = n }, visit)
		}
	case []any:
		for i, item := range v {
			everywhere(item, pointer+"/"+strconv.Itoa(i), func(n any) { v[i] = n }, visit)
		}
	}
}

func wholeWorld() odrl.World {
	w := world()
	w.AnyAssignee = true
	w.Hosts = append(w.Hosts, "127.0.0.1:4000")
	w.Intents = append(w.Intents, homes().Intents...)
	return w
}

// A policy with an unknown key or a meaningless text at any place is refused, and the problem has the pointer of the place.
func TestNothingIsDroppedSilently(t *testing.T) {
	docs := []string{
		string(file(t, "uim-core.json")), string(file(t, "homes.json")), string(file(t, "draft.json")),
		policy(`"type":"Offer","assigner":{"uid":"http://example.com/s"}`, `"permission":{`+all+`,"constraint":{"xone":[`+leaf("purpose", "isAnyOf", list{"http://p.example/a"})+`,`+leaf("dateTime", "lt", "2026-12-31")+`]},
			"duty":[{"action":"pay","amount":{"value":"1","currency":"EUR"}},{"action":{"@id":"odrl:attribute"}}]}`,
			`"prohibition":{"target":"example.com","action":{"rdf:value":{"@id":"odrl:exceedRateLimit"}}}`),
	}
	for _, doc := range docs {
		publish(t, []byte(doc), wholeWorld())
		tree, err := strictjson.Decode([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		try := func(pointer string) problem.List {
			t.Helper()
			changed, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			p, problems := odrl.Publish(t.Context(), changed, wholeWorld())
			if p != nil {
				t.Errorf("published with a meaningless value at %s", pointer)
			}
			return problems
		}
		nodes := 0
		everywhere(tree, "", func(any) {}, func(pointer string, v any, replace func(any)) {
			switch v := v.(type) {
			case map[string]any:
				nodes++
				v["zz"] = json.Number("1")
				problems := try(pointer + "/zz")
				named := false
				for _, p := range problems {
					named = named || p.Level == problem.Error && (p.Pointer == pointer+"/zz" || p.Pointer == pointer)
				}
				if !named {
					t.Errorf("no problem at %s/zz: %v", pointer, problems)
				}
				delete(v, "zz")
			case string:
				// Contexts only name vocabularies, and an elided key may have any text. Purposes, amounts of a foreign price list and value
				// types are the operator's own words.
				if strings.HasPrefix(pointer, "/@context") || strings.Contains(v, "MIIB") || strings.HasPrefix(v,
					"http://p.example/") || v == "xsd:decimal" {
					return
				}
				nodes++
				replace("zz zz")
				try(pointer)
				replace(v)
			case json.Number:
				nodes++
				replace("zz")
				try(pointer)
				replace(v)
			}
		})
		if nodes < 15 {
			t.Errorf("only %d nodes were visited", nodes)
		}
	}
}
