package config

import (
	"net/url"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/internal/fetch"
)

// Evidence configures what agents can prove about charges. See docs/evidence.md.
type Evidence struct {
	Receipts   Receipts      `yaml:"receipts" default:"charged" enum:"off,charged" doc:"charged: responses to charged calls have a signed receipt in the UIM-Receipt header. off: they do not. Agents can fetch the receipts of their charges in any case."`
	Proofs     bool          `yaml:"proofs" default:"true" doc:"Keep the agent's signed proof of key with each charge. false: only its digest is kept."`
	Log        bool          `restart:"true" yaml:"log" default:"true" doc:"Keep a Merkle tree over the ledger of each service, and sign its size and root as a checkpoint."`
	Checkpoint time.Duration `yaml:"checkpoint" default:"1s" min:"100ms" max:"5s" doc:"How often a checkpoint is signed if there are new lines in the ledger. Agents expect their lines in the log within 10 seconds."`
	Publish    Publish       `yaml:"publish" default:"agents" enum:"off,agents,public" doc:"Who can read /api/log: agents with a PAT of the service, everyone (public), or no client (off)."`
	Witnesses  []Witness     `yaml:"witnesses" max:"16" doc:"Witnesses (C2SP tlog-witness) that confirm each checkpoint: key, url, private. They see the sizes and roots of the trees, and no entries."`
	// WitnessesRequired is false if there are no Witnesses.
	WitnessesRequired bool `yaml:"witnesses_required" default:"false" doc:"Report the gateway as degraded in /readyz while checkpoints lack the signature of a witness. They are published in any case."`
}

// A Witness confirms that the log only grows.
type Witness struct {
	Key     WitnessKey `yaml:"key" required:"true" example:"witness.example+9dbf8222+BM1CluXV9MN3GqxdoGfq3ip8SHiv8TIGie/ztd1v6x/h" doc:"Verifier key of the witness for cosignatures, as the witness publishes it: name+id+key."`
	URL     *url.URL   `yaml:"url" required:"true" example:"https://witness.example" doc:"Submission prefix of the witness, before /add-checkpoint. https, or http on this machine."`
	Private bool       `yaml:"private" default:"false" doc:"Permit http and an address that is not on the public internet."`
}

// A WitnessKey is the public key of a witness in the form of C2SP signed-note: name+id+key.
type WitnessKey string

const witnessKeyPattern = `^[^ +]{1,200}[+][0-9a-f]{8}[+][A-Za-z0-9+/]{44}$`

func parseWitnessKey(text string) (any, error) {
	if _, err := log.ParseCosigner(text); err != nil {
		return nil, err
	}
	return WitnessKey(text), nil
}

// Receipts defines which responses have a receipt.
type Receipts string

// The values of evidence.receipts.
const (
	ReceiptsOff     Receipts = "off"
	ReceiptsCharged Receipts = "charged"
)

// Publish defines who may read the log of a service.
type Publish string

// The values of evidence.publish.
const (
	PublishOff    Publish = "off"
	PublishAgents Publish = "agents"
	PublishPublic Publish = "public"
)

func (l *loader) checkEvidence(e *Evidence) {
	if e.WitnessesRequired && len(e.Witnesses) == 0 {
		l.Errorf("evidence.witnesses_required", "has no witnesses: add them to evidence.witnesses")
	}
	if !e.Log && len(e.Witnesses) > 0 {
		l.Warnf("evidence.witnesses", "has no effect without evidence.log")
	}
	first := map[WitnessKey]int{}
	for i, w := range e.Witnesses {
		at := "evidence.witnesses[" + strconv.Itoa(i) + "]"
		if n, twice := first[w.Key]; twice && w.Key != "" {
			l.Errorf(at+".key", "is the key of evidence.witnesses[%d] as well", n)
		}
		first[w.Key] = i
		if w.URL == nil {
			continue
		}
		if err := fetch.New(fetch.Options{AllowInsecure: w.Private}).Check(w.URL, nil); err != nil {
			l.Errorf(at+".url", "%v: for a witness inside your network, set private: true", err)
		}
	}
}
