package config_test

import (
	"fmt"

	"github.com/uimgate/uimgate/config"
)

// Parse reports every problem at once, each with its line.
func ExampleParse() {
	const text = `server: {listen: nowhere, max_body: 2TiB}
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: "http://127.0.0.1:9000"}
`
	_, problems := config.Parse("uimgate.yaml", []byte(text), config.Overrides{})
	for _, p := range problems[:2] {
		fmt.Println(p)
	}
	// Output:
	// uimgate.yaml:1: server.listen: is not an address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address
	// uimgate.yaml:1: server.max_body: "2TiB" is more than the maximum of 64MiB
}
