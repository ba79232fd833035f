// Package examples holds the example files of a gateway: a small shop with its configuration, and one policy per idea. Tests check them,
// and the demo command uses the shop's files.
//
//	config, err := examples.Files.ReadFile("shop/uimgate.yaml")
package examples

import "embed"

// Files are shop/agents.json, shop/policy.json, shop/uimgate.yaml and policies/*.json, under these names.
//
//go:embed shop/agents.json shop/policy.json shop/uimgate.yaml policies/*.json
var Files embed.FS
