package pat_test

import (
	"crypto/ed25519"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/uimgate/uimgate/pat"
)

// An agent agrees to a policy by signing it.
func ExampleSignAgreement() {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	policy := []byte(`{"uid": "https://shop.example/policy/1", "permission": []}`)
	digest, err := pat.PolicyDigest(policy)
	if err != nil {
		log.Fatal(err)
	}
	agreement, err := pat.SignAgreement(key, pat.AgreementClaims{
		AgentID: "agent-1", Audience: "shop.example", URL: "https://shop.example/api/pat/issue", IssuedAt: time.Now(),
		PolicyUID: "https://shop.example/policy/1", PolicyDigest: digest,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Count(agreement, "."), "dots: a compact JWS")
	// Output: 2 dots: a compact JWS
}
