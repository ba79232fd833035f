package intents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents"
)

// thousands returns a catalogue of n intents. Each has a different schema.
func thousands(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"service-info": {"name": "Big"}, "intents": [`)
	words := []string{"find", "book", "order", "cancel", "flight", "laptop", "hotel", "garden", "invoice", "customer"}
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		w, v := words[i%len(words)], words[(i/len(words))%len(words)]
		fmt.Fprintf(&b, `{"intent_uid": "big.example:%s-%s-%d:v1", "intent_name": "%s%s%d", "description": "Lets an agent %s the %s of `+
			`number %d with everything that belongs to it",
 "input_parameters": [
  {"name": "query", "type": "string", "required": true, "description": "words to look for", "minLength": 1, "maxLength": %d, `+
			`"pattern": "^[a-z]+$"},
  {"name": "limit", "type": "integer", "default": 10, "minimum": 1, "maximum": %d},
  {"name": "sort", "type": "string", "enum": ["price", "date", "x%d"], "description": "order of the results"}],
 "output_parameters": [{"name": "results", "type": "array", "description": "what was found"}, {"name": "total", "type": "integer"}],
 "endpoint": {"url": "https://api.big.example/%s/%d", "method": "POST", "content_type": "application/json"}, "tags": ["%s", "%s"], `+
			`"category": "%s"}`,
			w, v, i, w, v, i, w, v, i, i+1, i+100, i, w, i, w, v, words[i%7])
	}
	b.WriteString("]}")
	return []byte(b.String())
}

func BenchmarkParse10000(b *testing.B) {
	data := thousands(10_000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if c, list := intents.Parse(data, intents.Options{Strict: true}); c == nil {
			b.Fatal(list)
		}
	}
}

func BenchmarkSearch10000(b *testing.B) {
	c, list := intents.Parse(thousands(10_000), intents.Options{Strict: true})
	if c == nil {
		b.Fatal(list)
	}
	for name, q := range map[string]intents.Query{
		"text":        {Text: "find the laptop of an agent"},
		"prefix":      {Text: "fin boo ord"},
		"description": {Description: "agent laptop everything", Tags: []string{"find"}},
		"everything":  {},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if c.Search(q).TotalResults == 0 {
					b.Fatal("nothing found")
				}
			}
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	c, list := intents.Parse(thousands(100), intents.Options{Strict: true})
	if c == nil {
		b.Fatal(list)
	}
	i := c.Intents()[50]
	params := map[string]any{"query": "laptop", "sort": "price"}
	b.ReportAllocs()
	for b.Loop() {
		if _, violations := i.Validate(params); violations != nil {
			b.Fatalf("got %v, want nil", violations)
		}
	}
}

// BenchmarkFit shows that the schema of the outputs is prepared when the intent is read, not for each response.
func BenchmarkFit(b *testing.B) {
	var outputs []string
	body := map[string]any{}
	for i := range 100 {
		outputs = append(outputs, fmt.Sprintf(`{"name": "o%d", "type": "string"}`, i))
		body[fmt.Sprintf("o%d", i)] = "x"
	}
	c, problems := intents.Parse([]byte(one(`"output_parameters": [`+strings.Join(outputs, ",")+`]`)), intents.Options{Strict: true})
	if c == nil {
		b.Fatal(problems)
	}
	in := c.Intents()[0]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := in.Fit(body, false); err != nil {
			b.Fatal(err)
		}
	}
}
