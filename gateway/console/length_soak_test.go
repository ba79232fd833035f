//go:build soak

package console_test

import "github.com/uimgate/uimgate/gateway/admin/api"

// appearances are all combinations of a width and a scheme.
var appearances = []appearance{{390, "light", nil}, {390, "dark", nil}, {1280, "light", nil}, {1280, "dark", nil}}

// clicking are the roles in which TestEveryButton clicks.
var clicking = api.Roles
