package openapi_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/openapi"
)

// A variable of the command may be a secret, so its value is not in the configuration. Other texts are literal.
func TestTheConfigurationOfACommandHasNoSecrets(t *testing.T) {
	t.Parallel()
	found := convert(t, document(t, "shop.yaml"), openapi.Options{Tools: &openapi.ToolServer{
		Command: "/bin/tools", Args: []string{"--root=${HOME}"}, Env: []string{"PATH=/bin:${X}", "SHOP_KEY=sesame", "1.key=open"},
	}})
	got := string(update(t, found, nil).Write[openapi.ConfigFile])
	for _, want := range []string{
		`args: ["--root=$${HOME}"]`, `      env: #`, `        "PATH": "/bin:$${X}"`,
		"      secret_env:\n        \"SHOP_KEY\": ${SHOP_KEY}\n        \"1.key\": ${_1_key}\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s; want %s", got, want)
		}
	}
	if strings.Contains(got, "sesame") || strings.Contains(got, "open\n") {
		t.Errorf("got a value in %s", got)
	}
}
