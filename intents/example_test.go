package intents_test

import (
	"fmt"

	"github.com/uimgate/uimgate/intents"
)

func Example() {
	catalog, problems := intents.Parse([]byte(`{
		"service-info": {"name": "shop.example", "service_url": "https://shop.example"},
		"intents": [{
			"intent_uid": "shop.example:search:v1", "intent_name": "Search", "description": "Search the products.",
			"input_parameters": [
				{"name": "query", "type": "string", "required": true, "maxLength": 40},
				{"name": "page", "type": "integer", "default": 1}
			],
			"endpoint": {"url": "https://shop.example/search", "method": "GET"}
		}]
	}`), intents.Options{Strict: true})
	if problems.Failed() {
		fmt.Println(problems)
		return
	}
	found := catalog.Search(intents.Query{Text: "products"})
	search := found.Intents[0]
	fmt.Println(found.TotalResults, search.UID)

	filled, _ := search.Validate(map[string]any{"query": "lamp"})
	fmt.Println(filled)
	_, violations := search.Validate(map[string]any{"page": "two"})
	for _, v := range violations {
		fmt.Println(v.Pointer, v.Message)
	}
	// Output:
	// 1 shop.example:search:v1
	// map[page:1 query:lamp]
	// /query the parameter "query" is required
	// /page must be of type "integer"
}
