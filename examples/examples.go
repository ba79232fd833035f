// Package examples contains the example files of a gateway: a small shop with its configuration, and policies that show one idea each.
// Tests check the files, and the demo command uses those of the shop.
//
//	config, err := examples.Files.ReadFile("shop/uimgate.yaml")
package examples

import "embed"

// Files contains shop/agents.json, shop/policy.json, shop/uimgate.yaml and policies/*.json, under these names.
//
//go:embed shop/agents.json shop/policy.json shop/uimgate.yaml policies/*.json
var Files embed.FS
