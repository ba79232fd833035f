package agent_test

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// acceptedKeys are the keys of the vectors that sign.
var acceptedKeys = []string{"ed25519", "p256", "rsa"}

// refusedKeys are files that are not keys of an agent, each with the reason.
var refusedKeys = [][2]string{
	{"p384", "another curve"},
	{"secp256k1", "another curve"},
	{"x25519", "a key that cannot sign"},
	{"ed448", "another curve"},
	{"rsa1024", "an RSA key below 2048 bits"},
	{"rsa4608", "an RSA key above 4096 bits"},
	{"rsa-exponent-3", "an RSA key whose exponent is not 65537"},
	{"encrypted", "an encrypted key"},
	{"public", "a public key"},
	{"pkcs1", "not PKCS#8"},
	{"sec1", "not PKCS#8"},
}

// privateCopy copies a file of the keys to one that only its owner can read.
func privateCopy(t *testing.T, name string) (path, text string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/keys", name+".pem"))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, string(data)
}

func vectorKeys(t *testing.T) map[string]vectorKey {
	t.Helper()
	all := map[string]vectorKey{}
	for _, name := range acceptedKeys {
		path, _ := privateCopy(t, name)
		signer, err := agent.LoadKey(path)
		if err != nil {
			t.Fatal(err)
		}
		key, err := keys.New(signer.Public())
		if err != nil {
			t.Fatal(err)
		}
		public := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: key.SPKI()}))
		all[name] = vectorKey{signer, name, string(key.Thumbprint()), public, key.Algorithm() != keys.ES256}
	}
	return all
}

func keyVectors(t *testing.T) object {
	t.Helper()
	var accepted, refused []object
	for _, name := range acceptedKeys {
		path, text := privateCopy(t, name)
		signer, err := agent.LoadKey(path)
		if err != nil {
			t.Fatal(err)
		}
		key, err := keys.New(signer.Public())
		if err != nil {
			t.Fatal(err)
		}
		member, err := strictjson.DecodeObject(key.JWK())
		if err != nil {
			t.Fatal(err)
		}
		delete(member, "kid")
		delete(member, "alg")
		delete(member, "use")
		client, err := agent.New(agent.Options{Key: signer})
		if err != nil {
			t.Fatal(err)
		}
		accepted = append(accepted, object{
			"name": name, "pem": text, "alg": key.Algorithm(), "jwk": canonical(t, member), "thumbprint": key.Thumbprint(), "agent_id": client.AgentID(),
			"spki": base64.StdEncoding.EncodeToString(key.SPKI()), "public_pem": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: key.SPKI()})),
		})
	}
	for _, one := range refusedKeys {
		path, text := privateCopy(t, one[0])
		if _, err := agent.LoadKey(path); !errors.Is(err, agent.ErrFile) || strings.Contains(err.Error(), "MII") {
			t.Errorf("%s: got %v, want ErrFile", one[0], err)
		}
		refused = append(refused, object{"name": one[0], "why": one[1], "pem": text})
	}
	return object{"accepted": accepted, "refused": refused}
}

// Texts whose canonical form is not obvious.
var canonicalTexts = []string{
	`{}`, `[]`, `"text"`, `null`, `{"b": 1, "a": [true, false, null], "aa": {}, "A": "x"}`, `{"10": 1, "9": 2, "1": 3}`,
	`{"n": [0, -0, 2.0, 1e2, 0.5, -1.25, 1e21, 123456789012345680000, 1e-6, 1e-7, 0.000001, 9007199254740991, 5e-324, 1.7976931348623157e308]}`,
	`"\u00e9 \u20ac \ud83d\ude00 \/ \" \\ \b\f\n\r\t \u0001 \u001f \u007f \u2028 <&>"`, `{"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7}`,
	`{"quantity": 2.0, "product_id": "desk-lamp", "gift_note": "für Zoë"}`, "\n{ \"a\" :\t[ 1 ,\r\n2 ] } ",
}

// Texts with a number that RFC 8785 would change, with a pointer to it.
var inexactTexts = [][2]string{
	{`{"n": 9007199254740993}`, "/n"}, {`[1, {"a/b": 0.1000000000000000055511151231257827}]`, "/1/a~1b"}, {`{"n": 1e400}`, "/n"}, {`{"n": 123456789.123456789}`, "/n"},
}

// Texts that are not JSON in which every parser reads the same.
var refusedTexts = []string{
	`{"a": 1, "a": 2}`, `{"a": 1} x`, ``, `{"a": NaN}`, `{"a": 01}`, `{'a': 1}`, `["\ud800"]`, `["\u0000"]`, `{"a": 1,}`, `[1`,
}

func canonicalVectors(t *testing.T) object {
	t.Helper()
	var exact, inexact []object
	for _, text := range canonicalTexts {
		tree, err := strictjson.Decode([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out, err := strictjson.Canonical(tree)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		exact = append(exact, object{"text": text, "canonical": string(out)})
	}
	for _, one := range inexactTexts {
		tree, err := strictjson.Decode([]byte(one[0]))
		if err == nil {
			_, err = strictjson.Canonical(tree)
		}
		problem, ok := errors.AsType[*strictjson.InexactError](err)
		if !ok || problem.Pointer != one[1] {
			t.Errorf("%s: got %v, want %s", one[0], err, one[1])
		}
		inexact = append(inexact, object{"text": one[0], "pointer": one[1]})
	}
	for _, text := range refusedTexts {
		if _, err := strictjson.Decode([]byte(text)); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
	return object{"exact": exact, "inexact": inexact, "refused": refusedTexts}
}

const vectorPolicy = `{
  "uid": "https://shop.example/policy/1", "type": "Set",
  "@context": "http://www.w3.org/ns/odrl.jsonld", "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search-products:v1", "action": "execute"},
    {"target": "shop.example:place-order:v1", "action": "execute", "duty": [{"action": "pay", "unit": "EUR", "amount": "0.05"}]}
  ]
}`

func policyVectors(t *testing.T) []object {
	t.Helper()
	var list []object
	for _, one := range []struct{ text, uid string }{
		{vectorPolicy, "https://shop.example/policy/1"},
		{`{"@id":"urn:é","permission":[{"action":"use","constraint":{"leftOperand":"count","operator":"lteq","rightOperand":1e2}}]}`, "urn:é"},
		{`{}`, ""},
	} {
		digest, err := pat.PolicyDigest([]byte(one.text))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := strictjson.Decode([]byte(one.text))
		if err != nil {
			t.Fatal(err)
		}
		out, err := strictjson.Canonical(tree)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, object{"text": one.text, "uid": one.uid, "canonical": string(out), "digest": digest})
	}
	return list
}

func callVectors(t *testing.T) []object {
	t.Helper()
	var list []object
	for _, one := range []struct{ uid, parameters string }{
		{"shop.example:place-order:v1", `{"quantity": 2.0, "product_id": "desk-lamp", "gift_note": "für Zoë"}`},
		{"shop.example:search-products:v1", `{}`},
		{"shop.example:search-products:v1", `{"query": "<lamp> & \u2028 \ud83d\ude00", "max": 1e21, "filter": {"z": null, "a": [1.5, -0]}}`},
	} {
		parameters, err := strictjson.DecodeObject([]byte(one.parameters))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := pat.ExecuteDigest(one.uid, parameters)
		if err != nil {
			t.Fatal(err)
		}
		text, err := strictjson.Canonical(map[string]any{"intent_uid": one.uid, "parameters": map[string]any(parameters)})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, object{"intent_uid": one.uid, "parameters": one.parameters, "canonical": string(text), "digest": digest})
	}
	return list
}
