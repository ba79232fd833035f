package yamlconf_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

// A document may have a boolean in place of a mapping whose short field is one.
func TestShortBoolean(t *testing.T) {
	type door struct {
		On   bool `yaml:"on" default:"true" short:"true" doc:"Whether it is open."`
		Most int  `yaml:"most" doc:"How many may enter."`
	}
	type house struct {
		Door door `yaml:"door" doc:"The door."`
	}
	for text, want := range map[string]door{
		"{}": {On: true}, "door: true": {On: true}, "door: false": {}, "door: {most: 3}": {On: true, Most: 3}, "door: {on: false, most: 3}": {Most: 3},
		"door:": {On: true}, `door: "${DOOR}"`: {},
	} {
		var got house
		doc, bad := yamlconf.Decode([]byte(text), &got, yamlconf.Options{
			File: "house.yaml", Env: func(name string) (string, bool) { return "false", name == "DOOR" },
		})
		if bad != nil || len(doc.Problems()) > 0 || got.Door != want {
			t.Errorf("%s: got %+v, %v, %v; want %+v", text, got.Door, bad, doc.Problems(), want)
		}
	}
	for _, text := range []string{"door: 7", "door: [true]", "door: maybe"} {
		var got house
		doc, bad := yamlconf.Decode([]byte(text), &got, yamlconf.Options{File: "house.yaml"})
		if bad == nil && len(doc.Problems()) == 0 {
			t.Errorf("%s was accepted: %+v", text, got.Door)
		}
	}
}
