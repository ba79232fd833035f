package agentcmd

import (
	"os/exec"
	"strings"
	"testing"
)

// A shell reads the issuer as one word, whatever characters it contains.
func TestMCPAgreeCommand(t *testing.T) {
	t.Parallel()
	const issuer = "x'; touch /tmp/y; '$(id)"
	words, err := exec.Command("sh", "-c", "printf '%s\\n' "+(&bridgeSettings{}).agreeCommand("shop.example", "sha-256:a", issuer)).Output()
	if err != nil || !strings.HasSuffix(string(words), "\nagent\nagree\nshop.example\n--digest\nsha-256:a\n--issuer\n"+issuer+"\n") {
		t.Errorf("%v: %s", err, words)
	}
	got := (&bridgeSettings{}).agreeCommand("shop.example", "sha-256:a", "")
	if !strings.HasSuffix(got, " agent agree shop.example --digest sha-256:a") {
		t.Errorf("got %q, want a text that ends with %q", got, " agent agree shop.example --digest sha-256:a")
	}
}

// The command for an announced policy names the plan of the settings, or that of the present agreement.
func TestMCPNextCommand(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		" agent agree shop.example --next":              (&bridgeSettings{}).nextCommand("shop.example", ""),
		" agent agree shop.example --next --plan pro":   (&bridgeSettings{}).nextCommand("shop.example", "pro"),
		" agent agree shop.example --next --plan basic": (&bridgeSettings{plan: "basic"}).nextCommand("shop.example", "pro"),
	} {
		if !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want a text that ends with %q", got, want)
		}
	}
}
