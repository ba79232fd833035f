//go:build !soak

package console_test

import "github.com/uimgate/uimgate/gateway/admin/api"

// appearances show every page in each width and in each scheme. With the build tag soak, it has each combination. The second one is
// checked by the rules whose result depends on colors, sizes and positions.
var appearances = []appearance{
	{390, "light", nil}, {1280, "dark", []string{"color-contrast", "link-in-text-block", "scrollable-region-focusable"}},
}

// clicking are the roles in which TestEveryButton clicks. The other roles have some of the same buttons, and send their forms without
// a browser. With the build tag soak, every role clicks.
var clicking = []api.Role{api.RoleAdmin}
