//go:build soak

package console_test

import "github.com/uimgate/uimgate/gateway/admin/api"

// appearances are all combinations of a width and a scheme.
var appearances = []appearance{{390, "light"}, {390, "dark"}, {1280, "light"}, {1280, "dark"}}

// clicking are the roles in which TestEveryButton clicks.
var clicking = api.Roles
