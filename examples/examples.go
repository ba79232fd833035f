// Package examples holds the files that show what a gateway can be: a small shop with its configuration,
// and one policy per idea. They are tested, and the demo command writes the shop's out of here.
//
//	config, err := examples.Files.ReadFile("shop/uimgate.yaml")
package examples

import "embed"

// Files are shop/agents.json, shop/policy.json, shop/uimgate.yaml and policies/*.json, under these names.
//
//go:embed shop/agents.json shop/policy.json shop/uimgate.yaml policies/*.json
var Files embed.FS
