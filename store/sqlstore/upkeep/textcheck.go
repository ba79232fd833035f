package upkeep

import (
	"context"
	"fmt"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// Queries for the documents that entries refer to only by a digest or an id.
const (
	selectPolicies = `SELECT service, digest, body FROM policies WHERE (service, digest) IN
		(SELECT service, policy_digest FROM executions WHERE amount > 0 AND key_id <> '')`
	// selectAgreed reads each agreement that a charge names, once for each agent and key of such charges. The policy of a charge may be a
	// later one with the same terms.
	selectAgreed = `SELECT a.service, a.id, a.agent_id, a.key_id, a.public_key, e.agent_id, e.key_id FROM agreements a
		JOIN (SELECT DISTINCT service, agreement_id, agent_id, key_id FROM executions WHERE amount > 0 AND key_id <> '') e
			ON e.service = a.service AND e.agreement_id = a.id`
	selectTexts = `SELECT v.service, e.id, v.proof, v.asked, v.signed, e.proof, e.decision,
			e.agent_id, e.intent, e.fingerprint, e.agreement_id, e.token_id, e.key_id FROM evidence v
		JOIN ledger l ON l.seq = v.seq AND l.service = v.service AND l.from_state = '' AND l.to_state = 'held'
		JOIN executions e ON e.id = l.execution_id WHERE v.seq > ?`
)

// checkTexts checks the documents to which the entries of the ledger only refer: the documents of policies, the agreements, and the
// questions and proofs of charges. It does not verify the signatures of agreements again: records.Records.CheckAgreements does that. Of the
// questions and proofs, checkTexts checks those of charges that began after the given ledger number, and it returns the number of
// questions.
func checkTexts(ctx context.Context, reader *engine.Reader, after int64) (asked int64, err error) {
	for row := range reader.Query(ctx, selectPolicies) {
		if err := checkPolicy(row); err != nil {
			return 0, err
		}
	}
	for row := range reader.Query(ctx, selectAgreed) {
		if err := checkAgreement(row); err != nil {
			return 0, err
		}
	}
	for row := range reader.Query(ctx, selectTexts, after) {
		if err := checkText(row); err != nil {
			return 0, err
		}
		asked++
	}
	return asked, nil
}

func alteredText(service, format string, args ...any) error {
	return fmt.Errorf("service %q: %s: %w", service, fmt.Sprintf(format, args...), store.ErrAltered)
}

func checkPolicy(row engine.Row) error {
	var service, digest string
	var body []byte
	row(&service, &digest, &body)
	if got, err := pat.PolicyDigest(body); err != nil || got != digest {
		return alteredText(service, "the document of the policy %s does not match its digest", digest)
	}
	return nil
}

func checkAgreement(row engine.Row) error {
	type party struct{ agent, key string }
	var service, id string
	var agreed, charged party
	var public []byte
	row(&service, &id, &agreed.agent, &agreed.key, &public, &charged.agent, &charged.key)
	// Keys of some protocols have other forms, which only their modules can read.
	if key, err := keys.ParseSPKI(public); err == nil && string(key.Thumbprint()) != agreed.key {
		return alteredText(service, "the public key of the agreement %s is not the one that it names", id)
	}
	if agreed != charged {
		return alteredText(service, "the agreement %s of agent %q and a charge under it name different agents or keys", id, agreed.agent)
	}
	return nil
}

// checkText checks the texts of a charge.
func checkText(row engine.Row) error {
	var service, execution, proof, proofDigest, askedDigest string
	var agent, intent, request, agreement, token, key string
	var question, signed []byte
	row(&service, &execution, &proof, &question, &signed, &proofDigest, &askedDigest, &agent, &intent, &request, &agreement, &token, &key)
	words := ledger.NewWords(agent, intent, request, agreement, token, key)
	t, err := words.Texts(proof, question, signed)
	switch {
	case err != nil:
		return alteredText(service, "the texts that are stored for the execution %s are not readable", execution)
	case proof != "" && len(signed) > 0:
		return alteredText(service, "two proofs of key are stored for the execution %s", execution)
	case t.Proof != "" && evidence.Digest([]byte(t.Proof)) != proofDigest:
		return alteredText(service, "the proof of key of the execution %s does not match its digest", execution)
	case evidence.Digest(t.Asked) != askedDigest:
		return alteredText(service, "the request that the policy decided for the execution %s does not match its digest", execution)
	}
	return nil
}
