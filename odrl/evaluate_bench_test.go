package odrl_test

import (
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

func BenchmarkLoadAndEvaluate(b *testing.B) {
	doc := file(b, "uim-core.json")
	q := odrl.Question{Party: "http://example.com/ai-agent/1", Action: "execute", Target: "http://example.com/api/intents"}
	for b.Loop() {
		p, problems := odrl.Load(b.Context(), doc, odrl.LoadOptions{Lenient: true})
		if p == nil {
			b.Fatal(problems)
		}
		if _, err := p.Evaluate(b.Context(), q, odrl.WorldState{}, odrl.EvaluateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	p, problems := odrl.Load(b.Context(), file(b, "uim-core.json"), odrl.LoadOptions{Lenient: true})
	if p == nil {
		b.Fatal(problems)
	}
	q := odrl.Question{Party: "http://example.com/ai-agent/1", Action: "execute", Target: "http://example.com/api/intents"}
	for b.Loop() {
		if _, err := p.Evaluate(b.Context(), q, odrl.WorldState{}, odrl.EvaluateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
