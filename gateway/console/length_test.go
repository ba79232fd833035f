//go:build !soak

package console_test

import "github.com/uimgate/uimgate/gateway/admin/api"

// appearances show every page in each width and in each scheme. With the build tag soak, it has each combination.
var appearances = []appearance{{390, "light"}, {1280, "dark"}}

// clicking are the roles in which TestEveryButton clicks. The other roles have some of the same buttons, and send their forms by fetch.
// With the build tag soak, every role clicks.
var clicking = []api.Role{api.RoleAdmin}
